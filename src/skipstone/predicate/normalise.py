"""NOT pushed to the leaves, under SQL's three-valued logic.

Law: for every row the result is true exactly where the given predicate is true. (Where the given one is false or
unknown the result may be either of the two: neither matches.) That is what lets AND be min and OR be max over
verdicts, which have no NOT.
"""

from __future__ import annotations

from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    AlwaysFalse,
    AlwaysTrue,
    And,
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
    Unknown,
    and_,
    or_,
)


def normalise(predicate: Predicate) -> Predicate:
    """An equivalent predicate of AND, OR and leaves only, without nulls among its literals."""
    return _push(predicate, negated=False)


def _push(predicate: Predicate, *, negated: bool) -> Predicate:
    match predicate:
        case Not(child):
            return _push(child, negated=not negated)
        case And(children):
            combine = or_ if negated else and_
            return combine(*(_push(c, negated=negated) for c in children))
        case Or(children):
            combine = and_ if negated else or_
            return combine(*(_push(c, negated=negated) for c in children))
        case AlwaysTrue():
            return FALSE if negated else TRUE
        case AlwaysFalse():
            return TRUE if negated else FALSE
        case Unknown():
            return FALSE
        case _:
            return _tidy(negate_leaf(predicate) if negated else predicate)


def negate_leaf(leaf: Leaf) -> Leaf:
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
    """Literal nulls resolved: they make a leaf unknown, or drop out of an IN list."""
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


def _tidy_in(term: object, values: tuple[object, ...]) -> Predicate:
    if not values:
        return FALSE
    if len(values) == 1:
        return Compare(Op.EQ, term, values[0])  # type: ignore[arg-type]
    return In(term, values)  # type: ignore[arg-type]
