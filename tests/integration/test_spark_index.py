"""The skip index beside Spark: built by its tasks as without them, and left alone by another engine's cleaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.indexed import SCHEMA, SIDECARS_ALWAYS, assert_same_plan, index_files_of, make_table, rows
from tests.support.spark import jvm_class

import skipstone
from skipstone.index.loading import forget_opened
from skipstone.spark import file_tasks

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]


def contents(table: Any) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in index_files_of(table)}


def test_tasks_write_the_index_that_is_built_without_spark(
    tmp_path: Path, iceberg_java: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path)
    for first in range(0, 18, 6):
        table.append(rows(first))
    table.index.drop()
    here = table.build_index()
    expected = contents(table)
    assert len(expected) == 4  # a sidecar for each manifest and one roll-up
    table.index.drop()
    forget_opened()
    monkeypatch.setattr(file_tasks, "_BYTES_HERE_MAX", -1)
    by_tasks = table.build_index(spark=iceberg_java)
    assert by_tasks == here
    assert contents(table) == expected
    assert_same_plan(table, "id = 13")


def test_orphan_removal_of_another_engine_leaves_the_index(tmp_path: Path, iceberg_java: Any) -> None:
    lake = skipstone.catalog(str(tmp_path / "lake"))
    table = lake.create_table("db.t", SCHEMA, partition_by=["state"], properties=SIDECARS_ALWAYS)
    for first in range(0, 18, 6):
        table.append(rows(first))
    stray = Path(table.location) / "data" / "stray.parquet"
    stray.write_bytes(b"left by a writer that failed")
    before = contents(table)
    java = jvm_class(iceberg_java, "org.apache.iceberg")
    loaded = java.hadoop.HadoopTables(iceberg_java._jsc.hadoopConfiguration()).load(table.location)
    removal = java.spark.actions.SparkActions.get().deleteOrphanFiles(loaded).olderThan(2**41)
    found = [Path(path).name for path in removal.execute().orphanFileLocations()]
    assert found == [stray.name] and not stray.exists()
    assert contents(table) == before
    assert table.index.status().manifests_indexed == 3
    assert_same_plan(table, "id = 13")
