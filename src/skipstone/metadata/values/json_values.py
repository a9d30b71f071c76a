"""JSON single-value serialization: one value of any type as what a JSON parser yields or a JSON writer takes.

Written as Iceberg Java writes it, so that a rewritten file does not differ: fractions of a second without trailing
zeros, floats as the shortest number of their width, NaN and infinities as strings. Read strictly where the spec says
must (offset +00:00, exact scale), else with tolerance for what has one meaning only.

Null is null in every type. A struct holds the fields that are present: {} is a struct with no field values, which a
default needs.

Spec: "JSON single-value serialization".
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.types import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IntType,
    ListType,
    LongType,
    MapType,
    PrimitiveType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
    Value,
)
from skipstone.metadata.values import iso
from skipstone.metadata.values.checks import (
    check_value,
    encode_utf8,
    float32_text,
    short_repr,
    to_float32,
    unscaled_from_decimal,
)
from skipstone.metadata.values.decimals import from_unscaled
from skipstone.metadata.values.geo import parse_wkb, serialize_wkb
from skipstone.metadata.values.geo_wkt import format_wkt, parse_wkt

# Digits of a second, and whether there is an offset.
TIMESTAMPS: Final[dict[type[Type], tuple[int, bool]]] = {
    TimestampType: (6, False),
    TimestamptzType: (6, True),
    TimestampNsType: (9, False),
    TimestamptzNsType: (9, True),
}

_OFFSET: Final = "+00:00"
_NON_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DECIMAL: Final = re.compile(r"[+-]?\d{1,80}(?:\.\d{0,80})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})*", re.ASCII)


# -- writing ---------------------------------------------------------------------------------------------------------


def value_to_json(type_: Type, value: Value) -> Any:
    """What a JSON writer takes for one value."""
    if value is None:
        return None
    match type_:
        case PrimitiveType():
            check_value(type_, value)
            return _primitive_to_json(type_, value)
        case StructType():
            return _struct_to_json(type_, value)
        case ListType():
            return [value_to_json(type_.element, v) for v in value]
        case MapType():
            return {
                "keys": [value_to_json(type_.key, k) for k, _ in value],
                "values": [value_to_json(type_.value, v) for _, v in value],
            }
        case _:
            raise InvalidInput(f"Cannot serialize a value of type {type_}.")


def _struct_to_json(type_: StructType, value: Value) -> dict[str, Any]:
    unknown = set(value) - {f.id for f in type_.fields}
    if unknown:
        raise InvalidInput(f"Invalid value for {type_}: expected its field ids, got {sorted(unknown, key=str)}.")
    return {str(f.id): value_to_json(f.type, value[f.id]) for f in type_.fields if f.id in value}


def _primitive_to_json(type_: PrimitiveType, value: Value) -> Any:
    if (timestamp := TIMESTAMPS.get(type(type_))) is not None:
        digits, has_offset = timestamp
        return iso.format_timestamp(value, digits=digits) + (_OFFSET if has_offset else "")
    match type_:
        case FloatType() | DoubleType():
            return _float_to_json(type_, value)
        case DecimalType():
            return f"{from_unscaled(unscaled_from_decimal(type_, value), type_.scale):f}"
        case DateType():
            return iso.format_date(value)
        case TimeType():
            return iso.format_time(value)
        case UuidType():
            return str(value)
        case FixedType() | BinaryType():
            return value.hex()
        case GeometryType() | GeographyType():
            try:
                return format_wkt(parse_wkb(value))
            except FormatViolation as e:
                raise InvalidInput(str(e)) from None
        case _:
            return value


def _float_to_json(type_: PrimitiveType, value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(float32_text(to_float32(type_, value))) if isinstance(type_, FloatType) else value


# -- reading ---------------------------------------------------------------------------------------------------------


def value_from_json(type_: Type, json: Any, *, source: str = "value") -> Value:
    """The value that parsed JSON holds; `source` names the place in messages."""
    if json is None:
        return None
    match type_:
        case PrimitiveType():
            read = _READERS.get(type(type_))
            if read is None:
                raise FormatViolation(f"Invalid {source}: expected null for {type_}, got {short_repr(json)}.")
            return read(type_, json, source)
        case StructType():
            return _struct_from_json(type_, json, source)
        case ListType():
            if not isinstance(json, list):
                raise _bad(type_, "an array", json, source)
            return [_item_from_json(type_.element_field.required, type_.element, v, source) for v in json]
        case MapType():
            return _map_from_json(type_, json, source)
        case _:
            raise InvalidInput(f"Cannot parse a value of type {type_}.")


def _struct_from_json(type_: StructType, json: Any, source: str) -> dict[int, Value]:
    if not isinstance(json, dict):
        raise _bad(type_, "an object by field id", json, source)
    fields = {str(f.id): f for f in type_.fields}
    for key in json:
        if key not in fields:
            raise FormatViolation(
                f"Invalid {source}: expected the field ids {', '.join(fields) or 'none'} of {type_}, got {key!r}."
            )
    return {
        f.id: value_from_json(f.type, json[key], source=f"{source}, field {f.id}")
        for key, f in fields.items()
        if key in json
    }


def _map_from_json(type_: MapType, json: Any, source: str) -> list[tuple[Value, Value]]:
    keys = json.get("keys") if isinstance(json, dict) else None
    values = json.get("values") if isinstance(json, dict) else None
    if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
        raise _bad(type_, "an object with arrays 'keys' and 'values' of one length", json, source)
    return [
        (
            _item_from_json(True, type_.key, k, source),
            _item_from_json(type_.value_required, type_.value, v, source),
        )
        for k, v in zip(keys, values, strict=True)
    ]


def _item_from_json(required: bool, type_: Type, json: Any, source: str) -> Value:
    if required and json is None:
        raise FormatViolation(f"Invalid {source}: expected a value of required {type_}, got null.")
    return value_from_json(type_, json, source=source)


def _read_boolean(type_: Type, json: Any, source: str) -> bool:
    if not isinstance(json, bool):
        raise _bad(type_, "true or false", json, source)
    return json


def _read_int(type_: Type, json: Any, source: str) -> int:
    lowest, highest = (INT_MIN, INT_MAX) if isinstance(type_, IntType) else (LONG_MIN, LONG_MAX)
    if isinstance(json, bool) or not isinstance(json, int) or not lowest <= json <= highest:
        raise _bad(type_, f"a whole number from {lowest} to {highest}", json, source)
    return json


def _read_float(type_: Type, json: Any, source: str) -> float:
    if isinstance(json, str) and json in _NON_FINITE:
        return _NON_FINITE[json]
    if isinstance(json, bool) or not isinstance(json, int | float):
        raise _bad(type_, "a number", json, source)
    try:
        value = float(json)
        return to_float32(type_, value) if isinstance(type_, FloatType) else value
    except (OverflowError, InvalidInput):
        raise _bad(type_, "a number within its range", json, source) from None


def _read_decimal(type_: Type, json: Any, source: str) -> Decimal:
    assert isinstance(type_, DecimalType)
    if not isinstance(json, str) or _DECIMAL.fullmatch(json) is None:
        raise _bad(type_, "a decimal number in a string", json, source)
    value = Decimal(json)
    if value.as_tuple().exponent != -type_.scale:
        raise _bad(type_, f"a scale of exactly {type_.scale}", json, source)
    try:
        return from_unscaled(unscaled_from_decimal(type_, value), type_.scale)
    except InvalidInput:
        raise _bad(type_, f"at most {type_.precision} digits", json, source) from None


def _read_date(type_: Type, json: Any, source: str) -> int:
    days = iso.parse_date(json) if isinstance(json, str) else None
    if days is None or not INT_MIN <= days <= INT_MAX:
        raise _bad(type_, "an ISO-8601 date such as 2017-11-16", json, source)
    return days


def _read_time(type_: Type, json: Any, source: str) -> int:
    micros = iso.parse_time(json) if isinstance(json, str) else None
    if micros is None:
        raise _bad(type_, "an ISO-8601 time such as 22:31:08.123456", json, source)
    return micros


def _read_timestamp(type_: Type, json: Any, source: str) -> int:
    digits, has_offset = TIMESTAMPS[type(type_)]
    text = json if isinstance(json, str) else ""
    is_zoned = text.endswith(_OFFSET)
    units = iso.parse_timestamp(text.removesuffix(_OFFSET), digits=digits) if is_zoned == has_offset else None
    if units is None or not LONG_MIN <= units <= LONG_MAX:
        example = "2017-11-16T22:31:08.123456789"[: 20 + digits] + (_OFFSET if has_offset else "")
        raise _bad(type_, f"an ISO-8601 timestamp such as {example}", json, source)
    return units


def _read_string(type_: Type, json: Any, source: str) -> str:
    if not isinstance(json, str):
        raise _bad(type_, "a string", json, source)
    try:
        encode_utf8(json)
    except InvalidInput:
        raise _bad(type_, "text without lone surrogates", json, source) from None
    return json


def _read_uuid(type_: Type, json: Any, source: str) -> uuid.UUID:
    if not isinstance(json, str) or _UUID.fullmatch(json) is None:
        raise _bad(type_, "a uuid such as f79c3e09-677c-4bbd-a479-3f349cb785e7", json, source)
    return uuid.UUID(json)


def _read_bytes(type_: Type, json: Any, source: str) -> bytes:
    if not isinstance(json, str) or _HEX.fullmatch(json) is None:
        raise _bad(type_, "hexadecimal digits in a string", json, source)
    data = bytes.fromhex(json)
    if isinstance(type_, FixedType) and len(data) != type_.length:
        raise _bad(type_, f"{2 * type_.length} hexadecimal digits", json, source)
    return data


def _read_geometry(type_: Type, json: Any, source: str) -> bytes:
    if not isinstance(json, str):
        raise _bad(type_, "well-known text such as POINT (30 10)", json, source)
    return serialize_wkb(parse_wkt(json, source=source))


_READERS: Final[dict[type[Type], Callable[[Type, Any, str], Value]]] = {
    BooleanType: _read_boolean,
    IntType: _read_int,
    LongType: _read_int,
    FloatType: _read_float,
    DoubleType: _read_float,
    DecimalType: _read_decimal,
    DateType: _read_date,
    TimeType: _read_time,
    TimestampType: _read_timestamp,
    TimestamptzType: _read_timestamp,
    TimestampNsType: _read_timestamp,
    TimestamptzNsType: _read_timestamp,
    StringType: _read_string,
    UuidType: _read_uuid,
    FixedType: _read_bytes,
    BinaryType: _read_bytes,
    GeometryType: _read_geometry,
    GeographyType: _read_geometry,
}


def _bad(type_: Type, expected: str, json: Any, source: str) -> FormatViolation:
    return FormatViolation(f"Invalid {source}: expected {expected} for {type_}, got {short_repr(json)}.")
