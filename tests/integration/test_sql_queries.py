"""The same text over our tables and over plain data gives the same answer, whatever was skipped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark import interpreted
from tests.support.sql_queries import Queries

import skipstone

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

NUM_QUERIES = 200
COLUMNS = "id bigint, k int, s string, x double, d date, m decimal(9,2), ts timestamp"
_ROWS = """
SELECT IF(id % 11 = 5, NULL, id) AS id, CAST(id % 4 AS INT) AS k,
  CASE WHEN id % 7 = 0 THEN NULL WHEN id % 5 = 0 THEN '' ELSE substr('abzzab', 1 + CAST(id % 5 AS INT), 2) END AS s,
  CASE id % 6 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN NULL WHEN 3 THEN double('inf')
    ELSE id / 2.0D - 5 END AS x,
  IF(id % 9 = 0, NULL, date_add(DATE'2025-12-25', CAST(id * 9 AS INT))) AS d,
  CAST(id / 4.0 - 3.25 AS DECIMAL(9,2)) AS m,
  IF(id % 8 = 0, NULL, TIMESTAMP'2025-12-31 23:00:00' + make_interval(0, 0, 0, CAST(id AS INT))) AS ts
FROM range({first}, {end})
"""


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two tables of several files, one partitioned and with deleted rows; and the same rows as plain views."""
    home: Path = tmp_path_factory.mktemp("sql")
    lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home / "lake"))
    for name, partitions, version in (("a", "PARTITIONED BY (k)", 3), ("b", "", 2)):
        run(spark, lake, f"CREATE TABLE shop.{name} ({COLUMNS}) USING skipstone {partitions} "
            f"TBLPROPERTIES ('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read')")  # fmt: skip
        for first in (0, 12, 24) if name == "a" else (6, 20):
            run(spark, lake, f"INSERT INTO shop.{name} {_ROWS.format(first=first, end=first + 12)}")
        run(spark, lake, f"DELETE FROM shop.{name} WHERE id % 13 = 4 OR x = 3.5")
    plain = " UNION ALL ".join(_ROWS.format(first=f, end=f + 12) for f in (0, 12, 24))
    other = " UNION ALL ".join(_ROWS.format(first=f, end=f + 12) for f in (6, 20))
    for name, rows in (("a", plain), ("b", other)):
        kept = spark.sql(f"SELECT * FROM ({rows}) WHERE NOT coalesce(id % 13 = 4 OR x = 3.5, false)").coalesce(1)
        spark.createDataFrame(kept.toArrow(), kept.schema).createOrReplaceTempView(f"plain_{name}")
    return lake


def run(spark: Any, lake: Any, text: str) -> Any:
    return skipstone.sql(spark, text, catalog=lake)


def answer(frame: Any) -> Counter[str]:
    return Counter(repr(tuple(row)) for row in frame.collect())


def places(frame: Any) -> set[str]:
    """The directories a frame reads: one for each insert and partition."""
    return {path.rpartition("/")[0] for path in frame.inputFiles()}


def test_two_hundred_queries_answer_as_over_plain_data(spark: Any, lake: Any) -> None:
    queries = Queries(seed=20261116)
    wrong: list[str] = []
    empty = 0
    for _ in range(NUM_QUERIES):
        text = queries.next()
        expected = answer(spark.sql(text.format(a="plain_a", b="plain_b")))
        empty += not expected
        if answer(run(spark, lake, text.format(a="shop.a", b="shop.b"))) != expected:
            wrong.append(text)
    assert wrong == []
    assert empty < NUM_QUERIES / 2, "most queries should have an answer, or they prove nothing"


def test_a_selective_query_reads_only_the_files_that_can_match(spark: Any, lake: Any) -> None:
    text = run(spark, lake, "EXPLAIN SELECT count(*) FROM shop.a WHERE k = 2 AND id BETWEEN 13 AND 20").first()[0]
    skipping = text.split("== Physical Plan ==")[0]
    assert "-- shop.a" in skipping
    frame = run(spark, lake, "SELECT * FROM shop.a WHERE k = 2 AND id BETWEEN 13 AND 20")
    assert len(places(frame)) == 1


def test_filters_reach_through_joins_views_and_with(spark: Any, lake: Any) -> None:
    text = "SELECT count(*) FROM shop.b JOIN shop.a ON shop.a.id = shop.b.id WHERE shop.b.id < 8"
    skipping = run(spark, lake, f"EXPLAIN {text}").first()[0]
    assert "id < 8" in skipping.split("-- shop.a")[1].split("--")[0], "the join carries the filter over"
    run(spark, lake, "CREATE OR REPLACE TEMPORARY VIEW few AS SELECT * FROM shop.a WHERE k = 1")
    frame = run(spark, lake, "WITH w AS (SELECT * FROM few) SELECT id FROM w WHERE id > 24")
    assert len(places(frame)) == 1
    assert {r[0] for r in frame.collect()} == {
        r[0] for r in spark.sql("SELECT id FROM plain_a WHERE k = 1 AND id > 24").collect()
    }
    run(spark, lake, "DROP VIEW few")


def test_a_filter_that_cannot_be_used_is_said_so(spark: Any, lake: Any) -> None:
    text = run(spark, lake, "EXPLAIN SELECT * FROM shop.a WHERE id % 2 = 1 AND s = 'zz'").first()[0]
    assert "not used for skipping: ((a.id % 2" in text
    assert "s = 'zz'" in text


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        ("SELECT * FROM shop.b LEFT JOIN shop.a ON a.id = b.id WHERE coalesce(a.k, 7) = 7", "(coalesce(a.k, 7) = 7)"),
        ("SELECT * FROM (SELECT * FROM shop.a LIMIT 5) q WHERE id = 3", "(q.id = 3L)"),
        ("SELECT * FROM shop.a JOIN shop.b ON a.id = b.id AND a.m + b.m > 3", "a.m + b.m"),
    ],
)
def test_a_filter_that_stays_above_a_join_or_a_limit_is_said_so(spark: Any, lake: Any, text: str, unused: str) -> None:
    told = run(spark, lake, f"EXPLAIN {text}").first()[0].split("== Physical Plan ==")[0]
    (line,) = [x for x in told.split("-- shop.a")[1].split("--")[0].splitlines() if x.startswith("not used")]
    assert unused in line and "a.id = b.id" not in told


def test_the_present_is_one_moment_for_the_whole_query(spark: Any, lake: Any) -> None:
    expected = answer(spark.sql("SELECT id FROM plain_a WHERE d < current_date() AND ts < now()"))
    assert answer(run(spark, lake, "SELECT id FROM shop.a WHERE d < current_date() AND ts < now()")) == expected


def test_the_present_inside_a_view_of_spark_prunes_nothing(spark: Any, lake: Any) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW moving AS SELECT now() AS at")
    text = "SELECT id FROM shop.a JOIN moving ON a.ts < moving.at WHERE k = 2"
    told = run(spark, lake, f"EXPLAIN {text}").first()[0].split("== Physical Plan ==")[0]
    assert "not used for skipping: any filter" in told
    assert answer(run(spark, lake, text)) == answer(spark.sql(text.replace("shop.a", "plain_a a")))
