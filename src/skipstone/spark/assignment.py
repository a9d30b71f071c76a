"""Values assigned to a table's columns by Spark's own rules of store assignment.

What could lose something unseen (text to a number, a timestamp to a number) is refused by type; what fits in principle
is cast, and a value that does not fit makes the job fail. Columns are found by name as the session finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import functions as F

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import Field
from skipstone.spark.copies import with_strict_casts
from skipstone.spark.types import to_spark_type


def assigned(frame: Any, schema: Schema, *, table: str) -> Any:
    """The frame's columns under the names and types of the table's columns."""
    columns = [_column(frame, place, field, table) for place, field in _matched(frame, schema, table)]
    return with_strict_casts(frame, lambda f: f.select(*columns))


def check_assignable(spark: Any, given: Any, field: Field, *, table: str) -> Any:
    """The Spark type of a column, if values of the type given may be stored in it."""
    wanted = to_spark_type(field.type, where=f"column {field.name!r}")
    if given != wanted and not _is_assignable(spark, given, wanted):
        raise InvalidInput(
            f"Cannot write to column {field.name!r} of {table}: expected {wanted.simpleString()}, got "
            f"{given.simpleString()}. Cast the value if that is what you mean."
        )
    return wanted


def _is_assignable(spark: Any, given: Any, wanted: Any) -> bool:
    session = spark._jsparkSession
    source, target = session.parseDataType(given.json()), session.parseDataType(wanted.json())
    return bool(spark._jvm.org.apache.spark.sql.catalyst.expressions.Cast.canANSIStoreAssign(source, target))


def _matched(frame: Any, schema: Schema, table: str) -> Sequence[tuple[int, Field]]:
    sensitive = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
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


def _column(frame: Any, place: int, field: Field, table: str) -> Any:
    given = frame.schema.fields[place].dataType
    wanted = check_assignable(frame.sparkSession, given, field, table=table)
    column = F.col(f"`{frame.columns[place].replace('`', '``')}`")
    return (column if given == wanted else column.cast(wanted)).alias(field.name)
