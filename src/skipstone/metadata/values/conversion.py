"""Values as users write them, for literals and defaults, turned into the values of a type.

Only conversions with one meaning are made. A bool is no number; a float is no integer or decimal; a timestamp with
an offset is not one without. Decimals must fit without loss. Text in the ISO forms stands for dates, times, and
uuids; well-known text for geometries. A number for a float column becomes the nearest float, as everywhere.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Final

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    TimeType,
    Type,
    UuidType,
    Value,
)
from skipstone.metadata.values import iso
from skipstone.metadata.values.checks import (
    check_value,
    short_repr,
    to_float32,
    unscaled_from_decimal,
)
from skipstone.metadata.values.decimals import from_unscaled
from skipstone.metadata.values.geo import parse_wkb, serialize_wkb
from skipstone.metadata.values.geo_wkt import parse_wkt
from skipstone.metadata.values.json_values import TIMESTAMPS

_EPOCH: Final = dt.date(1970, 1, 1)


def from_python(type_: Type, value: object) -> Value:
    """The value of this type that a Python object stands for; None is null in every type."""
    if value is None:
        return None
    match type_:
        case PrimitiveType():
            converted = _primitive(type_, value)
            check_value(type_, converted)
            return converted
        case StructType():
            return _struct(type_, value)
        case ListType():
            if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
                raise _bad(type_, "a sequence", value)
            return [_item(type_, type_.element_required, type_.element, v) for v in value]
        case MapType():
            pairs = value.items() if isinstance(value, Mapping) else value
            if not isinstance(pairs, Iterable) or isinstance(pairs, str | bytes):
                raise _bad(type_, "a mapping or pairs", value)
            return [_pair(type_, p) for p in pairs]
        case _:
            raise InvalidInput(f"Cannot make a value of type {type_}.")


def _struct(type_: StructType, value: object) -> dict[int, Value]:
    if not isinstance(value, Mapping):
        raise _bad(type_, "a mapping by field name or id", value)
    fields = {key: f for f in type_.fields for key in (f.id, f.name)}
    result: dict[int, Value] = {}
    for key, v in value.items():
        f = fields.get(key)
        if f is None:
            raise _bad(type_, f"field names {', '.join(x.name for x in type_.fields)}", key)
        result[f.id] = _item(type_, f.required, f.type, v)
    return result


def _pair(type_: MapType, pair: object) -> tuple[Value, Value]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise _bad(type_, "pairs of key and value", pair)
    return _item(type_, True, type_.key, pair[0]), _item(type_, type_.value_required, type_.value, pair[1])


def _item(parent: Type, required: bool, type_: Type, value: object) -> Value:
    if required and value is None:
        raise _bad(parent, f"a value of required {type_}", value)
    return from_python(type_, value)


def _primitive(type_: PrimitiveType, value: object) -> object:
    if not isinstance(value, bool) and isinstance(value, Integral):
        value = int(value)  # NumPy's integers too
    if type(type_) in TIMESTAMPS:
        return _timestamp(type_, value)
    match type_:
        case FloatType() | DoubleType():
            return _float(type_, value)
        case DecimalType():
            number = Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value
            return from_unscaled(unscaled_from_decimal(type_, number), type_.scale)
        case DateType():
            return _date(type_, value)
        case TimeType():
            return _time(type_, value)
        case UuidType():
            return _uuid(type_, value)
        case FixedType() | BinaryType():
            return bytes(value) if isinstance(value, bytearray | memoryview) else value
        case GeometryType() | GeographyType():
            return _geometry(type_, value)
        case _:
            return value


def _float(type_: PrimitiveType, value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | Real | Decimal):
        return value
    try:
        number = float(value)
    except OverflowError:
        raise _bad(type_, "a number within its range", value) from None
    nearest = to_float32(type_, number) if isinstance(type_, FloatType) else number
    if isinstance(value, int) and nearest != value:
        raise _bad(type_, "a whole number that it holds exactly", value)
    return nearest


def _date(type_: PrimitiveType, value: object) -> object:
    if isinstance(value, dt.datetime):
        raise _bad(type_, "a date without a time", value)
    if isinstance(value, dt.date):
        return (value - _EPOCH).days
    if isinstance(value, str):
        days = iso.parse_date(value)
        if days is None:
            raise _bad(type_, "an ISO-8601 date such as 2017-11-16", value)
        return days
    return value


def _time(type_: PrimitiveType, value: object) -> object:
    if isinstance(value, dt.time):
        if value.tzinfo is not None:
            raise _bad(type_, "a time without a time zone", value)
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    if isinstance(value, str):
        micros = iso.parse_time(value)
        if micros is None:
            raise _bad(type_, "an ISO-8601 time such as 22:31:08.123456", value)
        return micros
    return value


def _timestamp(type_: PrimitiveType, value: object) -> object:
    digits, has_offset = TIMESTAMPS[type(type_)]
    units_per_second: int = 10**digits
    if isinstance(value, dt.datetime):
        _check_zone(type_, value, value.utcoffset() is not None, has_offset)
        offset = value.utcoffset() or dt.timedelta()
        local = value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)
        micros = (local - offset) // dt.timedelta(microseconds=1)
        nanos = int(getattr(value, "nanosecond", 0))  # of a pandas Timestamp
        if digits == 9:
            return micros * 1000 + nanos
        if nanos:
            raise _bad(type_, "at most microseconds", value)
        return micros
    if isinstance(value, dt.date):
        _check_zone(type_, value, False, has_offset)
        return (value - _EPOCH).days * iso.DAY_S * units_per_second
    if isinstance(value, str):
        return _timestamp_text(type_, value, digits, has_offset)
    return value


def _timestamp_text(type_: PrimitiveType, text: str, digits: int, has_offset: bool) -> int:
    local, offset = iso.split_offset(text)
    days = iso.parse_date(local)
    if days is not None:
        units: int | None = days * iso.DAY_S * 10**digits
    else:
        units = iso.parse_timestamp(local, digits=digits, separators="T ")
    seconds_east = 0 if offset is None else iso.offset_seconds(offset)
    if units is None or seconds_east is None:
        example = "2017-11-16T22:31:08.123456" + ("+00:00" if has_offset else "")
        raise _bad(type_, f"an ISO-8601 timestamp such as {example}, of at most {digits} decimals", text)
    _check_zone(type_, text, offset is not None, has_offset)
    return units - int(seconds_east * 10**digits)


def _check_zone(type_: PrimitiveType, value: object, is_zoned: bool, has_offset: bool) -> None:
    if is_zoned and not has_offset:
        raise _bad(type_, "a timestamp without an offset or time zone", value)
    if has_offset and not is_zoned:
        raise _bad(type_, "a timestamp with an offset or time zone, such as +00:00", value)


def _uuid(type_: PrimitiveType, value: object) -> object:
    if isinstance(value, bytes) and len(value) == 16:
        return uuid.UUID(bytes=value)
    if isinstance(value, str):
        try:
            return uuid.UUID(value)
        except ValueError:
            raise _bad(type_, "a uuid such as f79c3e09-677c-4bbd-a479-3f349cb785e7", value) from None
    return value


def _geometry(type_: PrimitiveType, value: object) -> object:
    try:
        if isinstance(value, str):
            return serialize_wkb(parse_wkt(value))
        if isinstance(value, bytes | bytearray | memoryview):
            parse_wkb(bytes(value))
            return bytes(value)
    except FormatViolation as e:
        raise InvalidInput(str(e)) from None
    return value


def _bad(type_: Type, expected: str, value: object) -> InvalidInput:
    return InvalidInput(f"Invalid value for {type_}: expected {expected}, got {short_repr(value)}.")
