"""Bounds made comparable: one plain Arrow type a column, odd bounds forgotten.

Dates and times become integers, float becomes double and fixed becomes binary, all without loss, so that literals of
the predicate compare directly. NaN bounds, and a lower bound above its upper one, are odd: both become unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skipstone.metadata.types import (
    DateType,
    DecimalType,
    FixedType,
    FloatType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
    Value,
)
from skipstone.zones.arrow import Array, Scalar, certain, has_any, pa, pc
from skipstone.zones.zone_map import ColumnFacts


@dataclass(frozen=True, slots=True)
class Between:
    """Comparable bounds of a column; None where no zone has any."""

    type: PrimitiveType
    lower: Array | None
    upper: Array | None

    @staticmethod
    def of(facts: ColumnFacts) -> Between:
        lower, upper = comparable(facts.type, facts.lower), comparable(facts.type, facts.upper)
        return Between(facts.type, *without_odd(lower, upper))

    def scalar(self, value: Value) -> Scalar:
        return literal_scalar(self.type, value)

    def array(self, values: tuple[Value, ...]) -> Array:
        return literal_array(self.type, values)


def comparable(type_: PrimitiveType, bounds: Array | None) -> Array | None:
    if bounds is None:
        return None
    match type_:
        case DateType():
            return bounds.view(pa.int32())
        case TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return bounds.view(pa.int64())
        case FloatType():
            return bounds.cast(pa.float64())
        case FixedType() | UuidType():
            return bounds.cast(pa.binary())
        case _:
            return bounds


def comparable_type(type_: PrimitiveType) -> pa.DataType | None:
    """The Arrow type literals take; None lets Arrow choose."""
    match type_:
        case DateType():
            return pa.int32()
        case TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return pa.int64()
        case FloatType():
            return pa.float64()
        case FixedType() | UuidType():
            return pa.binary()
        case DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case _:
            return None


def literal_scalar(type_: PrimitiveType, value: Value) -> Scalar:
    return pa.scalar(_plain(type_, value), comparable_type(type_))


def literal_array(type_: PrimitiveType, values: tuple[Value, ...]) -> Array:
    return pa.array([_plain(type_, v) for v in values], comparable_type(type_))


def _plain(type_: PrimitiveType, value: Value) -> Any:
    return value.bytes if isinstance(type_, UuidType) else value


def without_odd(lower: Array | None, upper: Array | None) -> tuple[Array | None, Array | None]:
    """The bounds of one column, comparable or not, with odd pairs made unknown. Boxes are for `boxes` to look at."""
    if lower is None or upper is None or pa.types.is_struct(lower.type):
        return lower, upper
    odd = certain(pc.greater(lower, upper))
    if pa.types.is_floating(lower.type):
        odd = pc.or_(odd, pc.or_(certain(pc.is_nan(lower)), certain(pc.is_nan(upper))))
    if not has_any(odd):
        return lower, upper
    nothing = pa.scalar(None, lower.type)
    return pc.if_else(odd, nothing, lower), pc.if_else(odd, nothing, upper)
