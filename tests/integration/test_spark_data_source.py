"""`format("skipstone")` in Spark: the same rows as a scan, whatever the options; writes are whole or not there."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import skipstone
import skipstone.spark

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

COLUMNS = [
    ("id", "long not null"), ("s", "string"), ("x", "double"), ("d", "date"), ("ts", "timestamptz"),
    ("n", "decimal(12, 3)"), ("u", "uuid"), ("tags", "list<string>"), ("m", "map<string, int>"),
    ("st", "struct<a: int, b: string>"),
]  # fmt: skip
UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"


def row(i: int) -> dict[str, Any]:
    return {
        "id": i,
        "s": f"s{i}",
        "x": None if i % 3 else float("nan"),
        "d": date(2024, 1, 1 + i % 5),
        "ts": datetime(2024, 1, 1, i % 24, tzinfo=UTC),
        "n": Decimal(i) / 8,
        "u": UUID,
        "tags": ["a", None],
        "m": {"k": i},
        "st": {"a": i, "b": None},
    }


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return skipstone.spark.prepared(iceberg_java)


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


def source(spark: Any, tmp_path: Path, **options: Any) -> Any:
    reader = spark.read.format("skipstone").option("catalog", f"sqlite:///{tmp_path}/catalog.db")
    return reader.option("warehouse", str(tmp_path / "lake")).options(**options)


def sink(frame: Any, tmp_path: Path, **options: Any) -> Any:
    writer = frame.write.format("skipstone").option("catalog", f"sqlite:///{tmp_path}/catalog.db")
    return writer.option("warehouse", str(tmp_path / "lake")).options(**options)


def ids(frame: Any) -> list[int]:
    return sorted(r["id"] for r in frame.select("id").collect())


def test_rows_are_those_of_a_scan(spark: Any, lake: Any, tmp_path: Path) -> None:
    table = lake.create_table("shop.orders", COLUMNS, partition_by=["d"], format_version=3)
    table.append([row(i) for i in range(10)])
    first = table.current_snapshot
    table.delete("id = 3")
    table.create_tag("old", first.snapshot_id)
    frame = source(spark, tmp_path).load("shop.orders")
    ours = sorted(table.scan().to_spark(spark).collect(), key=lambda r: r["id"])
    assert repr(sorted(frame.collect(), key=lambda r: r["id"])) == repr(ours)
    assert frame.schema.simpleString() == table.scan().to_spark(spark).schema.simpleString()
    # One relation with different filters: nothing of one reading stays for the other.
    frame.createOrReplaceTempView("orders_by_source")
    counted = [f"(SELECT count(*) FROM orders_by_source WHERE {w})" for w in ("id < 5", "id >= 5", "s = 's7'", "true")]
    assert tuple(spark.sql(f"SELECT {', '.join(counted)}").first()) == (4, 5, 1, 9)
    assert frame.where("id = 7").union(frame.where("id = 8")).count() == 2
    pruned = source(spark, tmp_path, filter="d = DATE '2024-01-02' AND x IS NULL", columns="id,d", tag="old")
    assert sorted(map(tuple, pruned.load("shop.orders").collect())) == [(1, date(2024, 1, 2))]
    path = table.metadata_location
    assert ids(spark.read.format("skipstone").schema("id long").load(path)) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_bad_options_are_told(spark: Any, lake: Any, tmp_path: Path) -> None:
    lake.create_table("shop.orders", [("id", "long")])
    assert source(spark, tmp_path).load("shop.orders").count() == 0
    with pytest.raises(Exception, match=r"(?s)Unknown option 'snapshot_id' of skipstone.*Did you mean 'snapshot-id'"):
        source(spark, tmp_path, snapshot_id="1").load("shop.orders")


def test_frames_are_appended_and_overwrite(spark: Any, lake: Any, tmp_path: Path) -> None:
    table = lake.create_table("shop.orders", COLUMNS, partition_by=["d"], format_version=3)
    other = lake.create_table("shop.copy", COLUMNS, partition_by=["d"], format_version=3)
    other.append([row(i) for i in range(12)])
    frame = other.scan().to_spark(spark).withColumnRenamed("s", "S")
    sink(frame, tmp_path).mode("append").save("shop.orders")
    assert table.refresh().current_snapshot.operation == "append"
    kept, given = (t.scan().to_arrow().sort_by("id").to_pylist() for t in (table, other))
    assert repr(kept) == repr(given)
    assert len(kept) == 12 and str(kept[5]["u"]) == UUID
    few = frame.where("id < 2")
    sink(few, tmp_path, **{"overwrite-mode": "dynamic"}).mode("overwrite").save("shop.orders")
    assert sorted(table.refresh().scan(columns=["id"]).to_arrow().column(0).to_pylist()) == [0, 1, 2, 3, 4, 7, 8, 9]
    sink(few, tmp_path, filter="id >= 4").mode("overwrite").save("shop.orders")
    assert sorted(table.refresh().scan(columns=["id"]).to_arrow().column(0).to_pylist()) == [0, 0, 1, 1, 2, 3]
    sink(few, tmp_path).mode("overwrite").save("shop.orders")
    assert sorted(table.refresh().scan(columns=["id"]).to_arrow().column(0).to_pylist()) == [0, 1]


def test_a_write_that_fails_leaves_nothing(spark: Any, lake: Any, tmp_path: Path) -> None:
    table = lake.create_table("shop.orders", [("id", "long"), ("s", "string")])
    broken = spark.range(0, 100, 1, 1).selectExpr("id", "if(id = 99, raise_error('no'), 'x') s")
    with pytest.raises(Exception, match="no"):
        sink(broken, tmp_path).mode("append").save("shop.orders")
    assert table.refresh().current_snapshot is None
    assert list((tmp_path / "lake").rglob("*.parquet")) == []
