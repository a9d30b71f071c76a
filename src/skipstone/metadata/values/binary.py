"""Binary single-value serialization: one value of a primitive type as bytes.

Widths are exact on reading; a boolean is true for every non-zero byte; a decimal may be stored with more bytes than
it needs, though never more than any decimal can need. Bounds have rules of their own: see `bounds`.

Spec: "Binary single-value serialization".
"""

from __future__ import annotations

import struct
import uuid
from typing import Final

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.types import (
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
    LongType,
    PrimitiveType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
    Value,
)
from skipstone.metadata.values.checks import (
    DECIMAL_BYTES_MAX,
    check_value,
    encode_utf8,
    unscaled_from_decimal,
)
from skipstone.metadata.values.decimals import from_unscaled, minimal_big_endian
from skipstone.metadata.values.iso import DAY_US

_INT32: Final = struct.Struct("<i")
_INT64: Final = struct.Struct("<q")
_FLOAT32: Final = struct.Struct("<f")
_FLOAT64: Final = struct.Struct("<d")

# The struct of each type that is one number of fixed width.
NUMBERS: Final[dict[type[PrimitiveType], struct.Struct]] = {
    IntType: _INT32,
    DateType: _INT32,
    FloatType: _FLOAT32,
    DoubleType: _FLOAT64,
    LongType: _INT64,
    TimeType: _INT64,
    TimestampType: _INT64,
    TimestamptzType: _INT64,
    TimestampNsType: _INT64,
    TimestamptzNsType: _INT64,
}


def serialize_value(type_: PrimitiveType, value: Value) -> bytes:
    """The bytes of one value."""
    if value is None:
        raise InvalidInput(f"Cannot serialize null as {type_}: the format stores no bytes for null. Leave it out.")
    check_value(type_, value)
    if (number := NUMBERS.get(type(type_))) is not None:
        return number.pack(value)
    match type_:
        case BooleanType():
            return b"\x01" if value else b"\x00"
        case StringType():
            return encode_utf8(value)
        case UuidType():
            uuid_bytes: bytes = value.bytes
            return uuid_bytes
        case DecimalType():
            return minimal_big_endian(unscaled_from_decimal(type_, value))
        case _:
            return bytes(value)


def parse_value(type_: PrimitiveType, data: bytes, *, source: str = "value") -> Value:
    """The value that `data` holds; `source` names the place in messages."""
    if (number := NUMBERS.get(type(type_))) is not None:
        _expect_width(type_, data, number.size, source)
        value = number.unpack(data)[0]
        if isinstance(type_, TimeType):
            check_time(value, source)
        return value
    match type_:
        case BooleanType():
            _expect_width(type_, data, 1, source)
            return data != b"\x00"
        case StringType():
            return parse_utf8(data, source)
        case UuidType():
            _expect_width(type_, data, 16, source)
            return uuid.UUID(bytes=bytes(data))
        case DecimalType():
            return parse_decimal(type_, data, source)
        case FixedType(length=length):
            _expect_width(type_, data, length, source)
            return bytes(data)
        case BinaryType() | GeometryType() | GeographyType():
            return bytes(data)
        case _:
            raise FormatViolation(
                f"Invalid {source}: expected no bytes, because single values of {type_} are not defined, "
                f"got {len(data)} bytes."
            )


def parse_decimal(type_: DecimalType, data: bytes, source: str) -> Value:
    if not 1 <= len(data) <= DECIMAL_BYTES_MAX:
        raise FormatViolation(
            f"Invalid {source}: expected 1 to {DECIMAL_BYTES_MAX} bytes for {type_}, got {len(data)}."
        )
    unscaled = int.from_bytes(data, "big", signed=True)
    if abs(unscaled) >= 10**type_.precision:
        raise FormatViolation(
            f"Invalid {source}: expected at most {type_.precision} digits for {type_}, got unscaled value {unscaled}."
        )
    return from_unscaled(unscaled, type_.scale)


def parse_utf8(data: bytes, source: str) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as e:
        raise FormatViolation(
            f"Invalid {source}: expected UTF-8 for string, got byte 0x{data[e.start]:02x} at offset {e.start}."
        ) from None


def check_time(micros: int, source: str) -> None:
    if not 0 <= micros < DAY_US:
        raise FormatViolation(f"Invalid {source}: expected 0 to {DAY_US - 1} microseconds for time, got {micros}.")


def _expect_width(type_: PrimitiveType, data: bytes, width: int, source: str) -> None:
    if len(data) != width:
        raise FormatViolation(
            f"Invalid {source}: expected {width} byte{'s'[: width != 1]} for {type_}, got {len(data)}."
        )
