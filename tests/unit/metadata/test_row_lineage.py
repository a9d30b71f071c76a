"""Row ids through the whole metadata tree, and the rules of their assignment."""

from __future__ import annotations

from typing import Any

import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.inheritance import inherit
from skipstone.metadata.manifests.manifest import (
    DataFile,
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from skipstone.metadata.manifests.manifest_list import read_manifest_list, write_manifest_list
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.manifests.manifest_write import write_manifest
from skipstone.metadata.partitions.partitioning import UNPARTITIONED
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.row_lineage import assign_first_row_ids
from skipstone.metadata.types import LONG, Field

SCHEMA = Schema(fields=(Field(id=1, name="id", type=LONG),))


def manifest(path: str, added: int | None, existing: int | None, **facts: Any) -> ManifestFile:
    return ManifestFile(
        manifest_path=path,
        manifest_length=1,
        added_snapshot_id=5,
        added_files_count=1,
        existing_files_count=1,
        deleted_files_count=0,
        added_rows_count=added,
        existing_rows_count=existing,
        deleted_rows_count=0,
        **facts,
    )


def entry(status: EntryStatus, path: str, rows: int, first_row_id: int | None = None) -> ManifestEntry:
    numbers = {} if status == EntryStatus.ADDED else {"snapshot_id": 3, "sequence_number": 3, "file_sequence_number": 3}
    return ManifestEntry(
        status=status,
        data_file=DataFile(
            file_path=path,
            file_format="PARQUET",
            record_count=rows,
            file_size_in_bytes=100,
            first_row_id=first_row_id,
        ),
        **numbers,  # type: ignore[arg-type]
    )


def test_the_example_of_the_spec_holds_from_manifest_bytes_to_row_ids() -> None:
    """ "Row Lineage Example": a table with next-row-id 1000 gets three manifests beside an existing one."""
    entries = {
        "added1": [
            entry(EntryStatus.EXISTING, "data1", 25, first_row_id=800),
            entry(EntryStatus.ADDED, "data2", 50),
            entry(EntryStatus.ADDED, "data3", 50),
        ],
        "added2": [entry(EntryStatus.EXISTING, "data4", 100, first_row_id=500)],
        "added3": [
            entry(EntryStatus.ADDED, "data5", 125),
            entry(EntryStatus.EXISTING, "data6", 25, first_row_id=825),
        ],
    }
    written = {
        name: write_manifest(rows, format_version=3, schema=SCHEMA, spec=UNPARTITIONED, snapshot_id=5)
        for name, rows in entries.items()
    }
    existing = manifest("existing", 75, 0, first_row_id=925, sequence_number=4, min_sequence_number=4)
    list_ = write_manifest_list(
        [existing, *(w.manifest_file(name) for name, w in written.items())],
        format_version=3,
        snapshot_id=5,
        parent_snapshot_id=4,
        sequence_number=5,
        first_row_id=1000,
    )
    assert list_.next_row_id == 1375

    read = read_manifest_list(list_.data, source="list", format_version=3)
    assert read == list(list_.manifests)
    assert [(m.manifest_path, m.added_rows_count, m.existing_rows_count, m.first_row_id) for m in read] == [
        ("existing", 75, 0, 925),
        ("added1", 100, 25, 1000),
        ("added2", 0, 100, 1125),
        ("added3", 125, 25, 1225),
    ]

    added1 = read_manifest(written["added1"].data, source="added1", inherit_from=read[1])
    assert added1.column("first_row_id").to_pylist() == [800, 1000, 1050]
    assert added1.column("sequence_number").to_pylist() == [3, 5, 5]
    assert added1.column("snapshot_id").to_pylist() == [3, 5, 5]
    raw = read_manifest(written["added1"].data, source="added1")
    assert raw.column("first_row_id").to_pylist() == [800, None, None]
    assert inherit(raw, read[1]).equals(added1)


def test_after_an_upgrade_old_manifests_take_ids_too_and_deleted_files_take_none() -> None:
    rows = [
        entry(EntryStatus.EXISTING, "a", 10),
        entry(EntryStatus.DELETED, "b", 1000),
        entry(EntryStatus.EXISTING, "c", 5),
    ]
    written = write_manifest(rows, format_version=2, schema=SCHEMA, spec=UNPARTITIONED, snapshot_id=4)
    list_ = write_manifest_list(
        [written.manifest_file("old", added_snapshot_id=5)],
        format_version=3,
        snapshot_id=5,
        parent_snapshot_id=4,
        sequence_number=5,
        first_row_id=0,
    )
    assert list_.next_row_id == 15
    table = read_manifest(written.data, source="old", inherit_from=list_.manifests[0])
    assert table.column("first_row_id").to_pylist() == [0, None, 10]


def test_delete_manifests_take_no_ids() -> None:
    deletes = manifest("deletes", 10, 10, content=ManifestContent.DELETES)
    (first, second), next_row_id = assign_first_row_ids([deletes, manifest("data", 1, 2)], 7)
    assert (first.first_row_id, second.first_row_id, next_row_id) == (None, 7, 10)


def test_assigned_ids_are_kept_and_take_no_new_range() -> None:
    assigned, next_row_id = assign_first_row_ids([manifest("a", 5, 0, first_row_id=3), manifest("b", 2, 0)], 100)
    assert [m.first_row_id for m in assigned] == [3, 100]
    assert next_row_id == 102


def test_a_manifest_with_unknown_row_counts_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"manifest m: .*Count the rows"):
        assign_first_row_ids([manifest("m", None, 0)], 0)


def test_a_negative_start_is_refused() -> None:
    with pytest.raises(InvalidInput, match="-1"):
        assign_first_row_ids([], -1)


def test_a_delete_manifest_with_a_first_row_id_is_refused() -> None:
    with pytest.raises(InvalidInput, match="first_row_id null, got 4"):
        assign_first_row_ids([manifest("m", 1, 0, content=ManifestContent.DELETES, first_row_id=4)], 10)
