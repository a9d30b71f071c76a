"""A Spark session that is set for our tables: a new one, or the user's own.

    spark = skipstone.spark.session()                                  # this machine, all cores
    spark = skipstone.spark.session("spark://host:7077", **{"spark.executor.memory": "4g"})

Law: a session that we did not start keeps what its user has set. What our reads and writes need beyond that is set in
copies of it, which no other work sees.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

from pyspark.sql import SparkSession

from skipstone.errors import InvalidInput
from skipstone.spark.data_source import register
from skipstone.spark.shipping import is_local, package_home, packed, ship

APP_NAME: Final = "skipstone"
LOOPBACK: Final = "127.0.0.1"
UTC: Final = "UTC"

# Read and written by field id, moments with statistics, frames to and from Python as Arrow. None of them changes the
# rows of a query that is not ours.
NEEDED: Final[Mapping[str, str]] = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
# What a session of ours has besides.
_OURS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": UTC,
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_PREPARED: Final[WeakSet[SparkSession]] = WeakSet()
_DRIVER_MEMORY_SHARE: Final = 0.4
_DRIVER_MEMORY_MB_MIN: Final = 1024
_DRIVER_MEMORY_MB_MAX: Final = 8192


def session(master: str | None = None, app_name: str = APP_NAME, **settings: Any) -> SparkSession:
    """A session set for our tables; the running one if there is one. `settings` are Spark's own, `spark.…`.

    Without a master it is all cores of this machine, or what spark-submit was given.
    """
    _check_names(settings)
    asked = {k: _as_text(v) for k, v in settings.items()}
    running = SparkSession.getActiveSession()
    if running is not None:
        return _joined(running, master, asked)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    where = master or (None if is_submitted else "local[*]")
    _choose_interpreter(where)
    builder = SparkSession.builder.appName(app_name)
    if where is not None:
        builder = builder.master(where)
    for key, value in {**_defaults(where), **asked}.items():
        builder = builder.config(key, value)
    return prepared(builder.getOrCreate())


def prepared(spark: SparkSession) -> SparkSession:
    """A user's own session with what our tables need, where its user has set nothing else. Once is enough."""
    if spark in _PREPARED:
        return spark
    for key, value in NEEDED.items():
        if spark.conf.get(key, None) is None:  # with a default given, Spark's own is left out
            spark.conf.set(key, value)
    if not is_remote(spark):
        ship(spark.sparkContext)
        register(spark)
    _PREPARED.add(spark)
    return spark


def active(spark: SparkSession | None = None) -> SparkSession:
    """The session to work in, prepared: the given one, else the active one, else a new one."""
    found = spark or SparkSession.getActiveSession()
    return session() if found is None else prepared(found)


@contextmanager
def temporarily(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Runtime settings for one operation; afterwards the session is as it was. Other threads see them meanwhile."""
    before: dict[str, str | None] = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield spark
    finally:
        for key, earlier in before.items():
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)


def is_remote(spark: SparkSession) -> bool:
    """Whether this is a Spark Connect session, which has no context in this process."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def cores_of(spark: SparkSession) -> int:
    """How many tasks run at once."""
    return 1 if is_remote(spark) else max(1, int(spark.sparkContext.defaultParallelism))


def _defaults(master: str | None) -> dict[str, str]:
    defaults = {**NEEDED, **_OURS, "spark.driver.extraJavaOptions": "-Duser.timezone=UTC"}
    if master is None or not is_local(master):
        # Executors run in processes of their own, maybe elsewhere: the package travels with the job.
        return {**defaults, "spark.submit.pyFiles": str(packed())}
    _put_on_python_path()
    return {
        **defaults,
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": f"{_driver_memory_mb()}m",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    }


def _joined(running: SparkSession, master: str | None, asked: Mapping[str, str]) -> SparkSession:
    """The running session with the runtime settings asked for; the others would be ignored, so they are refused."""
    if master is not None and not is_remote(running) and running.sparkContext.master != master:
        raise InvalidInput(
            f"Cannot start a Spark session at {master}: one is running at {running.sparkContext.master}. "
            "Stop it first, or pass no master to use it."
        )
    for key, value in asked.items():
        if running.conf.get(key, None) == value:
            continue
        if not running.conf.isModifiable(key):
            raise InvalidInput(
                f"Cannot set {key}={value} on the running Spark session: Spark takes it at the start only. "
                "Stop the session first."
            )
        running.conf.set(key, value)
    return prepared(running)


def _check_names(settings: Mapping[str, Any]) -> None:
    for key in settings:
        if not key.startswith("spark."):
            raise InvalidInput(
                f"Invalid Spark setting {key!r}: expected a name that begins with 'spark.', "
                "such as **{'spark.executor.memory': '4g'}."
            )


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choose_interpreter(master: str | None) -> None:
    """Python workers run this interpreter; on other machines the one the user named, if any."""
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master is not None and is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _put_on_python_path() -> None:
    """Python workers on this machine import the package from where this process did."""
    home = str(package_home())
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if home not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(p for p in (home, *paths) if p)


def _driver_memory_mb() -> int:
    """A share of this machine's memory, within bounds: executors of a local session live in the driver."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (ValueError, OSError):
        return _DRIVER_MEMORY_MB_MIN
    return int(min(max(total * _DRIVER_MEMORY_SHARE, _DRIVER_MEMORY_MB_MIN), _DRIVER_MEMORY_MB_MAX))
