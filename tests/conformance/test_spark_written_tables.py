"""Tables that we write with Spark, as Iceberg's own runtime reads them: v1 to v3, rows and metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.java_rows import query

import skipstone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = [
    ("id", "long not null"), ("s", "string"), ("x", "double"), ("d", "date"), ("ts", "timestamptz"),
    ("n", "decimal(20, 3)"), ("tags", "list<string>"), ("m", "map<string, struct<v: int>>"),
]  # fmt: skip
ROWS = """
    SELECT id, concat('text-', id % 7, repeat('x', CAST(id AS INT) * 4)) s,
           CASE id % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN NULL ELSE id / 3 END x,
           date_add(DATE '1969-12-20', CAST(id AS INT)) d, timestamp_micros((id - 10) * 7200000000) ts,
           CAST(id AS DECIMAL(20, 3)) n, array('a', NULL, CAST(id AS STRING)) tags,
           map('k', named_struct('v', CAST(id AS INT))) m
    FROM range({start}, {end}, 1, 3)
"""


@pytest.mark.parametrize("version", [1, 2, 3])
def test_iceberg_java_reads_and_filters_what_we_wrote_with_spark(
    iceberg_java: SparkSession, iceberg_warehouse: Path, version: int
) -> None:
    spark, name = iceberg_java, f"spark_v{version}"
    lake = skipstone.catalog(str(iceberg_warehouse))
    table = lake.create_table(
        f"db.{name}",
        COLUMNS,
        partition_by=["bucket(3, s)", "month(d)"],
        sort_by=["ts"],
        format_version=version,
    )
    table.append(spark.sql(ROWS.format(start=0, end=20)))
    table.append(spark.sql(ROWS.format(start=20, end=40)))
    table.overwrite(spark.sql(ROWS.format(start=40, end=45)), filter="id < 5")
    theirs = query(spark, f"SELECT * FROM java.db.{name}")
    assert sorted(r["id"] for r in theirs) == list(range(5, 45))
    mine = {r["id"]: r for r in table.scan().to_arrow().to_pylist()}
    for row in theirs:
        assert (row["s"], row["d"], row["n"], row["tags"]) == tuple(mine[row["id"]][c] for c in ("s", "d", "n", "tags"))
        assert dict(row["m"])["k"]["v"] == row["id"]
    for where in ("s LIKE 'text-3%'", "ts < TIMESTAMP '1970-01-01'", "d = DATE '1970-01-05'"):
        counted = query(spark, f"SELECT count(*) c FROM java.db.{name} WHERE {where}")[0]["c"]
        assert counted == table.scan(where.replace("1970-01-01'", "1970-01-01 00:00:00+00:00'")).count() > 0, where


def test_metrics_are_those_that_iceberg_java_computes(iceberg_java: SparkSession, iceberg_warehouse: Path) -> None:
    """The same rows appended by Java to its own table: one file each, the same facts."""
    spark, lake = iceberg_java, skipstone.catalog(str(iceberg_warehouse))
    ours, theirs = (lake.create_table(f"db.spark_metrics_{who}", COLUMNS) for who in ("ours", "theirs"))
    rows = spark.sql(ROWS.format(start=0, end=30)).coalesce(1)
    ours.append(rows)
    rows.writeTo("java.db.spark_metrics_theirs").append()
    flat = [ours.schema.field(name).id for name in ("id", "s", "x", "d", "ts", "n")]
    (mine,), (javas,) = ours.inspect.files().to_pylist(), theirs.refresh().inspect.files().to_pylist()
    for what in ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"):
        assert [dict(mine[what]).get(i) for i in flat] == [dict(javas[what]).get(i) for i in flat], what
