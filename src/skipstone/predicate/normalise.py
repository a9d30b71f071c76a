"""NOT pushed to the leaves, under SQL's three-valued logic.

Law: for every row the result is true exactly where the given predicate is true. (Where the given one is false or
unknown the result may be either of the two: neither matches.) That is what lets AND be min and OR be max over
verdicts, which have no NOT.

The law holds for the float order asked for. They differ in this: under IEEE's, `x < 5` is false for NaN, so `NOT x < 5`
holds for it while `x >= 5` does not.
"""

from __future__ import annotations

import math

from skipstone.metadata.types import DoubleType, FloatType, Value
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Compare,
    In,
    Intersects,
    IsNan,
    IsNull,
    Leaf,
    Like,
    Not,
    NotIn,
    NotIntersects,
    NotLike,
    NotNan,
    NotNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Term,
    Unknown,
    VariantGet,
    and_,
    or_,
)


def normalise(predicate: Predicate, float_order: FloatOrder = FloatOrder.SPARK) -> Predicate:
    """An equivalent predicate of AND, OR and leaves only, without nulls among its literals.

    An unbound column has no type yet and is taken for one without NaN; `bind` finds the columns first.
    """
    return _push(predicate, float_order, negated=False)


def _push(predicate: Predicate, order: FloatOrder, *, negated: bool) -> Predicate:
    match predicate:
        case Not(child):
            return _push(child, order, negated=not negated)
        case And(children):
            combine = or_ if negated else and_
            return combine(*[_push(c, order, negated=negated) for c in children])
        case Or(children):
            combine = and_ if negated else or_
            return combine(*[_push(c, order, negated=negated) for c in children])
        case AlwaysTrue():
            return FALSE if negated else TRUE
        case AlwaysFalse():
            return TRUE if negated else FALSE
        case Unknown():
            return FALSE
        case Compare(op, term, value) if negated and op in _ORDERING and order is FloatOrder.IEEE and _is_float(term):
            return _not_ordered(op, term, value)
        case _:
            return _tidy(_negate(predicate) if negated else predicate)


_ORDERING = (Op.LT, Op.LE, Op.GT, Op.GE)


def _is_float(term: Term) -> bool:
    return isinstance(term, Column | VariantGet) and isinstance(term.type, FloatType | DoubleType)


def _not_ordered(op: Op, term: Term, value: Value) -> Predicate:
    """NOT of an ordering comparison under IEEE's order, in which NaN on either side makes the comparison false."""
    if value is None:
        return FALSE
    return NotNull(term) if math.isnan(value) else or_(Compare(op.negated, term, value), IsNan(term))


def _negate(leaf: Leaf) -> Leaf:
    """The leaf that is true where the given one is false, false where it is true, and unknown where it is unknown."""
    match leaf:
        case IsNull(term):
            return NotNull(term)
        case NotNull(term):
            return IsNull(term)
        case IsNan(term):
            return NotNan(term)
        case NotNan(term):
            return IsNan(term)
        case Compare(op, term, value):
            return Compare(op.negated, term, value)
        case In(term, values):
            return NotIn(term, values)
        case NotIn(term, values):
            return In(term, values)
        case StartsWith(term, prefix):
            return NotStartsWith(term, prefix)
        case NotStartsWith(term, prefix):
            return StartsWith(term, prefix)
        case Like(term, pattern, escape):
            return NotLike(term, pattern, escape)
        case NotLike(term, pattern, escape):
            return Like(term, pattern, escape)
        case Intersects(term, box):
            return NotIntersects(term, box)
        case NotIntersects(term, box):
            return Intersects(term, box)


def _tidy(leaf: Leaf) -> Predicate:
    """Literal nulls resolved: they make a leaf unknown, or drop out of an IN list. Lists of one become comparisons."""
    match leaf:
        case Compare(_, _, None) | StartsWith(_, None) | NotStartsWith(_, None):
            return FALSE
        case In(term, values):
            return _tidy_in(term, tuple(v for v in values if v is not None))
        case NotIn(term, values):
            if any(v is None for v in values):
                return FALSE
            if not values:
                return TRUE
            return Compare(Op.NE, term, values[0]) if len(values) == 1 else leaf
        case _:
            return leaf


def _tidy_in(term: Term, values: tuple[Value, ...]) -> Predicate:
    if not values:
        return FALSE
    return Compare(Op.EQ, term, values[0]) if len(values) == 1 else In(term, values)
