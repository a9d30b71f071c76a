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
from skipstone.zones.arrow import Array, Scalar, pa, pc
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
        if lower is not None and upper is not None and not pa.types.is_struct(lower.type):
            lower, upper = _without_odd(lower, upper)
        return Between(facts.type, lower, upper)

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


def _without_odd(lower: Array, upper: Array) -> tuple[Array, Array]:
    odd = pc.greater(lower, upper)
    if pa.types.is_floating(lower.type):
        odd = pc.or_kleene(odd, pc.or_kleene(pc.is_nan(lower), pc.is_nan(upper)))
    if not pc.any(odd).as_py():
        return lower, upper
    keep = pc.invert(pc.fill_null(odd, False))
    nothing = pa.scalar(None, lower.type)
    return pc.if_else(keep, lower, nothing), pc.if_else(keep, upper, nothing)
