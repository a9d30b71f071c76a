"""One leaf through one transform.

For a transform f that keeps the order of values: x < v implies f(x) <= f(v), and f(x) < f(v) implies x < v. All rules
below follow from these two. Values that have a next and a previous one allow tighter bounds.

Two corrections guard against what writers really stored:
- Early versions of other writers rounded time transforms of moments before 1970 towards zero, so a stored ordinal may
  be one too high where the right one is negative.
- truncate on integers near the smallest value wraps around in implementations with fixed-width arithmetic, so a stored
  value above the greatest regular one may stand for rows at the bottom of the range.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Context, Decimal
from typing import Any, Final

from skipstone.metadata.partitions.transforms import (
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
    units_per_hour,
)
from skipstone.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntType,
    LongType,
    PrimitiveType,
    StringType,
    Type,
    Value,
)
from skipstone.metadata.values.civil import days_from_civil
from skipstone.predicate.like import literal_prefix
from skipstone.predicate.nodes import (
    FALSE,
    Column,
    Compare,
    In,
    IsNull,
    Leaf,
    Like,
    NotIn,
    NotNull,
    NotStartsWith,
    Op,
    Predicate,
    StartsWith,
    Transformed,
    and_,
    or_,
)

# Python rounds sums to 28 digits unless told otherwise; decimals have 38.
_EXACT: Final = Context(prec=100)
_TIME = (YearTransform, MonthTransform, DayTransform, HourTransform)


def same_leaf(leaf: Leaf, target: Column | Transformed) -> Predicate:
    """The leaf itself on another term."""
    return replace(leaf, term=target)


def inclusive_leaf(leaf: Leaf, transform: Transform, type_: PrimitiveType, target: Column) -> Predicate | None:
    match leaf:
        case IsNull() | NotNull():
            return same_leaf(leaf, target)
        case Compare(Op.EQ, _, value):
            return _in(target, (value,), transform, type_)
        case In(_, values):
            return _in(target, values, transform, type_)
        case Compare(op, _, value) if transform.preserves_order and op is not Op.NE:
            return _inclusive_range(op, value, transform, type_, target)
        case StartsWith(_, prefix) if isinstance(transform, TruncateTransform):
            if len(prefix) <= transform.width:
                return StartsWith(target, prefix)
            return Compare(Op.EQ, target, prefix[: transform.width])
        case NotStartsWith(_, prefix) if isinstance(transform, TruncateTransform) and len(prefix) <= transform.width:
            return NotStartsWith(target, prefix)
        case Like(_, pattern, escape):
            prefix = literal_prefix(pattern, escape)
            return inclusive_leaf(StartsWith(leaf.term, prefix), transform, type_, target) if prefix else None
        case _:
            return None


def strict_leaf(leaf: Leaf, transform: Transform, type_: PrimitiveType, target: Column) -> Predicate | None:
    match leaf:
        case IsNull() | NotNull():
            return same_leaf(leaf, target)
        case Compare(Op.NE, _, value):
            return _not_in(target, (value,), transform, type_)
        case NotIn(_, values):
            return _not_in(target, values, transform, type_)
        case Compare(op, _, value) if transform.preserves_order and op is not Op.EQ:
            return _strict_range(op, value, transform, type_, target)
        case StartsWith(_, prefix) if isinstance(transform, TruncateTransform) and len(prefix) <= transform.width:
            return StartsWith(target, prefix)
        case NotStartsWith(_, prefix) if isinstance(transform, TruncateTransform):
            if len(prefix) <= transform.width:
                return NotStartsWith(target, prefix)
            return Compare(Op.NE, target, prefix[: transform.width])
        case _:
            return None


def _in(target: Column, values: tuple[Value, ...], transform: Transform, type_: PrimitiveType) -> Predicate | None:
    stored = _stored_values(values, transform, type_)
    if stored is None:
        return None
    return Compare(Op.EQ, target, stored[0]) if len(stored) == 1 else In(target, stored)


def _not_in(target: Column, values: tuple[Value, ...], transform: Transform, type_: PrimitiveType) -> Predicate | None:
    stored = _stored_values(values, transform, type_)
    if stored is None:
        return None
    return Compare(Op.NE, target, stored[0]) if len(stored) == 1 else NotIn(target, stored)


def _stored_values(values: tuple[Value, ...], transform: Transform, type_: PrimitiveType) -> tuple[Value, ...] | None:
    """Every partition value under which a row with one of these values may be stored, sorted."""
    stored: set[Any] = set()
    for value in values:
        result = _apply(transform, type_, value)
        if result is None:
            return None
        stored.add(result)
        if _is_rounded(transform, type_) and result < 0:
            stored.add(result + 1)
    return tuple(sorted(stored))


def _is_rounded(transform: Transform, type_: PrimitiveType) -> bool:
    """Whether the ordinal leaves something of a moment out. The day of a date is the date itself."""
    return isinstance(transform, _TIME) and not (isinstance(transform, DayTransform) and isinstance(type_, DateType))


def _inclusive_range(
    op: Op, value: Value, transform: Transform, type_: PrimitiveType, target: Column
) -> Predicate | None:
    upper = op in (Op.LT, Op.LE)
    edge = _step(type_, value, -1 if op is Op.LT else 1 if op is Op.GT else 0)
    result = _apply(transform, type_, edge)
    if result is None:
        return None
    if upper and _is_rounded(transform, type_) and result < 0:
        result += 1
    bound = Compare(Op.LE if upper else Op.GE, target, result)
    wrapped = _wrapped(transform, type_, target)
    return or_(bound, wrapped) if upper and wrapped is not None else bound


def _strict_range(op: Op, value: Value, transform: Transform, type_: PrimitiveType, target: Column) -> Predicate | None:
    upper = op in (Op.LT, Op.LE)
    edge = _step(type_, value, 1 if op is Op.LE else -1 if op is Op.GE else 0)
    result = _apply(transform, type_, edge)
    if result is None:
        return None
    if not upper and _is_rounded(transform, type_) and result < 0:
        result += 1
    bound = Compare(Op.LT if upper else Op.GT, target, result)
    wrapped = _wrapped(transform, type_, target)
    if upper or wrapped is None:
        return bound
    return and_(bound, Compare(Op.LE, target, wrapped.value))


def _wrapped(transform: Transform, type_: PrimitiveType, target: Column) -> Compare | None:
    """True for partition values that only wrap-around can have produced; None where it cannot happen."""
    if not isinstance(transform, TruncateTransform) or not isinstance(type_, IntType | LongType):
        return None
    bits = 32 if isinstance(type_, IntType) else 64
    if 2 ** (bits - 1) % transform.width == 0:
        return None
    return Compare(Op.GT, target, transform.apply(type_, 2 ** (bits - 1) - 1))


def _apply(transform: Transform, type_: PrimitiveType, value: Value) -> Any:
    """The transform's result, or None where it leaves the result type's range and nothing can be said."""
    result = transform.apply(type_, value)
    return result if isinstance(result, str | bytes) or _holds(transform.result_type(type_), result) else None


def _holds(type_: Type, value: Value) -> bool:
    """Whether a number lies in the range of a type."""
    match type_:
        case DecimalType(precision, scale):
            return bool(value.copy_abs() < Decimal(10) ** (precision - scale))  # abs() rounds to 28 digits
        case IntType() | DateType():
            return bool(-(2**31) <= value < 2**31)
        case _:
            return bool(-(2**63) <= value < 2**63)


def _step(type_: PrimitiveType, value: Value, direction: int) -> Value:
    """The next or previous value of a type that has one, else the value itself, which is a looser bound."""
    match type_:
        case StringType() | BinaryType():
            return value
        case DecimalType(scale=scale):
            moved = _EXACT.add(value, Decimal(direction).scaleb(-scale))
        case _:
            moved = value + direction
    return moved if _holds(type_, moved) else value


def source_ranges(leaf: Leaf, source: Column) -> Predicate | None:
    """A comparison of a time transform as ranges of its source column; None if it has no such form."""
    term = leaf.term
    if not isinstance(term, Transformed) or not isinstance(term.transform, _TIME):
        return None
    match leaf:
        case IsNull() | NotNull():
            return same_leaf(leaf, source)
        case Compare(op, _, value):
            return _range_of(op, value, term.transform, source)
        case In(_, values):
            parts = [_range_of(Op.EQ, v, term.transform, source) for v in values]
            return or_(*parts)
        case NotIn(_, values):
            parts = [_range_of(Op.NE, v, term.transform, source) for v in values]
            return and_(*parts)
        case _:
            return None


def _range_of(op: Op, ordinal: int, transform: Transform, source: Column) -> Predicate:
    start, end = period_start(transform, source.type, ordinal), period_start(transform, source.type, ordinal + 1)
    match op:
        case Op.EQ:
            return and_(_from(source, start), _before(source, end))
        case Op.NE:
            return or_(_before(source, start), _from(source, end))
        case Op.LT:
            return _before(source, start)
        case Op.LE:
            return _before(source, end)
        case Op.GT:
            return _from(source, end)
        case Op.GE:
            return _from(source, start)


def _from(source: Column, start: int) -> Predicate:
    """At or after a moment, which may lie outside what the column can hold."""
    if _holds(source.type, start):
        return Compare(Op.GE, source, start)
    return FALSE if start > 0 else NotNull(source)


def _before(source: Column, end: int) -> Predicate:
    if _holds(source.type, end):
        return Compare(Op.LT, source, end)
    return NotNull(source) if end > 0 else FALSE


def period_start(transform: Transform, type_: PrimitiveType, ordinal: int) -> int:
    """The first value of the source type in a year, month, day or hour."""
    match transform:
        case HourTransform():
            return ordinal * units_per_hour(type_)
        case YearTransform():
            days = days_from_civil(1970 + ordinal, 1, 1)
        case MonthTransform():
            days = days_from_civil(1970 + ordinal // 12, ordinal % 12 + 1, 1)
        case _:
            days = ordinal
    return days if isinstance(type_, DateType) else days * 24 * units_per_hour(type_)
