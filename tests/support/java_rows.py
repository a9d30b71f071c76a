"""Rows that Spark reads, in the form in which the tests compare them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def query(spark: SparkSession, sql: str) -> list[dict[str, Any]]:
    """The rows of a query: instants in UTC whatever this machine's zone, maps as pairs."""
    from pyspark.sql.functions import unix_micros  # late: most runs need no Spark

    frame = spark.sql(sql)
    kinds = {f.name: f.dataType.typeName() for f in frame.schema}
    for name in (n for n, kind in kinds.items() if kind == "timestamp"):
        frame = frame.withColumn(name, unix_micros(name))
    found = [row.asDict(recursive=True) for row in frame.collect()]
    for row in found:
        for name, kind in kinds.items():
            if kind == "timestamp" and row[name] is not None:
                row[name] = _EPOCH + dt.timedelta(microseconds=row[name])
            elif kind == "map" and row[name] is not None:
                row[name] = list(row[name].items())
    return found
