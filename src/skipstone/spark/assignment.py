"""Values assigned to a table's columns by Spark's own rules of store assignment.

What could lose something unseen (text to a number, a timestamp to a number) is refused by type; what fits in principle
is cast, and a value that does not fit makes the job fail. Columns are found by name as the session finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import Field
from skipstone.spark.copies import with_strict_casts
from skipstone.spark.named_fields import Fields, in_order, in_order_sql
from skipstone.spark.scan_names import quoted
from skipstone.spark.types import cast_sql, to_spark_type


def assigned(frame: Any, schema: Schema, *, table: str, fields: Fields = Fields.BY_NAME) -> Any:
    """The frame's columns under the names and types of the table's columns."""
    spark, given = frame.sparkSession, frame.schema.fields
    values = [
        (f, assigned_value(spark, quoted(given[i].name), given[i].dataType, f, table=table, fields=fields))
        for i, f in _matched(frame, schema, table)
    ]
    columns = [f"{value} AS {quoted(f.name)}" for f, value in values]
    return with_strict_casts(frame, lambda f: f.selectExpr(*columns))


def assigned_value(
    spark: Any, text: str, given: Any, field: Field, *, table: str, fields: Fields = Fields.BY_NAME
) -> str:
    """An expression of the type given as a value of a column, if it may be stored there."""
    wanted = to_spark_type(field.type, where=f"column {field.name!r}")
    if given == wanted:
        return text
    ordered = in_order(given, wanted, fields, is_sensitive=_is_sensitive(spark), where=f"{table}.{field.name}")
    if not _is_assignable(spark, ordered, wanted):
        raise InvalidInput(
            f"Cannot write to column {field.name!r} of {table}: expected {wanted.simpleString()}, got "
            f"{given.simpleString()}. Cast the value if that is what you mean."
        )
    return cast_sql(in_order_sql(text, given, ordered), given, wanted)


def _is_assignable(spark: Any, given: Any, wanted: Any) -> bool:
    session = spark._jsparkSession
    source, target = session.parseDataType(given.json()), session.parseDataType(wanted.json())
    return bool(spark._jvm.org.apache.spark.sql.catalyst.expressions.Cast.canANSIStoreAssign(source, target))


def _is_sensitive(spark: Any) -> bool:
    return bool(spark.conf.get("spark.sql.caseSensitive") == "true")


def _matched(frame: Any, schema: Schema, table: str) -> Sequence[tuple[int, Field]]:
    sensitive = _is_sensitive(frame.sparkSession)
    found: list[tuple[int, Field]] = []
    for place, name in enumerate(frame.columns):
        field = next((f for f in schema.fields if f.name == name), None)
        if field is None and not sensitive:
            field = next((f for f in schema.fields if f.name.lower() == name.lower()), None)
        if field is None:
            known = what_exists("Columns", name, [f.name for f in schema.fields])
            raise InvalidInput(f"Cannot write to {table}: unknown column {name!r}. {known}")
        found.append((place, field))
    return found
