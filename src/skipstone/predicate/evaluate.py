"""One row against one predicate: obvious and slow, the reference for everything that skips.

The answer is True, False or None, which is SQL's unknown. A row matches only if the answer is True.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skipstone.metadata.types import Value
from skipstone.metadata.values.geo import bounding_box
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.like import like_regex
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Box,
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
    Transformed,
    Unknown,
    VariantGet,
)
from skipstone.predicate.variant_terms import get_path

Row = Mapping[int, Value]


def evaluate(predicate: Predicate, row: Row, float_order: FloatOrder = FloatOrder.SPARK) -> bool | None:
    """The bound predicate's value for a row given by field id; a missing field is null."""
    match predicate:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case Unknown():
            return None
        case Not(child):
            return _not(evaluate(child, row, float_order))
        case And(children):
            answers = [evaluate(c, row, float_order) for c in children]
            return False if False in answers else None if None in answers else True
        case Or(children):
            answers = [evaluate(c, row, float_order) for c in children]
            return True if True in answers else None if None in answers else False
        case _:
            return evaluate_leaf(predicate, value_of(predicate.term, row), float_order)


def value_of(term: Term, row: Row) -> Value:
    """A bound term's value in a row."""
    match term:
        case Column():
            return row.get(term.field_id)
        case Transformed(transform, Column() as source):
            value = row.get(source.field_id)
            return None if value is None else transform.apply(source.type, value)
        case VariantGet(Column() as source, path, type_):
            value = row.get(source.field_id)
            return None if value is None else get_path(value, path, type_)
        case _:
            raise TypeError(f"Cannot evaluate unbound term {term}. Bind the predicate first.")


def evaluate_leaf(leaf: Leaf, value: Value, float_order: FloatOrder) -> bool | None:
    """A leaf's answer for one value of its term."""
    match leaf:
        case IsNull():
            return value is None
        case NotNull():
            return value is not None
        case IsNan():
            return _is_nan(value)
        case NotNan():
            return not _is_nan(value)
        case In(_, ()):
            return False  # nothing is in an empty list, not even what is unknown
        case NotIn(_, ()):
            return True
    if value is None:
        return None
    match leaf:
        case Compare(op, _, literal):
            return None if literal is None else compare(op, value, literal, float_order)
        case In(_, literals):
            return _is_in(value, literals, float_order)
        case NotIn(_, literals):
            return _not(_is_in(value, literals, float_order))
        case StartsWith(_, None) | NotStartsWith(_, None):
            return None
        case StartsWith(_, prefix):
            return bool(value.startswith(prefix))
        case NotStartsWith(_, prefix):
            return not value.startswith(prefix)
        case Like(_, pattern, escape):
            return like_regex(pattern, escape).fullmatch(value) is not None
        case NotLike(_, pattern, escape):
            return like_regex(pattern, escape).fullmatch(value) is None
        case Intersects(_, box):
            return _intersects(value, box)
        case NotIntersects(_, box):
            return not _intersects(value, box)
    raise AssertionError(f"unreachable leaf {leaf!r}")


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _is_in(value: Value, literals: tuple[Value, ...], float_order: FloatOrder) -> bool | None:
    """Unknown, not false, when nothing else matches and the list has a null."""
    if any(compare(Op.EQ, value, v, float_order) for v in literals if v is not None):
        return True
    return None if None in literals else False


def compare(op: Op, left: Any, right: Any, float_order: FloatOrder) -> bool:
    """Two non-null values of one type."""
    if _is_nan(left) or _is_nan(right):
        return _compare_with_nan(op, left, right, float_order)
    match op:
        case Op.EQ:
            return bool(left == right)
        case Op.NE:
            return bool(left != right)
        case Op.LT:
            return bool(left < right)
        case Op.LE:
            return bool(left <= right)
        case Op.GT:
            return bool(left > right)
        case Op.GE:
            return bool(left >= right)


def _compare_with_nan(op: Op, left: Any, right: Any, float_order: FloatOrder) -> bool:
    if float_order is FloatOrder.IEEE:
        return op is Op.NE
    return compare(op, int(_is_nan(left)), int(_is_nan(right)), float_order)  # NaN above everything, equal to itself


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _intersects(wkb: bytes, box: Box) -> bool:
    bounds = bounding_box([wkb])
    if bounds is None:
        return False
    lower, upper = bounds
    return ranges_meet(lower.x, upper.x, box.xmin, box.xmax) and ranges_meet(lower.y, upper.y, box.ymin, box.ymax)


def ranges_meet(low: float, high: float, other_low: float, other_high: float) -> bool:
    """Whether two ranges share a point; a geography's x range wraps around the antimeridian when low > high."""
    if low > high:
        return other_high >= low or other_low <= high
    return low <= other_high and other_low <= high
