"""DataFrames written to tables: rows come back equal, routed and measured as the Arrow writer would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import skipstone

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Any]:
    yield skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def spark(iceberg_java: Any) -> Any:
    return iceberg_java


ORDERS = [("id", "long"), ("state", "string"), ("price", "double")]


def rows_of(table: Any) -> list[Any]:
    return sorted((tuple(r.values()) for r in table.scan().to_arrow().to_pylist()), key=repr)


def test_append_to_an_unpartitioned_table_brings_the_rows_and_their_metrics(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS)
    frame = spark.createDataFrame(
        [(1, "CA", 1.5), (2, "NY", None), (3, None, 2.5)], "id long, state string, price double"
    )
    table.append(frame)
    assert rows_of(table) == [(1, "CA", 1.5), (2, "NY", None), (3, None, 2.5)]
    files = table.inspect.files()
    assert sum(files["record_count"].to_pylist()) == 3


def test_append_to_an_identity_partitioned_table_makes_a_file_a_partition(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS, partition_by=["state"])
    rows = [(i, ["CA", "NY", None, "", "~"][i % 5], i / 2) for i in range(50)]
    table.append(spark.createDataFrame(rows, "id long, state string, price double"))
    assert rows_of(table) == sorted(rows, key=repr)
    partitions = [p["state"] for p in table.inspect.files()["partition"].to_pylist()]
    assert sorted(partitions, key=repr) == sorted(["CA", "NY", None, "", "~"], key=repr)
    assert table.scan("state = ''").count() == 10
