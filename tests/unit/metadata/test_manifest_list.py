"""Manifest lists: numbers assigned on writing, defaults and field ids on reading, damage refused."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from skipstone.errors import FormatViolation, InvalidInput, UnknownVersion
from skipstone.metadata.avro import Caps
from skipstone.metadata.avro.encode import encode
from skipstone.metadata.manifests.manifest import FieldSummary, ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_list import (
    MANIFEST_LIST_SCHEMA,
    embedded_manifests,
    manifest_list_to_arrow,
    manifests_from_arrow,
    manifests_to_arrow,
    read_manifest_list,
    write_manifest_list,
)
from skipstone.metadata.manifests.manifest_schema import manifest_file_schema

SUMMARIES = (
    FieldSummary(contains_null=True, contains_nan=None, lower_bound=None, upper_bound=None),
    FieldSummary(contains_null=False, contains_nan=True, lower_bound=b"", upper_bound=b"\xff"),
)


def manifest(**facts: Any) -> ManifestFile:
    known: dict[str, Any] = {
        "manifest_path": "s3://b/m0.avro",
        "manifest_length": 1234,
        "partition_spec_id": 3,
        "added_snapshot_id": 9,
        "added_files_count": 1,
        "existing_files_count": 2,
        "deleted_files_count": 3,
        "added_rows_count": 10,
        "existing_rows_count": 20,
        "deleted_rows_count": 30,
        "partitions": SUMMARIES,
        "key_metadata": b"key",
    }
    return ManifestFile(**{**known, **facts})


def write(*manifests: ManifestFile, version: int = 2, **options: Any) -> bytes:
    return written(*manifests, version=version, **options).data


def written(*manifests: ManifestFile, version: int = 2, **options: Any) -> Any:
    settings = {"snapshot_id": 9, "parent_snapshot_id": 8, "sequence_number": 6, "first_row_id": 0, **options}
    return write_manifest_list(manifests, format_version=version, **settings)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_manifests_come_back_in_order(version: int) -> None:
    numbers = 0 if version == 1 else 4
    manifests = [
        manifest(sequence_number=numbers, min_sequence_number=numbers, manifest_path=f"m{i}", partitions=p)
        for i, p in enumerate((SUMMARIES, (), None))
    ]
    if version == 3:
        manifests = [replace(m, first_row_id=i) for i, m in enumerate(manifests)]
    assert read_manifest_list(write(*manifests, version=version), source="l", format_version=version) == manifests


def test_new_manifests_take_the_sequence_number_of_the_snapshot() -> None:
    older = manifest(sequence_number=2, min_sequence_number=1, added_snapshot_id=5)
    listed = written(manifest(), manifest(min_sequence_number=3), older)
    assert [(m.sequence_number, m.min_sequence_number) for m in listed.manifests] == [(6, 6), (6, 3), (2, 1)]
    assert read_manifest_list(listed.data, source="l") == list(listed.manifests)
    assert listed.next_row_id is None


def test_the_same_manifests_can_be_listed_again_with_another_number() -> None:
    new = manifest()
    first, retry = written(new, sequence_number=6), written(new, sequence_number=7)
    assert (first.manifests[0].sequence_number, retry.manifests[0].sequence_number) == (6, 7)


def test_a_manifest_of_another_snapshot_needs_its_own_number() -> None:
    with pytest.raises(InvalidInput, match="snapshot 5 added"):
        write(manifest(added_snapshot_id=5))


def test_v3_lists_assign_row_ids_and_tell_the_next_one() -> None:
    listed = written(manifest(), manifest(content=ManifestContent.DELETES), manifest(), version=3, first_row_id=100)
    assert [m.first_row_id for m in listed.manifests] == [100, None, 130]
    assert listed.next_row_id == 160
    assert read_manifest_list(listed.data, source="l") == list(listed.manifests)


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        (1, {"snapshot-id": "9", "parent-snapshot-id": "8", "format-version": "1"}),
        (2, {"snapshot-id": "9", "parent-snapshot-id": "8", "sequence-number": "6", "format-version": "2"}),
        (3, {"first-row-id": "0", "sequence-number": "6", "format-version": "3"}),
    ],
)
def test_the_header_names_the_snapshot(version: int, keys: dict[str, str]) -> None:
    metadata = fastavro.reader(io.BytesIO(write(manifest(), version=version))).metadata
    assert {k: metadata[k] for k in keys} == keys
    assert ("first-row-id" in metadata, "sequence-number" in metadata) == (version == 3, version > 1)


def test_a_first_snapshot_has_a_null_parent() -> None:
    metadata = fastavro.reader(io.BytesIO(write(manifest(), parent_snapshot_id=None))).metadata
    assert metadata["parent-snapshot-id"] == "null"


def test_v1_lists_hold_no_sequence_numbers_and_read_as_zero() -> None:
    data = write(manifest(added_rows_count=None, added_files_count=None), version=1)
    (row,) = list(fastavro.reader(io.BytesIO(data)))
    assert not {"content", "sequence_number", "min_sequence_number", "first_row_id"} & set(row)
    (read,) = read_manifest_list(data, source="l", format_version=2)
    assert (read.content, read.sequence_number, read.min_sequence_number) == (ManifestContent.DATA, 0, 0)
    assert (read.added_files_count, read.added_rows_count) == (None, None)
    assert not read.has_no_live_files


def test_an_empty_list_is_written_and_read() -> None:
    assert read_manifest_list(write(), source="l") == []


REFUSED = [
    ("deletes in v1", manifest(content=ManifestContent.DELETES), 1, "data manifest in a v1 table"),
    ("unknown count in v2", manifest(existing_files_count=None), 2, "expected existing_files_count"),
    ("unknown rows in v3", manifest(added_rows_count=None), 3, "expected added_rows_count"),
    ("row id in v2", manifest(first_row_id=1), 2, "first_row_id null before v3"),
    ("row id in v1", manifest(first_row_id=1), 1, "first_row_id null before v3"),
    ("negative length", manifest(manifest_length=-1), 2, "length of 0 or more, got -1"),
    ("count beyond 32 bits", manifest(added_files_count=2**31), 2, "added_files_count: expected int32"),
    ("unknown version", manifest(), 4, "version 4"),
]


@pytest.mark.parametrize(("entry", "version", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_a_manifest_that_the_version_cannot_list_is_refused(entry: ManifestFile, version: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        write(entry, version=version)


def test_a_v3_list_needs_the_tables_next_row_id() -> None:
    with pytest.raises(InvalidInput, match="first_row_id, the table's next row id"):
        write(manifest(), version=3, first_row_id=None)


# -- reading what others wrote --------------------------------------------------------------------------------------


def foreign(change: Any, *, version: int = 2, metadata: dict[str, bytes] | None = None, **columns: Any) -> bytes:
    """A list written with a changed Avro schema and changed columns."""
    schema = json.loads(manifest_file_schema(version).avro_json)
    change(schema)
    table = manifests_to_arrow([manifest(sequence_number=1, min_sequence_number=1)])
    for name, column in columns.items():
        place = table.schema.get_field_index(name)
        table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
    names = [f["name"] for f in schema["fields"]]
    return encode(schema, table.select([n for n in names if n in table.column_names]), metadata=metadata or {})


def field(schema: Any, name: str) -> Any:
    return next(f for f in schema["fields"] if f["name"] == name)


def unchanged(schema: Any) -> None:
    pass


def test_old_names_are_found_by_field_id() -> None:
    def rename(schema: Any) -> None:
        for kind in ("added", "existing", "deleted"):
            field(schema, f"{kind}_files_count")["name"] = f"{kind}_data_files_count"
        items = field(schema, "partitions")["type"][1]["items"]
        items["fields"] = [items["fields"][i] for i in (2, 0, 3)]  # reordered, and without contains_nan
        items["fields"][0]["name"] = "lower"

    summary = pa.array([[{"lower": b"a", "contains_null": True, "upper_bound": b"z"}]])
    data = foreign(
        rename,
        added_data_files_count=pa.array([4], pa.int32()),
        existing_data_files_count=pa.array([5], pa.int32()),
        deleted_data_files_count=pa.array([6], pa.int32()),
        partitions=summary,
    )
    (read,) = read_manifest_list(data, source="l")
    assert (read.added_files_count, read.existing_files_count, read.deleted_files_count) == (4, 5, 6)
    assert read.partitions == (FieldSummary(contains_null=True, lower_bound=b"a", upper_bound=b"z"),)


def test_fields_without_ids_are_found_by_name() -> None:
    def strip(schema: Any) -> None:
        for f in schema["fields"]:
            del f["field-id"]
        for f in field(schema, "partitions")["type"][1]["items"]["fields"]:
            del f["field-id"]

    (read,) = read_manifest_list(foreign(strip), source="l")
    assert read == manifest(sequence_number=1, min_sequence_number=1)


def test_unknown_fields_and_longs_for_ints_are_accepted() -> None:
    def widen(schema: Any) -> None:
        field(schema, "partition_spec_id")["type"] = "long"
        schema["fields"].append({"name": "color", "type": "string", "field-id": 9999})

    (read,) = read_manifest_list(foreign(widen, color=pa.array(["red"])), source="l")
    assert read.partition_spec_id == 3


def remove(name: str) -> Any:
    return lambda schema: schema["fields"].remove(field(schema, name))


def retype(name: str, avro: Any) -> Any:
    return lambda schema: field(schema, name).update(type=avro)


def twice(schema: Any) -> None:
    schema["fields"].append({"name": "again", "type": ["null", "long"], "field-id": 501})


LONGS = pa.array([-1])
DAMAGED: list[tuple[str, bytes, str]] = [
    ("no path", foreign(remove("manifest_path")), r"expected the field manifest_path \(id 500\), got none"),
    ("no length", foreign(remove("manifest_length")), "expected the field manifest_length"),
    ("no snapshot", foreign(remove("added_snapshot_id")), "expected the field added_snapshot_id"),
    (
        "null path",
        foreign(retype("manifest_path", ["null", "string"]), manifest_path=pa.nulls(1, pa.string())),
        "manifest 0, manifest_path: expected a value, got null",
    ),
    ("content 2", foreign(unchanged, content=pa.array([2], pa.int32())), "manifest 0, content: expected 0 .* got 2"),
    ("negative length", foreign(unchanged, manifest_length=LONGS), "manifest 0, manifest_length: expected 0 or more"),
    ("negative count", foreign(unchanged, added_rows_count=LONGS), "manifest 0, added_rows_count: .* got -1"),
    ("negative number", foreign(unchanged, sequence_number=LONGS), "sequence_number: expected 0 or more"),
    ("text for a length", foreign(retype("manifest_length", "string"), manifest_length=pa.array(["1"])), "got string"),
    (
        "33-bit spec id",
        foreign(retype("partition_spec_id", "long"), partition_spec_id=pa.array([2**32])),
        "partition_spec_id: expected int32",
    ),
    ("an id twice", foreign(twice), "expected one field manifest_length"),
    (
        "summaries that are numbers",
        foreign(retype("partitions", {"type": "array", "items": "long"}), partitions=pa.array([[1]])),
        "field_summary records",
    ),
    ("version text", foreign(unchanged, metadata={"format-version": b"two"}), "format-version: expected a number"),
    ("no Avro", b"PAR1 and more", "Avro magic"),
    ("nothing", b"", "Avro magic"),
]


@pytest.mark.parametrize(("data", "message"), [c[1:] for c in DAMAGED], ids=[c[0] for c in DAMAGED])
def test_a_damaged_list_is_a_format_violation_that_names_the_file(data: bytes, message: str) -> None:
    with pytest.raises(FormatViolation, match=rf"Invalid manifest list lists/s.avro: .*{message}"):
        read_manifest_list(data, source="lists/s.avro")


def test_every_truncation_of_a_list_is_a_format_violation() -> None:
    data = write(manifest(), manifest())
    for size in range(len(data)):
        try:
            assert read_manifest_list(data[:size], source="l") == []  # cut right after the header
        except FormatViolation:
            continue


def test_a_list_from_the_future_is_unsupported() -> None:
    with pytest.raises(UnknownVersion, match="got 4"):
        read_manifest_list(foreign(unchanged, metadata={"format-version": b"4"}), source="l")


def test_a_list_newer_than_its_table_is_refused() -> None:
    with pytest.raises(FormatViolation, match="expected v2 or earlier, got v3"):
        read_manifest_list(write(manifest(), version=3), source="l", format_version=2)


def test_a_list_that_inflates_beyond_the_cap_is_refused() -> None:
    data = write(*(manifest(manifest_path="p" * 1000) for _ in range(50)))
    with pytest.raises(FormatViolation):
        read_manifest_list(data, source="l", caps=Caps(inflated_bytes_max=10_000))


def test_the_arrow_form_has_the_columns_of_the_spec() -> None:
    table = manifest_list_to_arrow(write(manifest(), version=1), source="l")
    assert table.schema == MANIFEST_LIST_SCHEMA
    assert table.column("sequence_number").to_pylist() == [0]
    assert manifests_to_arrow(manifests_from_arrow(table)) == table


def test_manifests_embedded_in_v1_metadata_are_listed_without_counts() -> None:
    first, second = embedded_manifests(["a", "b"], [10, 20], snapshot_id=4)
    assert (first.manifest_path, first.manifest_length, second.manifest_length) == ("a", 10, 20)
    assert (first.sequence_number, first.min_sequence_number, first.added_snapshot_id) == (0, 0, 4)
    assert (first.added_files_count, first.partitions, first.has_no_live_files) == (None, None, False)
    with pytest.raises(InvalidInput, match="each of 2 manifests, got 1"):
        embedded_manifests(["a", "b"], [10], snapshot_id=4)


def test_a_manifest_of_deleted_entries_only_is_proven_to_have_no_live_files() -> None:
    assert manifest(added_files_count=0, existing_files_count=0).has_no_live_files
    assert not manifest(added_files_count=0, existing_files_count=None).has_no_live_files
