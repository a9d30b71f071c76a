"""Answers of statements that are no queries, as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame


def rows(spark: Any, schema: str, values: Iterable[Sequence[Any]]) -> Any:
    """A small DataFrame; the schema is a DDL text such as `key string, value string`."""
    return spark.createDataFrame([tuple(v) for v in values], schema)


def nothing(spark: Any) -> Any:
    """The answer of a statement that only does something: no column and no row, as Spark has it."""
    return DataFrame(spark._jsparkSession.emptyDataFrame(), spark)
