"""What a Spark DataFrame's columns are in the table format's types.

Spec: "Schemas and Data Types".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, Final

from skipstone.metadata.schema import Schema
from skipstone.metadata.types import ListType, MapType, StructType
from skipstone.spark.copies import in_copy
from skipstone.spark.session import NEEDED, UTC, is_remote, prepared, temporarily
from skipstone.spark.types import from_spark_struct

# How rows of a table are written: dates and moments in the calendar of the format, values as it stores them. What else
# a session says (its time zone above all) is left alone: functions of the user's run in it.
_RUNNING: Final = {
    **NEEDED,
    "spark.sql.caseSensitive": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
# How frames of ours are built: moments are not moved, arithmetic wraps, names are taken to the letter.
_BUILDING: Final = {**_RUNNING, "spark.sql.session.timeZone": UTC, "spark.sql.ansi.enabled": "false"}


def schema_of_frame(frame: Any, *, format_version: int) -> Schema:
    """The columns as a schema; new ids. All are optional: what Spark says about nulls is about these rows only."""
    ids = count(1)
    struct = from_spark_struct(frame.schema, lambda: next(ids))
    schema = Schema(fields=optional(struct).fields)
    schema.check_format_version(format_version)
    return schema


@contextmanager
def apart(frame: Any, settings: dict[str, str]) -> Iterator[Any]:
    """The frame in a session of its own, with settings that no other work sees.

    A copy of the user's session shares everything with it but its settings. Spark Connect has no such copy: there the
    settings hold for the session while the work lasts.
    """
    spark = prepared(frame.sparkSession)
    wanted = {**_BUILDING, **settings}
    if is_remote(spark):
        with temporarily(spark, wanted):
            yield frame
        return
    yield in_copy(spark, frame, wanted)


def as_its_user_runs(built: Any, frame: Any) -> Any:
    """A frame that was built apart from `frame`, as it is run: with the settings of the session that `frame` is from.

    What we added is bound to UTC by then; a Python function below it sees the time zone that it was written for.
    """
    spark = frame.sparkSession
    return built if is_remote(spark) else in_copy(spark, built, _RUNNING)


def optional(type_: Any) -> Any:
    """The type with nothing required in it."""
    match type_:
        case StructType(fields):
            return StructType(tuple(replace(f, type=optional(f.type), required=False) for f in fields))
        case ListType():
            return replace(type_, element=optional(type_.element), element_required=False)
        case MapType():
            return replace(type_, value=optional(type_.value), value_required=False)
        case _:
            return type_
