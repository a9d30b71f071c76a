"""The Spark types that columns are written from, and which of them Spark's Parquet writer stores as the format asks.

Spec: "Appendix A: Format-specific Requirements", Parquet.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import types as T

from skipstone.metadata.types import (
    TIME,
    TIMESTAMP_NS,
    TIMESTAMPTZ_NS,
    UUID,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
    UnknownType,
    VariantType,
    walk,
)
from skipstone.spark.types import FIELD_ID_KEY, to_spark_type

# A uuid as its bytes; nanoseconds from the microseconds that Spark has.
_STORED: Final[dict[Type, Any]] = {
    UUID: T.BinaryType(),
    TIMESTAMP_NS: T.TimestampNTZType(),
    TIMESTAMPTZ_NS: T.TimestampType(),
    TIME: T.TimeType(),
}
_NOT_NATIVE: Final = (FixedType, GeometryType, GeographyType, VariantType, UnknownType)


def stored_type(type_: Type) -> Any:
    """The Spark type a column is written from, with field ids on struct fields and everything optional."""
    match type_:
        case StructType(fields):
            return T.StructType(
                [T.StructField(f.name, stored_type(f.type), True, {FIELD_ID_KEY: f.id}) for f in fields]
            )
        case ListType():
            return T.ArrayType(stored_type(type_.element), True)
        case MapType():
            return T.MapType(stored_type(type_.key), stored_type(type_.value), True)
        case _:
            return _STORED.get(type_) or to_spark_type(type_)


def is_native(struct: StructType) -> bool:
    """Whether Spark's Parquet writer stores every column as the format asks."""
    return not any(isinstance(f.type, _NOT_NATIVE) or f.type in _STORED for f in walk(struct))


def has_lists_or_maps(struct: StructType) -> bool:
    """Whether there is something that Spark gives no field id to."""
    return any(isinstance(f.type, ListType | MapType) for f in walk(struct))
