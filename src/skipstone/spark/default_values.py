"""Single values of the table format as Spark columns of the types that tables are written from.

Frames that use them are built in UTC, so no moment is moved.

Spec: "Default values".
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from skipstone.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    Type,
    UuidType,
    Value,
)
from skipstone.spark.stored import stored_type


def constant(type_: Type, value: Value) -> Any:
    """A column that holds the value in every row, in the type a column of this type is written from."""
    return (F.lit(None) if value is None else _present(type_, value)).cast(stored_type(type_))


def _present(type_: Type, value: Value) -> Any:
    match type_:
        case DateType():
            return F.date_from_unix_date(F.lit(value))
        case TimestampType() | TimestamptzType():
            return F.timestamp_micros(F.lit(value).cast("bigint"))
        case TimestampNsType() | TimestamptzNsType():
            return F.timestamp_micros(F.lit(value // 1000).cast("bigint"))
        case DecimalType():
            return F.lit(str(value))
        case UuidType():
            return F.lit(bytearray(value.bytes))
        case FixedType() | BinaryType() | GeometryType() | GeographyType():
            return F.lit(bytearray(value))
        case StructType(fields):
            return F.struct(*[constant(f.type, value.get(f.id)).alias(f.name) for f in fields])
        case ListType():
            return F.array(*[constant(type_.element, v) for v in value])
        case MapType():
            return F.create_map(*[c for k, v in value for c in (constant(type_.key, k), constant(type_.value, v))])
        case _:
            return F.lit(value)
