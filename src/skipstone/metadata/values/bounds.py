"""Bound serialization: lower and upper bounds of a column, one at a time. `bounds_array` does whole columns.

A bound keeps the bytes it was written with, so after a promotion its width tells the type it had: 4 bytes under long
are an int, under double a float, under timestamp and timestamp_ns a date. A bound of a fixed may be shorter than the
type, because writers truncate it; filled up with zeros it is still a bound, lower or upper.

NaN is not permitted as a bound and never written. Old writers did store it, so it can come out of `parse_bound`:
whoever compares bounds takes it as unknown.

Spec: "Bound serialization", "Schema Evolution", "Bounds for Variant, Geometry, and Geography".
"""

from __future__ import annotations

import math
import struct
from typing import Final

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.types import (
    DATE,
    FLOAT,
    INT,
    LONG_MAX,
    LONG_MIN,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    LongType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    Value,
    VariantType,
)
from skipstone.metadata.values.binary import parse_value, serialize_value
from skipstone.metadata.values.checks import short_repr
from skipstone.metadata.values.geo import GeoPoint
from skipstone.metadata.values.iso import DAY_NS, DAY_US
from skipstone.metadata.values.variant import (
    VariantObject,
    VariantPrimitive,
    parse_concatenated,
    serialize_variant,
)
from skipstone.metadata.values.variant_paths import parse_path

# Wider fixed types are not filled up: one byte must not become gigabytes.
FIXED_FILLED_MAX: Final = 1 << 20

GEO_WIDTHS: Final = (16, 24, 32)

# The type a 4-byte bound had when it was written, under a current type of 8 bytes.
PROMOTED_FROM: Final[dict[type[PrimitiveType], PrimitiveType]] = {
    LongType: INT,
    DoubleType: FLOAT,
    TimestampType: DATE,
    TimestampNsType: DATE,
}
# Units of a promoted date under each timestamp type.
DAY_UNITS: Final[dict[type[PrimitiveType], int]] = {TimestampType: DAY_US, TimestampNsType: DAY_NS}


def serialize_bound(type_: PrimitiveType, value: Value) -> bytes:
    """The bytes of a lower or upper bound. A geometry's bound is a GeoPoint, a variant's a dict by path."""
    match type_:
        case GeometryType() | GeographyType():
            return _serialize_point(type_, value)
        case VariantType():
            return _serialize_variant_bounds(value)
        case FloatType() | DoubleType() if isinstance(value, float) and math.isnan(value):
            raise InvalidInput(f"Invalid bound for {type_}: expected a number, got NaN. Leave the bound out.")
        case _:
            return serialize_value(type_, value)


def parse_bound(type_: PrimitiveType, data: bytes, *, source: str = "bound") -> Value:
    """The bound that `data` holds, in the current type; `source` names the place in messages."""
    match type_:
        case GeometryType() | GeographyType():
            return _parse_point(type_, data, source)
        case VariantType():
            return _parse_variant_bounds(data, source)
        case LongType() | DoubleType() | TimestampType() | TimestampNsType() if len(data) == 4:
            narrow = parse_value(PROMOTED_FROM[type(type_)], data, source=source)
            return _promote_date(type_, narrow, source) if type(type_) in DAY_UNITS else narrow
        case LongType() | DoubleType() | TimestampType() | TimestampNsType() if len(data) != 8:
            raise FormatViolation(
                f"Invalid {source}: expected 8 bytes for {type_} (or 4, written as {PROMOTED_FROM[type(type_)]}), "
                f"got {len(data)}."
            )
        case FixedType(length=length) if 0 < len(data) < length <= FIXED_FILLED_MAX:
            return bytes(data).ljust(length, b"\x00")
        case _:
            return parse_value(type_, data, source=source)


def _promote_date(type_: PrimitiveType, days: int, source: str) -> int:
    units = days * DAY_UNITS[type(type_)]
    if not LONG_MIN <= units <= LONG_MAX:
        raise FormatViolation(f"Invalid {source}: expected a date within the range of {type_}, got day {days}.")
    return units


def _serialize_point(type_: PrimitiveType, point: Value) -> bytes:
    if not isinstance(point, GeoPoint):
        raise InvalidInput(f"Invalid bound for {type_}: expected a GeoPoint, got {short_repr(point)}.")
    if math.isnan(point.x) or math.isnan(point.y):
        raise InvalidInput(f"Invalid bound for {type_}: expected values for x and y, got {point}. Leave the bound out.")
    if point.m is not None:
        z = math.nan if point.z is None else point.z
        return struct.pack("<4d", point.x, point.y, z, point.m)
    if point.z is not None:
        return struct.pack("<3d", point.x, point.y, point.z)
    return struct.pack("<2d", point.x, point.y)


def _parse_point(type_: PrimitiveType, data: bytes, source: str) -> GeoPoint:
    if len(data) not in GEO_WIDTHS:
        raise FormatViolation(f"Invalid {source}: expected 16, 24 or 32 bytes for {type_}, got {len(data)}.")
    x, y, *others = struct.unpack(f"<{len(data) // 8}d", data)
    z, m = (*(None if math.isnan(c) else c for c in others), None, None)[:2]
    return GeoPoint(x=x, y=y, z=z, m=m)


def _serialize_variant_bounds(bounds: Value) -> bytes:
    if not isinstance(bounds, dict) or not all(isinstance(v, VariantPrimitive) for v in bounds.values()):
        raise InvalidInput(f"Invalid bound for variant: expected primitives by path, got {short_repr(bounds)}.")
    for path in bounds:
        try:
            parse_path(path)
        except FormatViolation as e:
            raise InvalidInput(str(e)) from None
    return b"".join(serialize_variant(VariantObject(tuple(bounds.items()))))


def _parse_variant_bounds(data: bytes, source: str) -> dict[str, VariantPrimitive]:
    value = parse_concatenated(data, source=source)
    if not isinstance(value, VariantObject):
        raise FormatViolation(f"Invalid {source}: expected a variant object of bounds, got {type(value).__name__}.")
    bounds: dict[str, VariantPrimitive] = {}
    for path, bound in value.fields:
        parse_path(path, source=source)
        if not isinstance(bound, VariantPrimitive):
            raise FormatViolation(
                f"Invalid {source}: expected a primitive variant bound for {path}, got {type(bound).__name__}."
            )
        bounds[path] = bound
    return bounds
