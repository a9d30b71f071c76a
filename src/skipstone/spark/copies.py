"""Work that needs other settings than its session has, out of sight of all else that the session does.

Law: threads share a session, so its settings are never changed for the time of one piece of work. A frame is built in a
copy of the session, which shares everything with it but the settings; text of the JVM is made with a session of ours as
the one that is active in this thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.session import _monkey_patch_RDD

from skipstone.spark.java import frame_of, java_static
from skipstone.spark.session import UTC, is_remote, temporarily

_SESSION: Final = "org.apache.spark.sql.classic.SparkSession"
_TIME_ZONE: Final = "spark.sql.session.timeZone"
_ANSI: Final = "spark.sql.ansi.enabled"
_IN_UTC: Final[WeakKeyDictionary[SparkContext, Any]] = WeakKeyDictionary()


def in_copy(spark: Any, frame: Any, settings: Mapping[str, str]) -> Any:
    """The analysed frame in a copy of a session with settings of its own."""
    own = SparkSession(spark.sparkContext, jsparkSession=spark._jsparkSession.cloneSession())
    _monkey_patch_RDD(spark)  # a new session has put itself behind `rdd.toDF`
    for key, value in settings.items():
        own.conf.set(key, value)
    return frame_of(own, frame._jdf.queryExecution().analyzed())


def with_strict_casts(frame: Any, made: Callable[[Any], Any]) -> Any:
    """What is made of a frame: its casts fail where a value does not fit, also in a session without ANSI mode."""
    spark = frame.sparkSession
    if spark.conf.get(_ANSI).lower() == "true":
        return made(frame)
    if is_remote(spark):  # which has no copies
        with temporarily(spark, {_ANSI: "true"}):
            return made(frame)
    return frame_of(spark, made(in_copy(spark, frame, {_ANSI: "true"}))._jdf.queryExecution().analyzed())


@contextmanager
def active_in_jvm(spark: Any, java_session: Any = None) -> Iterator[None]:
    """Calls into the JVM in here see the settings of a session: this one, or another one of its JVM.

    What parses text or writes it there asks the session that is active in the thread: any one of them, unless it is
    told.
    """
    before = java_static(spark._jvm, _SESSION, "active")()
    become = java_static(spark._jvm, _SESSION, "setActiveSession")
    become(spark._jsparkSession if java_session is None else java_session)
    try:
        yield
    finally:
        become(before)


@contextmanager
def in_utc(spark: Any) -> Iterator[None]:
    """What the JVM writes in here has its points in time in UTC, whatever zone any session has."""
    context = spark.sparkContext
    if context not in _IN_UTC:
        made = spark._jsparkSession.newSession()
        made.conf().set(_TIME_ZONE, UTC)
        _IN_UTC[context] = made
    with active_in_jvm(spark, _IN_UTC[context]):
        yield
