"""Summaries of Iceberg Java's snapshots, computed again from the manifests alone."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.golden import GoldenTable, golden_tables
from tests.support.table_reader import OpenTable, open_golden

from skipstone.metadata.manifests.manifest import EntryStatus
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.summary import SummaryCollector, totals_of

TABLES = [t for t in golden_tables() if t.name not in ("v3_encrypted", "v2_empty")]
CHANGES = (
    "added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files",
    "added-equality-delete-files", "removed-equality-delete-files", "added-position-delete-files",
    "removed-position-delete-files", "added-dvs", "removed-dvs", "added-records", "deleted-records",
    "added-files-size", "removed-files-size", "added-position-deletes", "removed-position-deletes",
    "added-equality-deletes", "removed-equality-deletes", "changed-partition-count",
)  # fmt: skip
TOTALS = (
    "total-data-files", "total-delete-files", "total-records", "total-files-size", "total-position-deletes",
    "total-equality-deletes",
)  # fmt: skip
# Imported files came in whole manifests, and Java does not look into those: it leaves these out, or calls them zero.
IMPORTED = ("v2_migrated", "v2_name_mapping")
UNKNOWN_TO_JAVA = ("added-files-size", "changed-partition-count")


def _files(opened: OpenTable, snapshot: Snapshot, keep: Callable[[pa.Table], pa.Array]) -> list[tuple[int, pa.Table]]:
    return [
        (m.partition_spec_id, entries.filter(keep(entries)))
        for m in opened.manifests(snapshot)
        for entries in [opened.entries(m, maps=False)]
    ]


def _changed(snapshot: Snapshot, status: EntryStatus) -> Callable[[pa.Table], pa.Array]:
    return lambda entries: pc.and_(
        pc.equal(entries.column("status"), status), pc.equal(entries.column("snapshot_id"), snapshot.snapshot_id)
    )


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_changes_counted_from_manifests_equal_javas_summaries(table: GoldenTable) -> None:
    opened = open_golden(table)
    schema = opened.metadata.current_schema
    for snapshot in opened.metadata.snapshots:
        javas = snapshot.summary or {}
        if javas.get("manifests-replaced", "0") != "0":
            continue  # entries of removed files left with the manifests that were replaced
        collector = SummaryCollector()
        for spec_id, files in _files(opened, snapshot, _changed(snapshot, EntryStatus.ADDED)):
            collector.add(files, spec=opened.metadata.spec(spec_id), schema=schema)
        for spec_id, files in _files(opened, snapshot, _changed(snapshot, EntryStatus.DELETED)):
            collector.remove(files, spec=opened.metadata.spec(spec_id), schema=schema)
        ours = collector.summary(snapshot.operation or Operation.APPEND, None)
        compared = [name for name in CHANGES if table.name not in IMPORTED or name not in UNKNOWN_TO_JAVA]
        found = {name: ours.get(name) for name in compared}
        assert found == {name: javas.get(name) for name in compared}, snapshot.snapshot_id


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_totals_counted_from_live_files_equal_javas_summaries(table: GoldenTable) -> None:
    opened = open_golden(table)
    for snapshot in opened.metadata.snapshots:
        columns = ["content", "record_count", "file_size_in_bytes", "content_offset", "content_size_in_bytes"]
        live = _files(opened, snapshot, lambda e: pc.not_equal(e.column("status"), EntryStatus.DELETED))
        if not live:
            continue
        ours = totals_of(pa.concat_tables([files.select(columns) for _, files in live]))
        javas = {name: (snapshot.summary or {}).get(name) for name in TOTALS}
        if table.name in IMPORTED:
            del ours["total-files-size"], javas["total-files-size"]
        assert ours == javas, snapshot.snapshot_id
