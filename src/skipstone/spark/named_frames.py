"""Frames under names that Spark knows only while it analyses one text.

A temporary view made the public way is a command of its own, which Spark plans and runs; here the frame's plan is put
into the session's catalog as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from skipstone.spark.java import java_class

Key = TypeVar("Key")

_NUMBERS: Final = itertools.count(1)
_DESCRIBED: Final[dict[str, Any]] = {}


@contextmanager
def named(spark: Any, frames: Mapping[Key, Any]) -> Iterator[dict[Key, str]]:
    """A name for each frame, gone afterwards."""
    names = {key: f"skipstone_{next(_NUMBERS)}" for key in frames}
    catalog = spark._jsparkSession.sessionState().catalog()
    try:
        for key, frame in frames.items():
            catalog.createTempView(names[key], _view(spark, frame), True)
        yield names
    finally:
        for name in names.values():
            catalog.dropTempView(name)


def _view(spark: Any, frame: Any) -> Any:
    """The frame as the catalog keeps a view: its plan, and a description that nothing reads of an analysed plan."""
    session = str(spark._jsparkSession.sessionUUID())
    if session not in _DESCRIBED:
        _DESCRIBED[session] = _description(spark)
    plan = frame._jdf.queryExecution().analyzed()
    return _DESCRIBED[session].copy(_DESCRIBED[session].tableMeta(), java_class(spark._jvm, "scala.Some")(plan))


def _description(spark: Any) -> Any:
    name = f"skipstone_{next(_NUMBERS)}"
    spark.range(0).createOrReplaceTempView(name)
    try:
        return spark._jsparkSession.sessionState().catalog().getRawTempView(name).get()
    finally:
        spark.catalog.dropTempView(name)
