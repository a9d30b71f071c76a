"""Literals brought into a column's domain without losing precision.

A literal need not be a value of the column's type: `price < 10.005` on decimal(9,2), `id = 3000000000` on int. What
matters is where it lies among the column's values. `fit` finds the greatest column value that is not above it, and
whether that value is the literal itself; binding turns this into an exact predicate.
"""

from __future__ import annotations

import datetime
import math
import struct
import uuid
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, Final, TypeAlias

import numpy as np

from skipstone.errors import InvalidInput, SkipstoneError
from skipstone.metadata import iso
from skipstone.metadata.types import (
    DATE,
    FLOAT,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
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
from skipstone.metadata.values import from_python, value_from_json

DAY_NANOS: Final = 86_400_000_000_000
# Beyond this, neighbouring longs share a double: a comparison through double is no longer exact.
DOUBLE_EXACT_MAX: Final = 2**53
# Decimals of up to this many digits map one to one to doubles.
DOUBLE_DIGITS: Final = 15
_WIDE: Final = Context(prec=200)


@dataclass(frozen=True, slots=True)
class TypedLiteral:
    """A literal that names its own type, such as DATE '2026-11-16'."""

    type: PrimitiveType
    value: Value


@dataclass(frozen=True, slots=True)
class JsonLiteral:
    """A literal of Iceberg's expression JSON: its meaning depends on the column's type."""

    value: Any


@dataclass(frozen=True, slots=True)
class Fit:
    """The greatest value of the type that is not above the literal; exact if it is the literal."""

    value: Value
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Below:
    """The literal lies below every value of the type."""


@dataclass(frozen=True, slots=True)
class Above:
    """The literal lies above every value of the type."""


Place: TypeAlias = Fit | Below | Above


class LiteralMismatch(SkipstoneError):
    """A literal that cannot be compared with the type; binding adds the predicate and the column."""


def fit(type_: PrimitiveType, literal: Any) -> Place:
    """Where a literal lies among the values of a type; raises LiteralMismatch with a hint if it has no place there."""
    if isinstance(literal, JsonLiteral):
        return Fit(_from_json(type_, literal.value))
    if isinstance(literal, np.generic):
        literal = literal.item()
    match type_:
        case BooleanType():
            return Fit(_expect(literal, bool, "a boolean"))
        case IntType():
            return _fit_integer(literal, 32)
        case LongType():
            return _fit_integer(literal, 64)
        case FloatType() | DoubleType():
            return Fit(_to_float(literal))
        case DecimalType():
            return _fit_decimal(type_, literal)
        case DateType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return _fit_instant(type_, literal)
        case TimeType():
            if isinstance(literal, TypedLiteral) and literal.type == type_:
                return Fit(literal.value)
            return Fit(_convert(type_, _expect(literal, (datetime.time, str), "a time")))
        case StringType():
            return Fit(_expect(literal, str, "a string"))
        case UuidType():
            return Fit(_convert(type_, _expect(literal, (uuid.UUID, str), "a UUID")))
        case FixedType() | BinaryType():
            return Fit(bytes(_expect(literal, (bytes, bytearray, memoryview), "bytes")))
        case _:
            raise LiteralMismatch(f"values of type {type_} have no order and no literals. Test it for null instead.")


def _expect(literal: Any, kinds: type | tuple[type, ...], wanted: str) -> Any:
    if not isinstance(literal, kinds) or (isinstance(literal, bool) and kinds is not bool):
        raise LiteralMismatch(f"expected {wanted}, got {_kind(literal)} {_shown(literal)}.")
    return literal


def _kind(literal: Any) -> str:
    return str(literal.type) if isinstance(literal, TypedLiteral) else type(literal).__name__


def _shown(literal: Any) -> str:
    return repr(literal.value) if isinstance(literal, TypedLiteral) else repr(literal)


def _convert(type_: PrimitiveType, literal: Any) -> Value:
    try:
        return from_python(type_, literal)
    except InvalidInput as error:
        raise LiteralMismatch(f"expected a {type_}, got {literal!r} ({error})") from error


def _fit_integer(literal: Any, bits: int) -> Place:
    if isinstance(literal, float):
        if math.isnan(literal):
            raise LiteralMismatch("expected a number, got NaN, which no integer compares with.")
        if math.isinf(literal):
            return Above() if literal > 0 else Below()
        if bits == 64 and abs(literal) >= DOUBLE_EXACT_MAX:
            raise LiteralMismatch(
                f"got the double {literal!r}, at which neighbouring longs are no longer told apart. Pass an integer."
            )
        floor, exact = math.floor(literal), literal == math.floor(literal)
    elif isinstance(literal, Decimal):
        if not literal.is_finite():
            raise LiteralMismatch(f"expected a finite number, got {literal}.")
        floor = int(literal.to_integral_value(ROUND_FLOOR, _WIDE))
        exact = Decimal(floor) == literal
    else:
        floor, exact = _expect(literal, int, "a number"), True
    if floor < -(2 ** (bits - 1)):
        return Below()
    if floor >= 2 ** (bits - 1):
        return Above()
    return Fit(floor, exact)


def _to_float(literal: Any) -> float:
    """The double a literal means. A float column is compared as double too, so nothing is rounded to 32 bits."""
    if isinstance(literal, float):
        return literal
    if isinstance(literal, Decimal):
        return float(literal)
    number = _expect(literal, int, "a number")
    try:
        as_double = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    if int(as_double) != number:
        raise LiteralMismatch(f"got the integer {number}, which no double holds exactly. Pass a float.")
    return as_double


def _fit_decimal(type_: DecimalType, literal: Any) -> Place:
    if isinstance(literal, float):
        if math.isnan(literal):
            raise LiteralMismatch("expected a number, got NaN, which no decimal compares with.")
        if math.isinf(literal):
            return Above() if literal > 0 else Below()
        if type_.precision > DOUBLE_DIGITS:
            raise LiteralMismatch(f"got the double {literal!r}, which {type_} is finer than. Pass a Decimal.")
        literal = Decimal(repr(literal))
    elif not isinstance(literal, Decimal):
        literal = Decimal(_expect(literal, int, "a number"))
    if not literal.is_finite():
        raise LiteralMismatch(f"expected a finite number, got {literal}.")
    largest = Decimal(10) ** type_.precision  # in units of the scale
    if literal.adjusted() > type_.precision + 1:
        return Above() if literal > 0 else Below()
    unscaled = literal.scaleb(type_.scale, _WIDE)
    floor = unscaled.to_integral_value(ROUND_FLOOR, _WIDE)
    if floor <= -largest:
        return Below()
    if floor >= largest:
        return Above()
    return Fit(
        floor.scaleb(-type_.scale, _WIDE).quantize(Decimal(1).scaleb(-type_.scale), context=_WIDE), floor == unscaled
    )


def _fit_instant(type_: PrimitiveType, literal: Any) -> Place:
    """Dates and timestamps compare as points on one line of nanoseconds; times without a zone are read as UTC."""
    nanos = _nanos_of(type_, literal)
    unit = _unit_nanos(type_)
    floor = nanos // unit
    bits = 32 if isinstance(type_, DateType) else 64
    if floor < -(2 ** (bits - 1)):
        return Below()
    if floor >= 2 ** (bits - 1):
        return Above()
    return Fit(floor, nanos % unit == 0)


def _unit_nanos(type_: PrimitiveType) -> int:
    match type_:
        case DateType():
            return DAY_NANOS
        case TimestampType() | TimestamptzType():
            return 1000
        case _:
            return 1


def _nanos_of(type_: PrimitiveType, literal: Any) -> int:
    match literal:
        case TypedLiteral(of, value):
            if isinstance(of, DateType | TimestampType | TimestamptzType | TimestampNsType | TimestamptzNsType):
                return int(value) * _unit_nanos(of)
            raise LiteralMismatch(f"expected a date or timestamp, got {of} {value!r}.")
        case datetime.datetime():
            return _datetime_micros(literal) * 1000
        case datetime.date():
            return int(_convert(DATE, literal)) * DAY_NANOS
        case str():
            return instant_nanos(literal, type_)
        case _:
            raise LiteralMismatch(
                f"expected a date or timestamp, got {_kind(literal)} {_shown(literal)}. "
                "Pass a date, a datetime or ISO text."
            )


def _datetime_micros(moment: datetime.datetime) -> int:
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
    return (zoned - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)


def instant_nanos(text: str, type_: PrimitiveType) -> int:
    """ISO text as nanoseconds since the epoch: a date, or a timestamp with `T` or a space, with or without a zone."""
    stripped = text.strip()
    if (days := iso.parse_date(stripped)) is not None:
        return days * DAY_NANOS
    body, offset = iso.split_offset(stripped)
    nanos = iso.parse_timestamp(body.rstrip(), digits=9, separators="T ")
    east_seconds = 0 if offset is None else iso.offset_seconds(offset)
    if nanos is None or east_seconds is None:
        raise LiteralMismatch(f"expected a {type_}, got {text!r}. Write 2026-11-16 or 2026-11-16 09:30:00.")
    return nanos - east_seconds * 1_000_000_000


def _from_json(type_: PrimitiveType, value: Any) -> Value:
    """Iceberg writes temporal literals as integers or as ISO text, the rest as JSON single values."""
    if isinstance(type_, DateType | TimeType | TimestampType | TimestamptzType | TimestampNsType | TimestamptzNsType):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and not isinstance(type_, DateType | TimeType):
            return instant_nanos(value, type_) // _unit_nanos(type_)
    if isinstance(type_, FloatType | DoubleType) and isinstance(value, int | float) and not isinstance(value, bool):
        return _round_to_float32(float(value)) if type_ == FLOAT else float(value)
    try:
        return value_from_json(type_, value, source="literal")
    except SkipstoneError as error:
        raise LiteralMismatch(f"expected a {type_}, got {value!r} ({error})") from error


def _round_to_float32(value: float) -> float:
    if not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.inf if value > 0 else -math.inf
