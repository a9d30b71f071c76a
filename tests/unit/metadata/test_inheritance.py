"""What manifest entries inherit, and what they must not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.manifests.inheritance import inherit
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile

EXISTING, ADDED, DELETED = 0, 1, 2


def manifest(**facts: Any) -> ManifestFile:
    return ManifestFile(
        **{
            "manifest_path": "m0.avro",
            "manifest_length": 1,
            "sequence_number": 7,
            "min_sequence_number": 1,
            "added_snapshot_id": 70,
            **facts,
        }
    )


def table(**columns: list[int | None]) -> pa.Table:
    types = {"status": pa.int32()}
    return pa.table({name: pa.array(values, types.get(name, pa.int64())) for name, values in columns.items()})


def test_null_snapshot_ids_become_the_manifests() -> None:
    got = inherit(table(status=[ADDED, EXISTING, DELETED], snapshot_id=[None, 3, None]), manifest())
    assert got.column("snapshot_id").to_pylist() == [70, 3, 70]


def test_added_entries_inherit_both_sequence_numbers() -> None:
    entries = table(status=[ADDED, ADDED, EXISTING], sequence_number=[None, 2, 4], file_sequence_number=[None, None, 5])
    got = inherit(entries, manifest())
    assert got.column("sequence_number").to_pylist() == [7, 2, 4]
    assert got.column("file_sequence_number").to_pylist() == [7, 7, 5]


@pytest.mark.parametrize("status", [EXISTING, DELETED])
@pytest.mark.parametrize("name", ["sequence_number", "file_sequence_number"])
def test_other_entries_without_a_sequence_number_are_damage(status: int, name: str) -> None:
    entries = table(status=[ADDED, status], **{name: [None, None]})
    with pytest.raises(FormatViolation, match=rf"manifest m0.avro: entry 1, {name}: expected a number"):
        inherit(entries, manifest())


def test_all_entries_of_a_v1_manifest_have_sequence_number_zero() -> None:
    entries = table(status=[ADDED, EXISTING, DELETED], sequence_number=[None] * 3, file_sequence_number=[None] * 3)
    got = inherit(entries, manifest(sequence_number=0))
    assert got.column("sequence_number").to_pylist() == [0, 0, 0]
    assert got.column("file_sequence_number").to_pylist() == [0, 0, 0]


def test_numbers_stay_null_while_the_manifest_is_not_committed() -> None:
    got = inherit(table(status=[ADDED], sequence_number=[None]), manifest(sequence_number=-1))
    assert got.column("sequence_number").to_pylist() == [None]


def test_first_row_ids_count_only_files_that_inherit_one() -> None:
    entries = table(
        status=[ADDED, EXISTING, DELETED, EXISTING, ADDED],
        record_count=[10, 20, 30, 40, 50],
        first_row_id=[None, 5, None, None, None],
    )
    got = inherit(entries, manifest(first_row_id=1000))
    assert got.column("first_row_id").to_pylist() == [1000, 5, None, 1010, 1050]


def test_first_row_ids_stay_null_without_one_on_the_manifest() -> None:
    got = inherit(table(status=[ADDED], record_count=[1], first_row_id=[None]), manifest())
    assert got.column("first_row_id").to_pylist() == [None]


def test_delete_files_never_get_a_first_row_id() -> None:
    deletes = manifest(content=ManifestContent.DELETES, first_row_id=3)
    got = inherit(table(status=[ADDED], record_count=[1], first_row_id=[None]), deletes)
    assert got.column("first_row_id").to_pylist() == [None]


def test_other_columns_and_the_schema_stay_as_they_are() -> None:
    entries = table(status=[ADDED], snapshot_id=[None]).append_column("file_path", pa.array(["f"]))
    got = inherit(entries, manifest())
    assert got.schema == entries.schema
    assert got.column("file_path").to_pylist() == ["f"]


def test_without_the_columns_to_inherit_nothing_happens() -> None:
    entries = pa.table({"file_path": ["a", "b"]})
    assert inherit(entries, manifest()) is entries


def test_a_column_read_without_what_its_inheritance_needs_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"Cannot inherit first_row_id .* got no record_count"):
        inherit(table(status=[ADDED], first_row_id=[None]), manifest(first_row_id=1))


def test_chunked_and_empty_tables_work() -> None:
    part = table(status=[ADDED], record_count=[3], first_row_id=[None], snapshot_id=[None], sequence_number=[None])
    got = inherit(pa.concat_tables([part, part]), manifest(first_row_id=9))
    assert got.column("first_row_id").to_pylist() == [9, 12]
    assert inherit(part.slice(0, 0), manifest(first_row_id=9)).num_rows == 0
