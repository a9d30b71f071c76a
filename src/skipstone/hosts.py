"""The way from the door to hosts that are optional extras: found by name when asked for, never imported before."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from skipstone.errors import Unsupported


def spark_host(what: str) -> Any:
    """The Spark host, for `what`; a clear error where PySpark is not installed."""
    return _needing_spark("skipstone.spark", what)


def statements_host(what: str = "run SQL") -> Any:
    """SQL statements, which Spark carries out."""
    return _needing_spark("skipstone.statements", what)


def hive_host() -> Any:
    """The catalog that a Hive metastore is."""
    return import_module("skipstone.hive.catalog")


def _needing_spark(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "pyspark":
            raise
        raise Unsupported(
            f"Cannot {what}: PySpark is not installed. Run pip install 'skipstone[spark]' (it also needs Java 17)."
        ) from None


def running_spark() -> Any:
    """The Spark session that is active in this process; None where there is none, or no PySpark in use."""
    module = sys.modules.get("pyspark.sql")
    return None if module is None else module.SparkSession.getActiveSession()


def is_spark_frame(rows: Any) -> bool:
    """Whether rows are a Spark DataFrame, classic or Connect."""
    return any(c.__module__.startswith("pyspark.sql") and c.__name__ == "DataFrame" for c in type(rows).__mro__)
