"""Several threads in one session, several sessions in one process: each has its own settings, and only its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark import interpreted

import skipstone
import skipstone.spark
from skipstone.errors import NotFound

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

TIME_ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
HOURS = (
    "SELECT h FROM shop.t WHERE ts >= TIMESTAMP'2026-03-08 03:00:00Z' AND ts < TIMESTAMP'2026-03-08 05:00:00Z' "
    "ORDER BY h"
)


@pytest.fixture
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Any:
    """A table with a file for each hour of a night."""
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    skipstone.sql(spark, "CREATE TABLE shop.t (h INT, ts TIMESTAMP) USING skipstone", catalog=lake)
    table = lake.load_table("shop.t")
    for h in range(6):
        table.append(spark.sql(f"SELECT {h} AS h, TIMESTAMP'2026-03-08 0{h}:00:00Z' AS ts"))
    return lake


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_the_time_zone_of_another_session_loses_no_rows(spark: Any, iceberg_java: Any, lake: Any, zone: str) -> None:
    iceberg_java.conf.set(TIME_ZONE, zone)  # the session that is active in this thread of the JVM
    try:
        assert [r.h for r in skipstone.sql(spark, HOURS, catalog=lake).collect()] == [3, 4]
    finally:
        iceberg_java.conf.set(TIME_ZONE, "UTC")


def test_threads_of_one_session_see_its_settings_while_others_plan_and_write(spark: Any, lake: Any) -> None:
    spark.conf.set(TIME_ZONE, "America/New_York")
    spark.conf.set(ANSI, "false")
    kept = (
        "SELECT current_timezone(), TIMESTAMP'2026-01-01 00:00:00' = TIMESTAMP'2026-01-01 05:00:00Z', CAST('x' AS INT)"
    )

    def work(number: int) -> list[Any]:
        if number % 3 == 0:
            return [[r.h for r in skipstone.sql(spark, HOURS, catalog=lake).collect()] for _ in range(4)]
        if number % 3 == 1:
            return [tuple(skipstone.sql(spark, f"{kept} FROM shop.t LIMIT 1", catalog=lake).first()) for _ in range(4)]
        insert = "INSERT INTO shop.t VALUES (99, TIMESTAMP'2027-01-01 00:00:00')"
        return [skipstone.sql(spark, insert, catalog=lake).columns for _ in range(2)]

    expected = [[[3, 4]] * 4, [("America/New_York", True, None)] * 4, [[]] * 2]
    with ThreadPoolExecutor(max_workers=3) as pool:
        assert list(pool.map(work, range(3))) == expected
    assert (spark.conf.get(TIME_ZONE), spark.conf.get(ANSI)) == ("America/New_York", "false")
    rows = skipstone.sql(spark, "SELECT ts = TIMESTAMP'2027-01-01 05:00:00Z' FROM shop.t WHERE h = 99", catalog=lake)
    assert [tuple(r) for r in rows.collect()] == [(True,)] * 2


def test_the_session_that_a_batch_of_a_stream_runs_in_has_the_catalogs_and_other_sessions_do_not(
    spark: Any, iceberg_java: Any, lake: Any, tmp_path: Path
) -> None:
    skipstone.spark.attach(spark, lake)
    skipstone.sql(spark, "CREATE TABLE shop.seen (h INT, ts TIMESTAMP) USING skipstone")

    def merge(batch: Any, number: int) -> None:
        batch.createOrReplaceTempView("news")  # which is in the batch's own session only
        skipstone.sql(
            batch.sparkSession,
            "MERGE INTO shop.seen t USING news ON t.h = news.h "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        )

    options = {"catalog": f"sqlite:///{tmp_path}/catalog.db", "warehouse": str(tmp_path / "lake")}
    stream = spark.readStream.format("skipstone").options(**options).load("shop.t").writeStream.foreachBatch(merge)
    started = stream.option("checkpointLocation", str(tmp_path / "at")).trigger(availableNow=True).start()
    try:
        started.awaitTermination()
    finally:
        started.stop()
    assert skipstone.sql(spark, "SELECT count(*), max(h) FROM shop.seen").first() == (6, 5)
    with pytest.raises(NotFound, match="no catalogs"):
        skipstone.sql(spark.newSession(), "DELETE FROM shop.seen")
