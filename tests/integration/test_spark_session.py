"""Sessions set for our tables, on a session that somebody else started."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console

from skipstone.errors import InvalidInput
from skipstone.spark import active, prepared, session
from skipstone.spark.copies import in_utc, with_strict_casts
from skipstone.spark.progress import ENVIRONMENT, progress
from skipstone.spark.session import NEEDED, temporarily

pytestmark = pytest.mark.spark

ANSI = "spark.sql.ansi.enabled"
TIME_ZONE = "spark.sql.session.timeZone"
TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


@pytest.fixture
def own(iceberg_java: SparkSession) -> Iterator[SparkSession]:
    """A user's own session with nothing set: shares only the JVM with other tests."""
    fresh = iceberg_java.newSession()
    for key in NEEDED:
        fresh.conf.unset(key)
    yield fresh


def test_a_users_session_gets_what_our_tables_need(own: SparkSession) -> None:
    assert prepared(own) is own
    assert {k: own.conf.get(k) for k in NEEDED} == dict(NEEDED)
    before = own.conf.getAll
    assert prepared(own).conf.getAll == before


def test_what_the_user_has_set_stays(own: SparkSession) -> None:
    own.conf.set(TIMESTAMPS, "INT96")
    own.conf.set(TIME_ZONE, "Asia/Tokyo")
    prepared(own)
    assert own.conf.get(TIMESTAMPS) == "INT96"
    assert own.conf.get(TIME_ZONE) == "Asia/Tokyo"


def test_a_prepared_session_writes_moments_with_statistics(own: SparkSession, tmp_path: Path) -> None:
    prepared(own).sql("SELECT timestamp_seconds(1) AS ts").coalesce(1).write.parquet(str(tmp_path / "t"))
    (file,) = (tmp_path / "t").glob("*.parquet")
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).statistics.has_min_max


def test_the_running_session_is_used(iceberg_java: SparkSession) -> None:
    assert session() is iceberg_java
    assert active() is iceberg_java
    assert session("local[2]") is iceberg_java


def test_the_given_session_is_used(own: SparkSession) -> None:
    assert active(own) is own


def test_another_master_than_the_running_one_is_refused(iceberg_java: SparkSession) -> None:
    with pytest.raises(InvalidInput, match=r"Cannot start a Spark session at local\[7\]: one is running at local\[2\]"):
        session("local[7]")


def test_settings_that_spark_takes_at_the_start_only_are_refused_later(iceberg_java: SparkSession) -> None:
    with pytest.raises(InvalidInput, match=r"Cannot set spark\.driver\.memory=3g on the running Spark session"):
        session(**{"spark.driver.memory": "3g"})


def test_runtime_settings_reach_the_running_session(iceberg_java: SparkSession) -> None:
    key = "spark.sql.files.maxPartitionBytes"
    with temporarily(iceberg_java, {key: "1000"}):
        assert session(**{key: 2000}).conf.get(key) == "2000"


def test_settings_that_are_not_sparks_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"Invalid Spark setting 'memory': expected a name that begins with 'spark"):
        session(memory="3g")


def test_temporary_settings_go_away_even_after_an_error(own: SparkSession) -> None:
    own.conf.set(TIMESTAMPS, "INT96")
    settings = {TIMESTAMPS: "TIMESTAMP_MILLIS", "spark.sql.parquet.filterPushdown": "false"}
    before = own.conf.getAll
    with pytest.raises(ZeroDivisionError), temporarily(own, settings):
        assert {k: own.conf.get(k) for k in settings} == settings
        raise ZeroDivisionError
    assert own.conf.getAll == before


def test_a_frame_made_in_a_copy_keeps_its_settings_and_the_session_its_own(own: SparkSession) -> None:
    own.conf.set(ANSI, "false")
    texts = own.sql("SELECT 'x' AS s")
    strict = with_strict_casts(texts, lambda f: f.selectExpr("CAST(s AS INT)"))
    assert own.conf.get(ANSI) == "false"
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        strict.collect()
    assert texts.selectExpr("CAST(s AS INT)").first()[0] is None
    with in_utc(own):
        assert own._jvm.org.apache.spark.sql.internal.SQLConf.get().sessionLocalTimeZone() == "UTC"


def test_python_workers_import_the_package(iceberg_java: SparkSession) -> None:
    import skipstone

    def where(_: int) -> str:
        import skipstone

        return skipstone.__file__

    context = prepared(iceberg_java).sparkContext
    assert context.parallelize([0], 1).map(where).collect() == [skipstone.__file__]


def test_progress_counts_the_tasks_of_a_block(own: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "on")
    seen = io.StringIO()
    console = Console(file=seen, force_terminal=True, width=100)
    context = own.sparkContext
    with progress(own, "counting", console=console):
        group = context.getLocalProperty("spark.jobGroup.id")
        own.range(0, 100, 1, 5).selectExpr("sum(id)").collect()
    assert group.startswith("skipstone-")
    assert context.getLocalProperty("spark.jobGroup.id") is None
    assert "counting" in seen.getvalue()


def test_progress_leaves_a_users_job_group_alone(own: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "on")
    context = own.sparkContext
    context.setJobGroup("mine", "my work")
    try:
        with progress(own, "counting", console=Console(file=io.StringIO())):
            assert context.getLocalProperty("spark.jobGroup.id") == "mine"
        assert context.getLocalProperty("spark.jobGroup.id") == "mine"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def test_progress_is_quiet_where_nobody_looks(
    own: SparkSession, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "off")
    with progress(own, "counting"):
        assert own.sparkContext.getLocalProperty("spark.jobGroup.id") is None
        own.range(3).count()
    assert "counting" not in "".join(capfd.readouterr())
