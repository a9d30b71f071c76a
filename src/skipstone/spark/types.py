"""The table format's types as Spark's, and Spark's as the format's.

Spark 4.1 has its type for the time of day switched off, and none for nanoseconds: such columns are refused by name,
never cut. A uuid is text and a fixed is binary, as in Iceberg's own runtime; a geometry or geography is its WKB bytes.

Spec: "Schemas and Data Types".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import types as T

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
)

FIELD_ID_KEY: Final = "parquet.field.id"

_TO_SPARK: Final[dict[Type, Any]] = {
    UNKNOWN: T.NullType(),
    BOOLEAN: T.BooleanType(),
    INT: T.IntegerType(),
    LONG: T.LongType(),
    FLOAT: T.FloatType(),
    DOUBLE: T.DoubleType(),
    DATE: T.DateType(),
    TIMESTAMP: T.TimestampNTZType(),
    TIMESTAMPTZ: T.TimestampType(),
    STRING: T.StringType(),
    UUID: T.StringType(),
    BINARY: T.BinaryType(),
    VARIANT: T.VariantType(),
}

_FROM_SPARK: Final[dict[type[Any], Type]] = {
    T.NullType: UNKNOWN,
    T.BooleanType: BOOLEAN,
    T.ByteType: INT,
    T.ShortType: INT,
    T.IntegerType: INT,
    T.LongType: LONG,
    T.FloatType: FLOAT,
    T.DoubleType: DOUBLE,
    T.DateType: DATE,
    T.TimestampNTZType: TIMESTAMP,
    T.TimestampType: TIMESTAMPTZ,
    T.StringType: STRING,
    T.CharType: STRING,
    T.VarcharType: STRING,
    T.BinaryType: BINARY,
    T.VariantType: VARIANT,
}


def to_spark_type(type_: Type, *, where: str = "a column") -> Any:
    """The Spark type that shows values of a type; `where` names the column in the error."""
    match type_:
        case DecimalType(precision, scale):
            return T.DecimalType(precision, scale)
        case FixedType() | GeometryType() | GeographyType():
            return T.BinaryType()
        case StructType():
            return to_spark_struct(type_, where=where)
        case ListType():
            element = to_spark_type(type_.element, where=f"{where}.element")
            return T.ArrayType(element, not type_.element_required)
        case MapType():
            key = to_spark_type(type_.key, where=f"{where}.key")
            return T.MapType(key, to_spark_type(type_.value, where=f"{where}.value"), not type_.value_required)
    found = _TO_SPARK.get(type_)
    if found is None:
        raise Unsupported(
            f"Cannot show {where} in Spark: it has type {type_}, and Spark has none for it. "
            "Leave the column out with scan(columns=[...]), or read with to_arrow()."
        )
    return found


def to_spark_struct(
    struct: StructType, *, field_ids: bool = False, all_optional: bool = False, where: str | None = None
) -> T.StructType:
    """A struct's fields in Spark, with their field ids in the metadata Spark's Parquet reads and writes them from."""
    return T.StructType(
        [
            T.StructField(
                f.name,
                _nested(f.type, field_ids, all_optional, f"{where}.{f.name}" if where else f"column {f.name!r}"),
                all_optional or f.optional,
                _metadata(f, field_ids),
            )
            for f in struct.fields
        ]
    )


def _nested(type_: Type, field_ids: bool, all_optional: bool, where: str) -> Any:
    match type_:
        case StructType():
            return to_spark_struct(type_, field_ids=field_ids, all_optional=all_optional, where=where)
        case ListType():
            element = _nested(type_.element, field_ids, all_optional, f"{where}.element")
            return T.ArrayType(element, all_optional or not type_.element_required)
        case MapType():
            key = _nested(type_.key, field_ids, all_optional, f"{where}.key")
            value = _nested(type_.value, field_ids, all_optional, f"{where}.value")
            return T.MapType(key, value, all_optional or not type_.value_required)
        case _:
            return to_spark_type(type_, where=where)


def _metadata(field: Field, field_ids: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {} if field.doc is None else {"comment": field.doc}
    return {**metadata, FIELD_ID_KEY: field.id} if field_ids else metadata


def from_spark_type(spark_type: Any, next_id: Callable[[], int], *, where: str = "a column") -> Type:
    """The format's type for a Spark type; ids of everything below it are drawn from `next_id`, parents first."""
    if isinstance(spark_type, T.StructType):
        return from_spark_struct(spark_type, next_id, where=where)
    if isinstance(spark_type, T.ArrayType):
        element_id = next_id()
        element = from_spark_type(spark_type.elementType, next_id, where=f"{where}.element")
        return ListType(element_id=element_id, element=element, element_required=not spark_type.containsNull)
    if isinstance(spark_type, T.MapType):
        key_id, value_id = next_id(), next_id()
        return MapType(
            key_id=key_id,
            key=from_spark_type(spark_type.keyType, next_id, where=f"{where}.key"),
            value_id=value_id,
            value=from_spark_type(spark_type.valueType, next_id, where=f"{where}.value"),
            value_required=not spark_type.valueContainsNull,
        )
    if isinstance(spark_type, T.DecimalType):
        return DecimalType(spark_type.precision, spark_type.scale)
    found = _FROM_SPARK.get(type(spark_type))
    if found is None:
        raise InvalidInput(
            f"Cannot store {where}: expected a type that the table format has, got Spark's {_shown(spark_type)}. "
            "Cast the column, to string or bigint for example."
        )
    return found


def from_spark_struct(struct: T.StructType, next_id: Callable[[], int], *, where: str | None = None) -> StructType:
    """A struct's fields; all ids of one level come before those below it, as new tables number them."""
    ids = [next_id() for _ in struct.fields]
    return StructType(
        tuple(
            Field(
                id=field_id,
                name=f.name,
                type=from_spark_type(f.dataType, next_id, where=f"{where}.{f.name}" if where else f"column {f.name!r}"),
                required=not f.nullable,
                doc=f.metadata.get("comment"),
            )
            for field_id, f in zip(ids, struct.fields, strict=True)
        )
    )


def _shown(spark_type: Any) -> str:
    return str(spark_type.simpleString()) if isinstance(spark_type, T.DataType) else repr(spark_type)


def sql_type(spark_type: Any) -> str:
    """A Spark type as SQL writes it, whatever the names inside."""
    if isinstance(spark_type, T.StructType):
        return f"struct<{', '.join(f'{_quoted(f.name)}: {sql_type(f.dataType)}' for f in spark_type.fields)}>"
    if isinstance(spark_type, T.ArrayType):
        return f"array<{sql_type(spark_type.elementType)}>"
    if isinstance(spark_type, T.MapType):
        return f"map<{sql_type(spark_type.keyType)}, {sql_type(spark_type.valueType)}>"
    return str(spark_type.simpleString())


def cast_sql(text: str, given: Any, wanted: Any) -> str:
    """An expression of one type as another."""
    return text if given == wanted else f"CAST({text} AS {sql_type(wanted)})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
