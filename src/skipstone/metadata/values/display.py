"""A value as a person reads it: ISO dates and times, plain decimals, hexadecimal bytes, well-known text.

Nothing is lost: every value in the range of its type, however far from today, has a text of its own.
"""

from __future__ import annotations

from skipstone.errors import FormatViolation
from skipstone.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    TimeType,
    Type,
    Value,
)
from skipstone.metadata.values import iso
from skipstone.metadata.values.checks import float32_text
from skipstone.metadata.values.geo import GeoPoint, parse_wkb
from skipstone.metadata.values.geo_wkt import format_wkt
from skipstone.metadata.values.json_values import TIMESTAMPS


def display(type_: Type, value: Value) -> str:
    """Text for one value."""
    if value is None:
        return "null"
    if (timestamp := TIMESTAMPS.get(type(type_))) is not None:
        digits, has_offset = timestamp
        return iso.format_timestamp(value, digits=digits) + ("+00:00" if has_offset else "")
    match type_:
        case BooleanType():
            return "true" if value else "false"
        case FloatType():
            return str(float(float32_text(value)))
        case DecimalType():
            return f"{value:f}"
        case DateType():
            return iso.format_date(value)
        case TimeType():
            return iso.format_time(value)
        case GeometryType() | GeographyType():
            return _display_geometry(value)
        case StructType(fields):
            shown = (f"{f.name}: {display(f.type, value[f.id])}" for f in fields if f.id in value)
            return f"{{{', '.join(shown)}}}"
        case ListType():
            return f"[{', '.join(display(type_.element, v) for v in value)}]"
        case MapType():
            shown = (f"{display(type_.key, k)}: {display(type_.value, v)}" for k, v in value)
            return f"{{{', '.join(shown)}}}"
        case _:
            return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)


def _display_geometry(value: Value) -> str:
    if isinstance(value, GeoPoint):
        named = (("x", value.x), ("y", value.y), ("z", value.z), ("m", value.m))
        return f"({', '.join(f'{name}={c!r}' for name, c in named if c is not None)})"
    try:
        return format_wkt(parse_wkb(value))
    except FormatViolation:
        return f"0x{value.hex()}"  # a damaged geometry can still be looked at
