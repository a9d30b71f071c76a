"""Files of analyses go with the snapshots they describe, and all of them with the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

import skipstone
from skipstone.stats.places import record_path, stats_directory

ROWS = pa.table({"id": pa.array(range(10), pa.int64())})


def make_table(home: Path) -> tuple[Any, Any]:
    lake = skipstone.catalog(str(home / "lake"))
    lake.create_namespace("shop")
    return lake, lake.create_table("shop.orders", ROWS.schema)


def stored(table: Any) -> set[str]:
    return {p.name for p in Path(stats_directory(table.metadata).removeprefix("file:")).glob("*")}


def analysed_twice(home: Path) -> tuple[Any, Any, int]:
    lake, table = make_table(home)
    table.append(ROWS)
    table.analyze()
    first = table.current_snapshot.snapshot_id
    table.append(ROWS)
    table.analyze()
    return lake, table, first


def test_an_expired_snapshots_analysis_goes_but_not_what_a_later_one_builds_on(tmp_path: Path) -> None:
    _, table, first = analysed_twice(tmp_path)
    before = stored(table)
    report = table.expire_snapshots(snapshot_ids=[first])
    gone = before - stored(table)
    assert len(before) == 6 and len(gone) == 2  # the record, and what it said of the whole table
    assert {Path(p).name for p in report.files.statistics_files} >= gone
    assert f"{first}.analysis.json" in gone
    assert table.analyze().files_read == 0
    assert table.statistics().column("id").ndv.value == 10


def test_a_dry_run_deletes_nothing(tmp_path: Path) -> None:
    _, table, first = analysed_twice(tmp_path)
    before = stored(table)
    assert len(table.expire_snapshots(snapshot_ids=[first], dry_run=True).files.statistics_files) >= 2
    assert stored(table) == before


def test_a_record_that_cannot_be_read_keeps_all_files_of_summaries(tmp_path: Path) -> None:
    _, table, first = analysed_twice(tmp_path)
    before = stored(table)
    kept = record_path(stats_directory(table.metadata), table.current_snapshot.snapshot_id)
    Path(kept.removeprefix("file:")).write_bytes(b"{")
    table.expire_snapshots(snapshot_ids=[first])
    assert before - stored(table) == {f"{first}.analysis.json"}


def test_a_purged_table_leaves_no_analysis(tmp_path: Path) -> None:
    lake, table, _ = analysed_twice(tmp_path)
    lake.drop_table("shop.orders", purge=True)
    assert stored(table) == set()


def test_a_purge_leaves_other_things_in_a_directory_that_a_table_was_told(tmp_path: Path) -> None:
    lake, table, _ = analysed_twice(tmp_path)
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "letters.txt").write_text("mine")
    table.set_properties({"skipstone.stats.path": str(shared)})
    table.analyze()
    other = lake.create_table("shop.others", ROWS.schema, properties={"skipstone.stats.path": str(shared)})
    other.append(ROWS)
    other.analyze()
    lake.drop_table("shop.orders", purge=True)
    assert (shared / "letters.txt").exists() and stored(table) == set()
    assert other.analyze().files_read == 0
