"""Answers of statements that are no queries, as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def rows(spark: Any, schema: str, values: Iterable[Sequence[Any]]) -> Any:
    """A small DataFrame; the schema is a DDL text such as `key string, value string`."""
    return spark.createDataFrame([tuple(v) for v in values], schema)


def nothing(spark: Any) -> Any:
    """The answer of a statement that only does something."""
    return spark.sql("SELECT CAST(NULL AS STRING) AS result LIMIT 0")
