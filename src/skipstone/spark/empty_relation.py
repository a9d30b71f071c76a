"""Relations of a table's schema without any file: what a query is planned over before files are chosen.

A directory with an empty file log is read with the schema given, so Spark neither lists nor opens anything. Relations
are kept for the next query, because making one costs more than planning over it.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame

from skipstone.spark.java import java_class, java_type
from skipstone.spark.session import is_remote

LOG_DIRECTORY: Final = "_spark_metadata"
_KEPT_MAX: Final = 256
_KEPT: Final[dict[tuple[str, str, int], tuple[Any, str]]] = {}


def empty_relations(spark: Any, schemas: Sequence[Any]) -> list[tuple[Any, str]]:
    """For each schema, a DataFrame over no files and the directory that it says it reads. No two share a directory."""
    session = str(spark._jsparkSession.sessionUUID())
    return [_kept(spark, session, schema, place) for place, schema in enumerate(schemas)]


def no_rows(spark: Any, schema: Any) -> DataFrame:
    """A DataFrame of a schema without any row. PySpark's own sends forty messages for it, and Spark runs a job."""
    if is_remote(spark):
        frame: DataFrame = spark.createDataFrame([], schema)
        return frame
    none = java_class(spark._jvm, "java.util.ArrayList")()
    return DataFrame(spark._jsparkSession.createDataFrame(none, java_type(spark, schema)), spark)


def _kept(spark: Any, session: str, schema: Any, place: int) -> tuple[Any, str]:
    key = (session, schema.json(), place)
    found = _KEPT.get(key)
    if found is None:
        if len(_KEPT) >= _KEPT_MAX:
            _KEPT.clear()  # other threads have what they found
        found = _KEPT[key] = _made(spark, schema)
    return found


def _made(spark: Any, schema: Any) -> tuple[Any, str]:
    root = Path(tempfile.mkdtemp(dir=_home()))
    (root / LOG_DIRECTORY).mkdir()
    (root / LOG_DIRECTORY / "0").write_text("v1")
    uri = root.as_uri()
    frame = spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(uri)
    relation = frame._jdf.queryExecution().analyzed().relation()
    return frame, str(relation.location().rootPaths().head().toString())


@cache
def _home() -> str:
    """A directory of this process, removed when it ends."""
    path = tempfile.mkdtemp(prefix="skipstone-plans-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
