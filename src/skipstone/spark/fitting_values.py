"""Values of a DataFrame as values of a table's column: which types fit, and which only if nothing is lost."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    VariantType,
)
from skipstone.spark.failures import refuse
from skipstone.spark.stored import stored_type

_INTEGERS: Final = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_FLOATS: Final = (T.FloatType, T.DoubleType)
# Of every type, those that hold all values of others.
_WIDER: Final[dict[type[Any], tuple[type[Any], ...]]] = {
    T.IntegerType: (T.ByteType, T.ShortType, T.IntegerType),
    T.LongType: _INTEGERS,
    T.FloatType: (T.ByteType, T.ShortType, T.FloatType),
    T.DoubleType: (T.ByteType, T.ShortType, T.IntegerType, T.FloatType, T.DoubleType),
}
# The first number above all integers of a type.
_BEYOND: Final[dict[type[Any], float]] = {T.IntegerType: 2.0**31, T.LongType: 2.0**63}
_UUID: Final = "^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"


def fit_value(column: Any, given: Any, type_: Type, where: str) -> Any:
    """The column in the Spark type that `type_` is written from."""
    match type_:
        case IntType() | LongType():
            _expect(isinstance(given, _INTEGERS), given, where, "integers")
        case FloatType() | DoubleType():
            _expect(isinstance(given, (*_INTEGERS, *_FLOATS)), given, where, "floating-point numbers")
        case DecimalType():
            _expect(isinstance(given, T.DecimalType), given, where, "decimals")
        case BooleanType():
            _expect(isinstance(given, T.BooleanType), given, where, "booleans")
        case StringType():
            _expect(isinstance(given, T.StringType | T.CharType | T.VarcharType), given, where, "text")
        case DateType():
            _expect(isinstance(given, T.DateType), given, where, "dates")
        case TimestampType() | TimestampNsType():
            _expect_moments(isinstance(given, T.TimestampNTZType), given, where, type_, "without")
        case TimestamptzType() | TimestamptzNsType():
            _expect_moments(isinstance(given, T.TimestampType), given, where, type_, "with")
        case UuidType():
            _expect(isinstance(given, T.StringType | T.BinaryType), given, where, "uuids as text or 16 bytes")
            return _of_length(column, 16, type_, where) if isinstance(given, T.BinaryType) else _uuid(column, where)
        case FixedType(length):
            _expect(isinstance(given, T.BinaryType), given, where, f"{length} bytes")
            return _of_length(column, length, type_, where)
        case VariantType():
            _expect(isinstance(given, T.VariantType), given, where, "variants")
        case TimeType():
            raise Unsupported(
                f"Cannot write column '{where}' from Spark: its type is time, which Spark does not hold. "
                "Write it from Arrow, or leave the column out."
            )
        case UnknownType():
            raise InvalidInput(
                f"Cannot write column '{where}': its type is unknown, expected only nulls, got {shown(given)}."
            )
        case _:
            _expect(isinstance(given, T.BinaryType), given, where, "bytes")
    return _converted(column, given, type_, where)


def _converted(column: Any, given: Any, type_: Type, where: str) -> Any:
    target = stored_type(type_)
    if given == target:
        return column
    if _is_wider(given, target):
        return column.cast(target)
    made = column.try_cast(target)
    message = f"Cannot write column '{where}': expected values that {type_} holds without loss, got {shown(given)}: "
    # Equal after the way back: NaN is, a rounded or cut number is not.
    comes_back = made.cast(given) == column
    if type(given) in _BEYOND and isinstance(target, _FLOATS):
        # The way back cuts what is too large to the greatest integer: rounding up to it does not show.
        comes_back = comes_back & (made < F.lit(_BEYOND[type(given)]))
    is_same = F.coalesce(comes_back, column.isNull())
    return F.when(is_same, made).otherwise(refuse(message, column, ".").cast(target))


def _is_wider(given: Any, target: Any) -> bool:
    if isinstance(target, T.DecimalType):
        has_room = target.precision - target.scale >= given.precision - given.scale
        return bool(has_room and target.scale >= given.scale)
    known = _WIDER.get(type(target))
    return known is None or isinstance(given, known)


def _uuid(column: Any, where: str) -> Any:
    message = f"Cannot write column '{where}': its type is uuid, expected 32 hexadecimal digits in five groups, got "
    bytes_ = F.unhex(F.replace(column, F.lit("-"), F.lit("")))
    return F.when(column.isNull() | column.rlike(_UUID), bytes_).otherwise(refuse(message, column, ".").cast("binary"))


def _of_length(column: Any, length: int, type_: Type, where: str) -> Any:
    message = f"Cannot write column '{where}': its type is {type_}, expected {length} bytes in every row, got "
    fits = column.isNull() | (F.length(column) == length)
    return F.when(fits, column).otherwise(refuse(message, F.length(column), ".").cast("binary"))


def _expect(fits: bool, given: Any, where: str, wanted: str) -> None:
    if not fits:
        raise InvalidInput(
            f"Cannot write column '{where}': expected {wanted}, got {shown(given)}. Cast the column first."
        )


def _expect_moments(fits: bool, given: Any, where: str, type_: Type, zone: str) -> None:
    if isinstance(given, T.TimestampType | T.TimestampNTZType) and not fits:
        raise InvalidInput(
            f"Cannot write column '{where}': its type is {type_}, expected timestamps {zone} a time zone, got "
            f"{shown(given)}. Cast the column first."
        )
    _expect(fits, given, where, "timestamps")


def shown(given: Any) -> str:
    """A Spark type as SQL names it."""
    return str(given.simpleString())
