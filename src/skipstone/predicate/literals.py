"""Literals brought into a column's domain without losing precision.

A literal need not be a value of the column's type: `price < 10.005` on decimal(9,2), `id = 3000000000` on int. What
matters is where it lies among the column's values. `fit` finds the greatest column value that is not above it, and
whether that value is the literal itself; binding turns this into an exact predicate.
"""

from __future__ import annotations

import datetime
import math
import struct
import sys
import uuid
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

import numpy as np

from skipstone.errors import InvalidInput, SkipstoneError
from skipstone.metadata.types import (
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
from skipstone.metadata.values import display, from_python, iso, value_from_json

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

    def __str__(self) -> str:
        return f"{self.type} '{display(self.type, self.value)}'"


@dataclass(frozen=True, slots=True)
class JsonLiteral:
    """A literal of Iceberg's expression JSON: its meaning depends on the column's type."""

    value: Any

    def __str__(self) -> str:
        return repr(self.value)


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
        return _fit_json(type_, literal.value)
    if isinstance(literal, np.generic):
        literal = literal.item()
    match type_:
        case BooleanType():
            return Fit(_expect(literal, bool, "Pass true or false."))
        case IntType():
            return _fit_integer(literal, 32)
        case LongType():
            return _fit_integer(literal, 64)
        case FloatType() | DoubleType():
            return _fit_double(literal)
        case DecimalType():
            return _fit_decimal(type_, literal)
        case DateType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return _fit_instant(type_, literal)
        case TimeType():
            if isinstance(literal, TypedLiteral) and literal.type == type_:
                return Fit(literal.value)
            return Fit(_convert(type_, literal, (datetime.time, str), "Pass a time such as '09:30:00'."))
        case StringType():
            return Fit(_text(literal))
        case UuidType():
            hint = "Pass a UUID such as 'f79c3e09-677c-4bbd-a479-3f349cb785e7'."
            return Fit(_convert(type_, literal, (uuid.UUID, str), hint))
        case FixedType() | BinaryType():
            return Fit(bytes(_expect(literal, (bytes, bytearray, memoryview), "Pass bytes, in SQL X'0AFF'.")))
        case _:
            raise LiteralMismatch(
                "whose values have no order and no literals. Test it, or a field inside it, for null."
            )


def _expect(literal: Any, kinds: type | tuple[type, ...], hint: str) -> Any:
    if not isinstance(literal, kinds) or (isinstance(literal, bool) and kinds is not bool):
        raise mismatch(literal, hint)
    return literal


def mismatch(literal: Any, hint: str) -> LiteralMismatch:
    return LiteralMismatch(f"got {kind_of(literal)}. {hint}")


def kind_of(literal: Any) -> str:
    """What a literal is, in the words of the format's types."""
    if isinstance(literal, TypedLiteral):
        return str(literal.type)
    names = {bool: "boolean", int: "integer", float: "double", Decimal: "decimal", str: "string", bytes: "binary"}
    return names.get(type(literal), type(literal).__name__)


def _text(literal: Any) -> str:
    text: str = _expect(literal, str, f"Pass {str(literal)!r} in quotes.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise LiteralMismatch(
            f"got {text!r}, which has half of a surrogate pair. Pass text that UTF-8 can hold."
        ) from None
    return text


def _convert(type_: PrimitiveType, literal: Any, kinds: tuple[type, ...], hint: str) -> Value:
    try:
        return from_python(type_, _expect(literal, kinds, hint))
    except InvalidInput:
        raise LiteralMismatch(f"got {literal!r}. {hint}") from None


_NUMBER_HINT: Final = "Pass a number."


def _fit_integer(literal: Any, bits: int) -> Place:
    if isinstance(literal, float):
        if math.isnan(literal):
            raise LiteralMismatch("got NaN, which no integer compares with. Pass a number.")
        if math.isinf(literal):
            return Above() if literal > 0 else Below()
        if bits == 64 and abs(literal) >= DOUBLE_EXACT_MAX:
            raise LiteralMismatch(
                f"got the double {literal!r}, at which neighbouring longs are no longer told apart. Pass an integer."
            )
        floor, exact = math.floor(literal), literal == math.floor(literal)
    elif isinstance(literal, Decimal):
        if (place := _far_outside(literal, 20)) is not None:
            return place
        floor, exact = _floor(literal, 0)
    else:
        floor, exact = _expect(literal, int, _NUMBER_HINT), True
    if floor < -(2 ** (bits - 1)):
        return Below()
    if floor >= 2 ** (bits - 1):
        return Above()
    return Fit(floor, exact)


def _fit_double(literal: Any) -> Place:
    """The double a literal means. A float column is compared as double too, so nothing is rounded to 32 bits.

    A decimal means the double nearest to it, as everywhere in SQL: `x = 0.1` finds the double 0.1.
    """
    if isinstance(literal, float):
        return Fit(literal)
    if isinstance(literal, Decimal):
        if not literal.is_finite():
            return Fit(float(literal))
        as_double = float(literal)
    else:
        number = _expect(literal, int, _NUMBER_HINT)
        try:
            as_double = float(number)
        except OverflowError:
            as_double = math.inf if number > 0 else -math.inf
        if math.isfinite(as_double) and int(as_double) != number:
            raise LiteralMismatch(f"got the integer {number}, which no double holds exactly. Pass a float.")
    if math.isinf(as_double):
        # Between the largest double and infinity.
        return Fit(sys.float_info.max if as_double > 0 else -math.inf, exact=False)
    return Fit(as_double)


def _fit_decimal(type_: DecimalType, literal: Any) -> Place:
    if isinstance(literal, float):
        if math.isnan(literal):
            raise LiteralMismatch("got NaN, which no decimal compares with. Pass a number.")
        if math.isinf(literal):
            return Above() if literal > 0 else Below()
        if type_.precision > DOUBLE_DIGITS:
            raise LiteralMismatch(
                f"got the double {literal!r}, which is coarser. Pass Decimal({str(Decimal(repr(literal)))!r})."
            )
        literal = Decimal(repr(literal))
    elif not isinstance(literal, Decimal):
        literal = Decimal(_expect(literal, int, "Pass a number such as Decimal('10')."))
    if (place := _far_outside(literal, type_.precision + 1)) is not None:
        return place
    floor, exact = _floor(literal, type_.scale)
    if floor <= -(10**type_.precision):
        return Below()
    if floor >= 10**type_.precision:
        return Above()
    return Fit(Decimal(floor).scaleb(-type_.scale, _WIDE), exact)


def _far_outside(number: Decimal, digits: int) -> Place | None:
    """Above or Below if a number has more digits before the point than any value, else None."""
    if not number.is_finite():
        raise LiteralMismatch(f"got {number}. Pass a finite number.")
    if not number or number.adjusted() <= digits:
        return None
    return Above() if number > 0 else Below()


def _floor(number: Decimal, scale: int) -> tuple[int, bool]:
    """The number in units of 10**-scale, rounded down, and whether nothing was lost. Exact at any length."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int(Decimal((sign, digits, 0)))
    shift = exponent + scale
    if shift >= 0:
        return unscaled * 10**shift, True
    if -shift > len(digits):
        return (-1 if unscaled < 0 else 0), unscaled == 0
    floor, rest = divmod(unscaled, 10**-shift)
    return floor, rest == 0


def _fit_instant(type_: PrimitiveType, literal: Any) -> Place:
    """Dates and timestamps compare as points on one line of nanoseconds; times without a zone are read as UTC."""
    nanos = nanos_of(literal)
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


def nanos_of(literal: Any) -> int:
    """The moment a date or timestamp literal names, in nanoseconds since the epoch."""
    match literal:
        case TypedLiteral(of, value):
            if isinstance(of, DateType | TimestampType | TimestamptzType | TimestampNsType | TimestamptzNsType):
                return int(value) * _unit_nanos(of)
            raise mismatch(literal, _INSTANT_HINT)
        case datetime.datetime():
            return _datetime_micros(literal) * 1000
        case datetime.date():
            return (literal - datetime.date(1970, 1, 1)).days * DAY_NANOS
        case str():
            return instant_nanos(literal)
        case _:
            raise mismatch(literal, _INSTANT_HINT)


def _datetime_micros(moment: datetime.datetime) -> int:
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
    return (zoned - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)


_INSTANT_HINT: Final = "Pass a date, a datetime or text such as '2026-11-16' or '2026-11-16 09:30:00'."


def instant_nanos(text: str) -> int:
    """ISO text as nanoseconds since the epoch: a date, or a timestamp with `T` or a space, with or without a zone."""
    stripped = text.strip()
    if (days := iso.parse_date(stripped)) is not None:
        return days * DAY_NANOS
    body, offset = iso.split_offset(stripped)
    nanos = iso.parse_timestamp(body.rstrip(), digits=9, separators="T ")
    east_seconds = 0 if offset is None else iso.offset_seconds(offset)
    if nanos is None or east_seconds is None:
        raise LiteralMismatch(f"got {text!r}. {_INSTANT_HINT}")
    return nanos - east_seconds * 1_000_000_000


def _fit_json(type_: PrimitiveType, value: Any) -> Place:
    """Iceberg writes temporal literals as integers or as ISO text, the rest as JSON single values."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case DateType() | TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            if is_number:
                return _fit_integer(value, 32 if isinstance(type_, DateType) else 64)
            return fit(type_, value)
        case IntType() | LongType() if is_number:
            return fit(type_, value)
        case DecimalType() if is_number or isinstance(value, str):
            return _fit_decimal(type_, _json_decimal(value))
        case FloatType() if isinstance(value, float):
            # Written from a float with as many digits as tell it from its neighbours.
            return Fit(_round_to_float32(value))
        case FloatType() | DoubleType() if is_number:
            return _fit_double(value)
        case FloatType() | DoubleType() if value in ("NaN", "Infinity", "-Infinity"):
            return Fit(float(value))
        case StringType():
            return fit(type_, value)
    try:
        return Fit(value_from_json(type_, value, source="literal"))
    except SkipstoneError as error:
        raise LiteralMismatch(f"got {value!r} ({error})") from error


def _json_decimal(value: Any) -> Decimal:
    try:
        return Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        raise LiteralMismatch(f"got {value!r}. Pass digits such as '10.00'.") from None


def _round_to_float32(value: float) -> float:
    """The float nearest to a number; the number itself where it is larger than all floats but infinity."""
    if not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return value
