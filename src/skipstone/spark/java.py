"""Calls into the JVM that Spark's session lives in, with few messages: each of them is a round trip.

A class is asked for by its full name. Walking there package by package, as `spark._jvm.org.apache…` does, sends a
message for every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from py4j.java_gateway import JavaClass, JavaMember  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

_DATASET: Final = "org.apache.spark.sql.classic.Dataset"
_STRINGS: Final = "org.apache.commons.lang3.StringUtils"
_TYPES_KEPT_MAX: Final = 256
_SEPARATOR: Final = "\0"  # stands in no SQL but in an odd name


def java_class(jvm: Any, name: str) -> Any:
    """A class, to make an object of."""
    return JavaClass(name, jvm._gateway_client)


def java_static(jvm: Any, class_name: str, method: str) -> Any:
    """A static method of a class."""
    return JavaMember(method, None, f"z:{class_name}", jvm._gateway_client)


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """A logical plan of the JVM as a DataFrame."""
    return DataFrame(java_static(spark._jvm, _DATASET, "ofRows")(spark._jsparkSession, plan), spark)


def selected(frame: DataFrame, expressions: Sequence[str]) -> DataFrame:
    """`frame.selectExpr(*expressions)`, which sends a message for each of them."""
    if any(_SEPARATOR in text for text in expressions):
        return frame.selectExpr(*expressions)
    split = java_static(frame.sparkSession._jvm, _STRINGS, "splitByWholeSeparatorPreserveAllTokens")
    texts = split(_SEPARATOR.join(expressions), _SEPARATOR)
    return DataFrame(frame._jdf.selectExpr(texts), frame.sparkSession)


def java_type(spark: SparkSession, type_: T.DataType) -> Any:
    """A Spark type in the JVM."""
    return _java_type(spark._jvm, type_.json())


@lru_cache(maxsize=_TYPES_KEPT_MAX)
def _java_type(jvm: Any, text: str) -> Any:
    return java_static(jvm, "org.apache.spark.sql.types.DataType", "fromJson")(text)
