"""Partition transforms as Spark expressions, and the directory each partition's rows go to.

Laws: two rows have equal keys exactly when the kernel gives them equal partition values, bit by bit; keys order rows
as the transform's results do. The values that a manifest stores come from the kernel, never from here.

Everything is an expression that Spark compiles, but for decimals beyond 18 digits: those go through the kernel in an
Arrow function.

Spec: "Partition Transforms", "Bucket Transform Details", "Truncate Transform Details".
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.errors import Unsupported
from skipstone.metadata.partitions.hashing import hash_array
from skipstone.metadata.partitions.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.types import (
    BinaryType,
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
    Type,
    UuidType,
)
from skipstone.spark.murmur import add_hash_of_bytes, hash_of_long, hash_of_words
from skipstone.spark.scan_names import quoted

LONG_DIGITS_MAX: Final = 18
_MICROS_PER_HOUR: Final = 3_600_000_000
_MICROS_PER_DAY: Final = 24 * _MICROS_PER_HOUR
_INT_MAX: Final = 2**31 - 1
_MOMENTS: Final = (TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
# Names of directories may have 255 bytes; a value longer than this many characters is told by its digest.
_TEXT_LENGTH_MAX: Final = 48
_ESCAPE: Final = "~"
_SPARKS_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def add_key(frame: Any, transform: Transform, type_: Type, source: Any, name: str) -> Any:
    """The frame with the transform's results for a source column as column `name`."""
    match transform:
        case IdentityTransform():
            return frame.withColumn(name, source)
        case BucketTransform(buckets):
            frame = _add_hash(frame, type_, source, name)
            return frame.withColumn(name, F.col(quoted(name)).bitwiseAND(F.lit(_INT_MAX)) % F.lit(buckets))
        case TruncateTransform(width):
            return frame.withColumn(name, _truncated(type_, source, width))
        case YearTransform():
            return frame.withColumn(name, F.year(_day(type_, source)))
        case MonthTransform():
            frame = frame.withColumn(name, _day(type_, source))
            day = F.col(quoted(name))
            # Reads as 202611, and orders as months do.
            return frame.withColumn(name, F.year(day).cast("bigint") * F.lit(100) + F.month(day))
        case DayTransform():
            return frame.withColumn(name, _day(type_, source))
        case HourTransform():
            return frame.withColumn(name, _floor_divided(micros(source), _MICROS_PER_HOUR))
    raise Unsupported(f"Cannot write with transform {transform}: Spark does not know it here.")


def directory_key(frame: Any, type_: Type, name: str) -> Any:
    """The frame with a key as text or number that names one directory for each value, and null for null."""
    key = F.col(quoted(name))
    if isinstance(type_, FloatType | DoubleType):
        return frame.withColumn(name, key.cast("string"))
    if isinstance(type_, _MOMENTS):
        return frame.withColumn(name, micros(key))
    if isinstance(type_, BinaryType | FixedType | UuidType):
        return frame.withColumn(name, _as_name(F.hex(key)))
    if isinstance(type_, StringType):
        return frame.withColumn(name, _as_name(key))
    return frame


def micros(source: Any) -> Any:
    """Microseconds since 1970; frames are built in UTC, so a time without a zone is not moved."""
    return F.unix_micros(source.cast(T.TimestampType()))


def _as_name(text: Any) -> Any:
    """Text that Spark takes for no null (as it does the empty one), and that fits a directory's name."""
    marked = F.lit(_ESCAPE)
    digest = F.concat(marked, F.substring(text, 1, _TEXT_LENGTH_MAX // 2), marked, F.sha2(text.cast("binary"), 256))
    return (
        F.when(text == "", marked)
        .when(F.length(text) > _TEXT_LENGTH_MAX, digest)
        .when(text.startswith(_ESCAPE) | (text == _SPARKS_NULL), F.concat(marked, marked, text))
        .otherwise(text)
    )


def _day(type_: Type, source: Any) -> Any:
    if isinstance(type_, DateType):
        return source
    return F.date_from_unix_date(_floor_divided(micros(source), _MICROS_PER_DAY).cast("int"))


def _floor_divided(number: Any, by: int) -> Any:
    # Spark rounds towards zero; nothing here may overflow near the smallest long.
    down = F.when(number % F.lit(by) < 0, F.lit(1)).otherwise(F.lit(0))
    return F.call_function("div", number, F.lit(by)) - down


def _truncated(type_: Type, source: Any, width: int) -> Any:
    match type_:
        case IntType() | LongType():
            return _floored(source.cast("bigint"), width)
        case DecimalType(precision, _) if precision <= LONG_DIGITS_MAX:
            return _floored(_unscaled(type_, source), width)
        case DecimalType():
            return _by_kernel(TruncateTransform(width), type_, source, f"decimal({type_.precision}, {type_.scale})")
        case _:
            return F.substring(source, 1, min(width, _INT_MAX))


def _floored(number: Any, width: int) -> Any:
    return number - F.pmod(number, F.lit(width).cast("bigint"))


def _unscaled(type_: DecimalType, source: Any) -> Any:
    return (source * F.lit(10**type_.scale).cast(f"decimal({type_.scale + 1}, 0)")).cast("bigint")


def _add_hash(frame: Any, type_: Type, source: Any, name: str) -> Any:
    match type_:
        case IntType() | LongType():
            return frame.withColumn(name, _or_null(source, hash_of_long(source.cast("bigint"))))
        case DateType():
            return frame.withColumn(name, _or_null(source, hash_of_long(F.unix_date(source).cast("bigint"))))
        case TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return frame.withColumn(name, _or_null(source, hash_of_long(micros(source))))
        case UuidType():
            return frame.withColumn(name, _or_null(source, hash_of_words(source)))
        case DecimalType(precision, _) if precision <= LONG_DIGITS_MAX:
            return _add_hash_of_decimal(frame, type_, source, name)
        case DecimalType():
            return frame.withColumn(name, _hash_by_kernel(type_, source))
        case _:
            return add_hash_of_bytes(frame, source.cast("binary"), name)


def _or_null(source: Any, hashed: Any) -> Any:
    # Spark leaves the seed as it is for null.
    return F.when(source.isNotNull(), hashed)


def _add_hash_of_decimal(frame: Any, type_: DecimalType, source: Any, name: str) -> Any:
    """The hash of the unscaled value in as few bytes as hold it, the highest first."""
    number = f"{name}.unscaled"
    frame = frame.withColumn(number, _unscaled(type_, source))
    value = F.col(quoted(number))
    size = F.when(value < 0, value.bitwiseXOR(F.lit(-1))).otherwise(value)
    width = F.lit(1)
    for k in range(1, 8):
        width = width + F.when(size >= F.lit(1 << (8 * k - 1)), F.lit(1)).otherwise(F.lit(0))
    data = F.substr(value.cast("binary"), F.lit(9) - width, width)
    return add_hash_of_bytes(frame, data, name).drop(number)


def _by_kernel(transform: Transform, type_: Type, source: Any, result: str) -> Any:
    def apply(values: pa.Array) -> pa.Array:  # type: ignore[type-arg]
        return apply_arrow(transform, type_, values)  # type: ignore[return-value]

    return _arrow_function(apply, result)(source)


def _hash_by_kernel(type_: Type, source: Any) -> Any:
    def apply(values: pa.Array) -> pa.Array:  # type: ignore[type-arg]
        return hash_array(type_, values)

    return _arrow_function(apply, "int")(source)


def _arrow_function(function: Any, result: str) -> Any:
    functions: Any = F
    return functions.arrow_udf(function, result)
