"""Index files are built in place, cleaned at expiry, found as orphans, and removed with their table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.indexed import assert_same_plan, index_files_of, make_table, rows, small_blocks

import skipstone
from skipstone.index import growth
from skipstone.index.loading import forget_opened


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    small_blocks(monkeypatch)
    made = make_table(tmp_path)
    for first in range(0, 24, 6):
        made.append(rows(first))
    return made


def test_a_table_is_indexed_in_place(table: Any) -> None:
    table.index.drop()
    assert index_files_of(table) == []
    report = table.build_index()
    assert (report.manifests, report.indexed, report.known, report.left, report.files) == (4, 4, 0, 0, 12)
    assert table.index.status().manifests_indexed == 4
    assert [level.skipped for level in assert_same_plan(table, "id = 1").levels if level.name == "manifests"] == [3]
    again = table.build_index()
    assert (again.indexed, again.known) == (0, 4)


def test_only_what_is_missing_is_built(table: Any) -> None:
    sidecars = [p for p in index_files_of(table) if p.name.endswith(".zones.parquet")]
    sidecars[0].unlink()
    forget_opened()
    report = table.build_index()
    assert (report.indexed, report.known) == (1, 3)
    assert sidecars[0].exists()


def test_tightening_covers_the_columns_that_are_indexed_now(table: Any) -> None:
    table.set_properties({"skipstone.index.columns": "n"})
    assert not assert_same_plan(table, "id = 1").notes
    table.index.tighten()
    assert table.index.status().columns == ("n",)
    assert "does not cover" in assert_same_plan(table, "id = 1").notes[0]


def test_expiry_removes_the_index_of_what_expires(table: Any) -> None:
    table.set_properties({"commit.manifest.min-count-to-merge": "2"})
    table.append(rows(100))  # merges all manifests into one
    before = set(index_files_of(table))
    report = table.expire_snapshots(older_than=datetime.now(UTC) + timedelta(days=1), retain_last=1)
    left = set(index_files_of(table))
    assert {str(p) for p in before - left} == set(report.files.index_files)
    status = table.index.status()
    assert (status.manifests, status.manifests_indexed, status.sidecars) == (1, 1, 1)
    assert len(left) == 2  # one sidecar, one roll-up
    assert_same_plan(table, "id = 101")


def test_a_base_stays_as_long_as_a_kept_rollup_builds_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_SMALL_ROWS", 8)
    table = make_table(tmp_path)
    for first in range(0, 24, 6):
        table.append(rows(first))
    table.expire_snapshots(older_than=datetime.now(UTC) + timedelta(days=1), retain_last=1)
    assert table.index.status().manifests_indexed == 4
    assert_same_plan(table, "id = 3")


def test_orphan_removal_takes_index_files_that_serve_nothing(table: Any) -> None:
    stray = index_files_of(table)[0].with_name("gone-m0-0011223344556677.zones.parquet")
    stray.write_bytes(b"old")
    found = table.remove_orphan_files(older_than=datetime.now(UTC) + timedelta(days=1))
    assert [Path(info.path).name for info in found] == [stray.name]
    assert table.index.status().manifests_indexed == 4
    assert_same_plan(table, "id = 3")


def test_a_purged_table_leaves_no_index(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(rows(0))
    directory = Path(table.index.status().directory)
    assert list(directory.iterdir())
    skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path)).drop_table("db.t", purge=True)
    assert list(directory.iterdir()) == []


def test_index_files_lie_beside_the_table_and_are_small(table: Any) -> None:
    assert not any(Path(table.location) in path.parents for path in index_files_of(table))


def test_a_commit_that_fails_leaves_no_index_files(table: Any) -> None:
    before = set(index_files_of(table))
    transaction = table.transaction()
    transaction.append(rows(500))
    assert set(index_files_of(table)) > before
    transaction._transaction.discard()
    assert set(index_files_of(table)) == before


def test_index_columns_default_to_the_first_32_with_partition_and_sort_columns(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    names = [f"c{i:02d}" for i in range(40)]
    table = lake.create_table("db.w", [(n, "int") for n in names], partition_by=["c35"], sort_by=["c38"])
    assert table.index.status().columns == (*names[:32], "c35", "c38")
