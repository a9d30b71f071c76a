"""Whether a Python value is a value of a primitive type.

These checks guard what is written: nothing leaves the process that could not be read back. A value that does not
belong to its type is the caller's mistake, hence InvalidInput.

Spec: "Primitive Types".
"""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal
from typing import Final

import numpy as np

from skipstone.errors import InvalidInput
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
from skipstone.metadata.values.decimals import unscaled
from skipstone.metadata.values.iso import DAY_US

DECIMAL_BYTES_MAX: Final = 16  # 38 digits fit in 127 bits and a sign


def check_value(type_: PrimitiveType, value: Value) -> None:
    """Refuse a value that does not belong to the type."""
    match type_:
        case BooleanType():
            _expect(type_, value, isinstance(value, bool), "bool")
        case IntType() | DateType():
            _check_int(type_, value, INT_MIN, INT_MAX)
        case LongType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            _check_int(type_, value, LONG_MIN, LONG_MAX)
        case TimeType():
            _check_int(type_, value, 0, DAY_US - 1)
        case FloatType():
            _expect(type_, value, isinstance(value, float), "float")
            to_float32(type_, value)
        case DoubleType():
            _expect(type_, value, isinstance(value, float), "float")
        case DecimalType():
            unscaled_from_decimal(type_, value)
        case StringType():
            _expect(type_, value, isinstance(value, str), "str")
            encode_utf8(value)
        case UuidType():
            _expect(type_, value, isinstance(value, uuid.UUID), "uuid.UUID")
        case FixedType(length=length):
            _expect(type_, value, isinstance(value, bytes) and len(value) == length, f"{length} bytes")
        case BinaryType() | GeometryType() | GeographyType():
            _expect(type_, value, isinstance(value, bytes), "bytes")
        case _:
            raise InvalidInput(f"Invalid value for {type_}: expected null, for it has no single values.")


def to_float32(type_: PrimitiveType, value: float) -> float:
    """The nearest 32-bit float; a finite value never becomes infinite."""
    try:
        nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        raise InvalidInput(f"Invalid value for {type_}: expected a 32-bit float, got {value!r}.") from None
    return nearest


def float32_text(value: float) -> str:
    """The shortest text that reads back as this 32-bit float."""
    return str(np.float32(value))


def encode_utf8(text: str) -> bytes:
    """UTF-8 bytes of text that has no half of a surrogate pair in it."""
    try:
        return text.encode()
    except UnicodeEncodeError as e:
        raise InvalidInput(
            f"Invalid value for string: expected Unicode text, got a lone surrogate at character {e.start}."
        ) from None


def unscaled_from_decimal(type_: DecimalType, value: Value) -> int:
    """The unscaled integer of a decimal that fits the type without loss."""
    _expect(type_, value, isinstance(value, Decimal) and value.is_finite(), "a finite Decimal")
    # Checked before the fraction, so that a huge number is not blamed on its digits after the point.
    if value and value.adjusted() >= type_.precision - type_.scale:
        raise _does_not_fit(type_, value)
    try:
        return unscaled(value, type_.scale)
    except InvalidInput:
        raise _does_not_fit(type_, value) from None


def _does_not_fit(type_: DecimalType, value: Decimal) -> InvalidInput:
    return InvalidInput(
        f"Invalid value for {type_}: expected at most {type_.precision - type_.scale} digits before and "
        f"{type_.scale} after the point, got {value}."
    )


def _check_int(type_: PrimitiveType, value: Value, lowest: int, highest: int) -> None:
    _expect(type_, value, isinstance(value, int) and not isinstance(value, bool), "int")
    if not lowest <= value <= highest:
        raise InvalidInput(f"Invalid value for {type_}: expected {lowest} to {highest}, got {value}.")


def _expect(type_: PrimitiveType, value: Value, holds: bool, expected: str) -> None:
    if not holds:
        raise InvalidInput(f"Invalid value for {type_}: expected {expected}, got {short_repr(value)}.")


def short_repr(value: object, *, length_max: int = 80) -> str:
    """A value for a message: its repr, cut, and its Python type."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of thousands of digits, a value nested without end
        text = "a value too large to show"
    if len(text) > length_max:
        text = text[: length_max - 1] + "…"
    return f"{text} ({type(value).__name__})"
