"""Manifests written here: read by others, counted and summarized, and refused when they break the format."""

from __future__ import annotations

import io
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list as pyiceberg_manifest_list

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.manifests.manifest import (
    DataFile,
    EntryStatus,
    FieldSummary,
    FileContent,
    ManifestContent,
    ManifestEntry,
)
from skipstone.metadata.manifests.manifest_list import write_manifest_list
from skipstone.metadata.manifests.manifest_read import read_manifest, read_manifest_header
from skipstone.metadata.manifests.manifest_rows import arrow_to_entries, entries_to_arrow
from skipstone.metadata.manifests.manifest_write import WrittenManifest, write_manifest
from skipstone.metadata.partitions.partitioning import UNPARTITIONED, PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DATE, DOUBLE, LONG, STRING, Field, FixedType

SCHEMA = Schema(
    schema_id=3,
    fields=(
        Field(id=1, name="id", type=LONG, required=True),
        Field(id=2, name="state", type=STRING),
        Field(id=3, name="price", type=DOUBLE),
        Field(id=4, name="day", type=DATE),
    ),
)
SPEC = PartitionSpec(
    spec_id=2,
    fields=(
        PartitionField(source_ids=(2,), field_id=1000, name="state", transform=parse_transform("identity")),
        PartitionField(source_ids=(4,), field_id=1001, name="day_month", transform=parse_transform("month")),
    ),
)
PARTITION = SPEC.partition_type(SCHEMA)
SNAPSHOT = 77


def data_file(**changes: Any) -> DataFile:
    facts: dict[str, Any] = {
        "file_path": "s3://b/t/data/f.parquet",
        "file_format": "PARQUET",
        "partition": {1000: "CA", 1001: 600},
        "record_count": 10,
        "file_size_in_bytes": 1000,
        "column_sizes": {1: 80, 2: 40},
        "value_counts": {1: 10, 2: 10, 3: 10},
        "null_value_counts": {1: 0, 2: 1, 3: 0},
        "nan_value_counts": {3: 2},
        "lower_bounds": {1: struct.pack("<q", 1), 2: b"CA"},
        "upper_bounds": {1: struct.pack("<q", 9), 2: b"NY"},
        "split_offsets": (4, 500),
        "sort_order_id": 0,
    }
    return DataFile(**{**facts, **changes})


def delete_file(**changes: Any) -> DataFile:
    nothing = dict.fromkeys(
        ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"), None
    )
    return data_file(
        **{**nothing, "split_offsets": None, "sort_order_id": None, "content": FileContent.POSITION_DELETES, **changes}
    )


def deletion_vector(**changes: Any) -> DataFile:
    facts = {
        "file_format": "PUFFIN",
        "referenced_data_file": "s3://b/t/data/f.parquet",
        "content_offset": 4,
        "content_size_in_bytes": 40,
    }
    return delete_file(**{**facts, **changes})


def added(file: DataFile, **changes: Any) -> ManifestEntry:
    return ManifestEntry(**{"status": EntryStatus.ADDED, "data_file": file, **changes})


def existing(file: DataFile, **changes: Any) -> ManifestEntry:
    facts = {"status": EntryStatus.EXISTING, "snapshot_id": 70, "sequence_number": 4, "file_sequence_number": 5}
    return ManifestEntry(**{**facts, "data_file": file, **changes})


def write(*entries: ManifestEntry, **options: Any) -> WrittenManifest:
    settings = {"format_version": 2, "schema": SCHEMA, "spec": SPEC, "snapshot_id": SNAPSHOT, **options}
    return write_manifest(entries, **settings)


def rows_of(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_entries_come_back_as_they_were(version: int) -> None:
    entries = [added(data_file(), snapshot_id=SNAPSHOT), added(data_file(partition={}), snapshot_id=SNAPSHOT)]
    if version > 1:
        entries.append(existing(data_file(file_path="b"), status=EntryStatus.DELETED))
    if version > 2:
        entries.append(existing(data_file(file_path="c", first_row_id=12)))
    written = write(*entries, format_version=version)
    read = read_manifest(written.data, source="m", maps=True)
    expected = [
        replace(
            e,
            data_file=replace(e.data_file, partition={1000: None, 1001: None, **e.data_file.partition}),
            sequence_number=e.sequence_number if version > 1 else 0,
            file_sequence_number=e.file_sequence_number if version > 1 else 0,
        )
        for e in entries
    ]
    assert arrow_to_entries(read, PARTITION) == expected


def test_an_arrow_table_and_entries_give_the_same_manifest() -> None:
    entries = [added(data_file()), existing(data_file(partition={1000: None, 1001: -1}))]
    one_by_one = write(*entries)
    whole = write_manifest(
        entries_to_arrow(entries, PARTITION), format_version=2, schema=SCHEMA, spec=SPEC, snapshot_id=SNAPSHOT
    )
    assert rows_of(whole.data) == rows_of(one_by_one.data)
    assert replace(whole, data=b"") == replace(one_by_one, data=b"")


def test_columns_left_out_of_a_table_are_null_and_the_rest_may_come_in_any_order() -> None:
    table = pa.table(
        {
            "record_count": pa.array([1]),
            "file_size_in_bytes": pa.array([2], pa.int32()),
            "file_format": ["parquet"],
            "file_path": ["p"],
            "partition": pa.array([{"day_month": 1, "state": "CA"}]),
            "status": pa.array([1], pa.int64()),
        }
    )
    written = write_manifest(table, format_version=2, schema=SCHEMA, spec=SPEC, snapshot_id=SNAPSHOT)
    (row,) = rows_of(written.data)
    assert row["data_file"]["partition"] == {"state": "CA", "day_month": 1}
    assert row["data_file"]["content"] == 0
    assert row["data_file"]["lower_bounds"] is None


def test_the_header_tells_schema_spec_version_and_content() -> None:
    written = write(added(deletion_vector()), format_version=3, content=ManifestContent.DELETES)
    header = read_manifest_header(written.data, source="m")
    assert (header.schema, header.spec, header.format_version) == (SCHEMA, SPEC, 3)
    assert header.content == ManifestContent.DELETES
    metadata = fastavro.reader(io.BytesIO(written.data)).metadata
    assert (metadata["schema-id"], metadata["partition-spec-id"], metadata["content"]) == ("3", "2", "deletes")
    assert [f["field-id"] for f in json.loads(metadata["partition-spec"])] == [1000, 1001]
    assert json.loads(metadata["iceberg.schema"])["fields"][0]["name"] == "status"


def test_v1_manifests_have_no_content_but_a_block_size() -> None:
    written = write(added(data_file()), format_version=1)
    reader = fastavro.reader(io.BytesIO(written.data))
    assert "content" not in reader.metadata
    (row,) = list(reader)
    assert set(row) == {"status", "snapshot_id", "data_file"}
    assert row["data_file"]["block_size_in_bytes"] == 64 * 1024 * 1024
    assert "content" not in row["data_file"]
    assert row["snapshot_id"] == SNAPSHOT


def test_facts_count_files_and_rows_by_status() -> None:
    written = write(
        added(data_file(record_count=1)),
        added(data_file(record_count=2)),
        existing(data_file(record_count=4, partition={1000: None, 1001: -3})),
        existing(data_file(record_count=8), status=EntryStatus.DELETED, sequence_number=1),
    )
    manifest = written.manifest_file("path", added_snapshot_id=80)
    assert (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count) == (2, 1, 1)
    assert (manifest.added_rows_count, manifest.existing_rows_count, manifest.deleted_rows_count) == (3, 4, 8)
    assert manifest.min_sequence_number == 4  # deleted files do not count
    assert manifest.sequence_number == -1
    assert (manifest.manifest_path, manifest.manifest_length) == ("path", len(written.data))
    assert (manifest.partition_spec_id, manifest.added_snapshot_id) == (2, 80)
    assert manifest.partitions == (
        FieldSummary(contains_null=True, contains_nan=False, lower_bound=b"CA", upper_bound=b"CA"),
        FieldSummary(
            contains_null=False,
            contains_nan=False,
            lower_bound=struct.pack("<i", -3),
            upper_bound=struct.pack("<i", 600),
        ),
    )


def test_the_least_sequence_number_is_left_to_the_commit_when_all_files_are_new() -> None:
    assert write(added(data_file())).min_sequence_number == -1
    assert write(added(data_file()), added(data_file(), sequence_number=3)).min_sequence_number == 3


def test_added_entries_take_the_snapshot_id_unless_it_is_to_be_inherited() -> None:
    assert [r["snapshot_id"] for r in rows_of(write(added(data_file())).data)] == [SNAPSHOT]
    assert [r["snapshot_id"] for r in rows_of(write(added(data_file()), snapshot_id=None).data)] == [None]
    assert [r["snapshot_id"] for r in rows_of(write(existing(data_file())).data)] == [70]


def test_a_manifest_without_entries_is_written() -> None:
    written = write()
    assert rows_of(written.data) == []
    assert (written.added_files_count, written.min_sequence_number) == (0, -1)
    assert written.partitions[0] == FieldSummary(contains_null=False, contains_nan=False)


def test_an_unpartitioned_manifest_has_empty_tuples() -> None:
    written = write(added(data_file(partition={})), spec=UNPARTITIONED)
    assert rows_of(written.data)[0]["data_file"]["partition"] == {}
    assert written.partitions == ()


def test_many_entries_are_written_like_few() -> None:
    entries = [added(data_file(file_path=f"f{i}", record_count=i)) for i in range(700)]
    compiled, reference = write(*entries, engine="numba"), write(*entries, engine="python")
    assert rows_of(compiled.data) == rows_of(reference.data)
    assert compiled.added_rows_count == sum(range(700))


@pytest.mark.parametrize("version", [1, 2])
def test_pyiceberg_reads_our_manifest_and_list(version: int, tmp_path: Path) -> None:
    entries = [added(data_file()), added(data_file(file_path="other", partition={1000: "NY", 1001: None}))]
    if version == 2:
        entries.append(existing(data_file(file_path="old")))
    written = write(*entries, format_version=version)
    path = tmp_path / "m0.avro"
    path.write_bytes(written.data)
    list_path = tmp_path / "snap.avro"
    listed = write_manifest_list(
        [written.manifest_file(str(path))],
        format_version=version,
        snapshot_id=SNAPSHOT,
        parent_snapshot_id=None,
        sequence_number=9,
    )
    list_path.write_bytes(listed.data)

    files = PyArrowFileIO()
    (manifest,) = list(pyiceberg_manifest_list(files.new_input(str(list_path))))
    assert (manifest.added_files_count, manifest.added_rows_count) == (2, 20)
    assert (manifest.partition_spec_id, manifest.added_snapshot_id) == (2, SNAPSHOT)
    assert manifest.partitions[0].lower_bound == b"CA"
    assert manifest.partitions[1].contains_null
    theirs = manifest.fetch_manifest_entry(files)
    assert [e.data_file.file_path for e in theirs] == [e.data_file.file_path for e in entries]
    assert [e.sequence_number for e in theirs] == ([9, 9, 4] if version == 2 else [0, 0])
    first = theirs[0].data_file
    assert (first.partition[0], first.partition[1]) == ("CA", 600)
    assert first.lower_bounds == {1: struct.pack("<q", 1), 2: b"CA"}
    assert (first.nan_value_counts, first.split_offsets, first.record_count) == ({3: 2}, [4, 500], 10)


NAN = {3: struct.pack("<d", float("nan"))}
DELETES: dict[str, Any] = {"content": ManifestContent.DELETES}
V3: dict[str, Any] = {"format_version": 3}
EQUALITY: dict[str, Any] = {"content": FileContent.EQUALITY_DELETES, "equality_ids": (1,)}

REFUSED: list[tuple[str, ManifestEntry, dict[str, Any], str]] = [
    ("deletes in v1", added(delete_file()), {"format_version": 1, **DELETES}, "v1 table"),
    ("equality ids in v1", added(data_file(equality_ids=(1,))), {"format_version": 1}, "equality_ids.*null before v2"),
    ("existing in v1 with a number", existing(data_file()), {"format_version": 1}, "null or 0 in a v1 table"),
    ("v1 entry without a snapshot", added(data_file()), {"format_version": 1, "snapshot_id": None}, "snapshot_id"),
    ("deletes in a data manifest", added(delete_file()), {}, "content: expected 0"),
    ("data in a delete manifest", added(data_file()), DELETES, "content: expected 1 or 2"),
    ("existing without a data number", existing(data_file(), sequence_number=None), {}, "sequence_number.*inherit"),
    ("existing without a file number", existing(data_file(), file_sequence_number=None), {}, "file_sequence_number"),
    ("existing without a snapshot", existing(data_file(), snapshot_id=None), {}, "snapshot_id.*existing file"),
    ("new file of another snapshot", added(data_file(), snapshot_id=5), {}, "expected 77 for a file"),
    ("NaN lower bound", added(data_file(lower_bounds=NAN)), {}, "lower_bounds: expected no NaN"),
    ("NaN upper bound", added(data_file(upper_bounds=NAN)), {}, "upper_bounds: expected no NaN"),
    ("NaN of a promoted float", added(data_file(upper_bounds={3: struct.pack("<f", float("nan"))})), {}, "no NaN"),
    ("falling split offsets", added(data_file(split_offsets=(4, 3))), {}, "split_offsets.*ascending"),
    ("negative record count", added(data_file(record_count=-1)), {}, "record_count: expected 0 or more, got -1"),
    ("negative size", added(data_file(file_size_in_bytes=-5)), {}, "file_size_in_bytes"),
    ("unknown file format", added(data_file(file_format="csv")), {}, "file_format.*'csv'"),
    ("equality deletes without ids", added(delete_file(content=FileContent.EQUALITY_DELETES)), DELETES, "equality_ids"),
    ("equality ids on data", added(data_file(equality_ids=(1,))), {}, "null but for equality deletes"),
    ("sorted position deletes", added(delete_file(sort_order_id=1)), DELETES, "sort_order_id: expected null"),
    ("vector in v2", added(deletion_vector()), DELETES, "content_offset: expected null before v3"),
    ("row id in v2", existing(data_file(first_row_id=1)), {}, "first_row_id: expected null before v3"),
    ("row id on a new file", added(data_file(first_row_id=1)), V3, "first_row_id: expected null for a new file"),
    ("row id on deletes", existing(deletion_vector(first_row_id=1)), {**V3, **DELETES}, "first_row_id.*delete files"),
    ("vector without size", added(deletion_vector(content_size_in_bytes=None)), {**V3, **DELETES}, "content_size"),
    ("size without vector", added(delete_file(content_size_in_bytes=1)), {**V3, **DELETES}, "content_size_in_bytes"),
    ("vector without file", added(deletion_vector(referenced_data_file=None)), {**V3, **DELETES}, "referenced_data"),
    ("vector in Parquet", added(deletion_vector(file_format="parquet")), {**V3, **DELETES}, "puffin for a deletion"),
    ("Puffin without offset", added(deletion_vector(content_offset=None)), {**V3, **DELETES}, "content_offset"),
    (
        "equality vector",
        added(deletion_vector(**EQUALITY)),
        {**V3, **DELETES},
        "null but for deletes|content: expected",
    ),
    ("new position deletes in v3", added(delete_file()), {**V3, **DELETES}, "deletion vectors"),
    ("referenced file on data", added(data_file(referenced_data_file="x")), {}, "referenced_data_file"),
    ("unknown version", added(data_file()), {"format_version": 4}, "version 4"),
]


@pytest.mark.parametrize(("entry", "options", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_an_entry_that_breaks_the_format_is_refused(entry: ManifestEntry, options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        write(entry, **options)


ALLOWED: list[tuple[str, ManifestEntry, dict[str, Any]]] = [
    ("deletion vector", added(deletion_vector()), {**V3, **DELETES}),
    ("older position deletes in v3", existing(delete_file(sort_order_id=0)), {**V3, **DELETES}),
    ("position deletes in v2", added(delete_file(referenced_data_file="x")), DELETES),
    ("equality deletes", added(delete_file(**EQUALITY, sort_order_id=1)), DELETES),
    ("older data with a new file number", added(data_file(), sequence_number=3), {}),
    ("row id on an existing file", existing(data_file(first_row_id=0)), V3),
    ("infinite bounds", added(data_file(upper_bounds={3: struct.pack("<d", float("inf"))})), {}),
    ("bytes that are NaN only as a double", added(data_file(lower_bounds={1: NAN[3]})), {}),
    ("bound of a dropped column", added(data_file(lower_bounds={99: NAN[3]})), {}),
    ("equal split offsets", added(data_file(split_offsets=(4, 4))), {}),
    ("no split offsets", added(data_file(split_offsets=())), {}),
    ("lower-case format", added(data_file(file_format="orc")), {}),
]


@pytest.mark.parametrize(("entry", "options"), [c[1:] for c in ALLOWED], ids=[c[0] for c in ALLOWED])
def test_what_the_format_allows_is_written(entry: ManifestEntry, options: Any) -> None:
    assert len(rows_of(write(entry, **options).data)) == 1


def test_the_message_names_the_entry_and_its_file() -> None:
    with pytest.raises(InvalidInput, match=r"Cannot write manifest: entry 1 \(bad\), record_count: expected 0 or more"):
        write(added(data_file()), added(data_file(file_path="bad", record_count=-1)))


def test_split_offsets_are_checked_within_each_list_only() -> None:
    offsets: list[Any] = [(900, 1000), (4, 500), None, (), (4,), (2, 3)]
    assert len(rows_of(write(*(added(data_file(split_offsets=o)) for o in offsets)).data)) == 6
    with pytest.raises(InvalidInput, match=r"entry 6 .*split_offsets"):
        write(*(added(data_file(split_offsets=o)) for o in [*offsets, (3, 2)]))


def test_an_unknown_transform_is_refused() -> None:
    field = PartitionField(source_ids=(2,), field_id=1000, name="s", transform=parse_transform("zorder[3]"))
    with pytest.raises(Unsupported, match="zorder"):
        write(added(data_file(partition={})), spec=PartitionSpec(spec_id=1, fields=(field,)))


def test_partition_values_must_be_those_of_the_spec() -> None:
    with pytest.raises(InvalidInput, match="1000, 1001, got 7"):
        write(added(data_file(partition={7: 1})))
    with pytest.raises(InvalidInput, match=r"partition.state"):
        write(added(data_file(partition={1000: 5})))
    base = {"status": [1], "file_path": ["p"], "file_format": ["avro"], "record_count": [1], "file_size_in_bytes": [1]}
    options: dict[str, Any] = {"format_version": 2, "schema": SCHEMA, "spec": SPEC, "snapshot_id": 1}
    with pytest.raises(InvalidInput, match="expected partition values for state, day_month"):
        write_manifest(pa.table(base), **options)
    with pytest.raises(InvalidInput, match="expected the fields state, day_month"):
        write_manifest(pa.table({**base, "partition": [{"state": "CA"}]}), **options)
    wrong = pa.array([{"state": "CA", "day_month": "May"}])
    with pytest.raises(InvalidInput, match="day_month: expected int32"):
        write_manifest(pa.table({**base, "partition": wrong}), **options)
    none = pa.array([None], pa.struct([("state", pa.string()), ("day_month", pa.int32())]))
    with pytest.raises(InvalidInput, match="got null"):
        write_manifest(pa.table({**base, "partition": none}), **options)


def test_missing_values_and_columns_that_are_not_written_are_refused() -> None:
    table = entries_to_arrow([added(data_file())], PARTITION)
    options: dict[str, Any] = {"format_version": 2, "schema": SCHEMA, "spec": SPEC, "snapshot_id": 1}
    with pytest.raises(InvalidInput, match="file_path: expected a value"):
        write_manifest(table.drop_columns(["file_path"]), **options)
    with pytest.raises(InvalidInput, match=r"got also 1\.lower"):
        write_manifest(table.append_column("1.lower", pa.array([1])), **options)
    with pytest.raises(InvalidInput, match="status: expected int32"):
        write_manifest(table.set_column(0, "status", pa.array(["new"])), **options)
    with pytest.raises(InvalidInput, match="status: expected 0"):
        write_manifest(table.set_column(0, "status", pa.array([3])), **options)


def test_a_manifest_to_inherit_its_snapshot_cannot_be_listed_without_one() -> None:
    with pytest.raises(InvalidInput, match="expected the snapshot that adds it"):
        write(added(data_file()), snapshot_id=None).manifest_file("m")


def test_a_nan_bound_is_found_in_the_entry_that_holds_it() -> None:
    files = [data_file(), data_file(lower_bounds=None), data_file(file_path="nan", lower_bounds={1: b"", **NAN})]
    with pytest.raises(InvalidInput, match=r"entry 2 \(nan\), lower_bounds: expected no NaN"):
        write(*(added(f) for f in files))
    table = entries_to_arrow([added(f) for f in files], PARTITION)
    options: dict[str, Any] = {"format_version": 2, "schema": SCHEMA, "spec": SPEC, "snapshot_id": SNAPSHOT}
    pieces = pa.concat_tables([table.slice(0, 1), table.slice(1, 2)])
    with pytest.raises(InvalidInput, match=r"entry 2 \(nan\), lower_bounds: expected no NaN"):
        write_manifest(pieces, **options)
    write_manifest(table.slice(0, 2), **options)


def test_partition_values_of_a_dropped_column_are_kept_or_refused_but_never_lost() -> None:
    evolved = Schema(schema_id=4, fields=tuple(f for f in SCHEMA.fields if f.name != "state"))
    table = entries_to_arrow([existing(data_file())], PARTITION)
    options: dict[str, Any] = {"format_version": 2, "schema": evolved, "spec": SPEC, "snapshot_id": SNAPSHOT}
    with pytest.raises(InvalidInput, match=r"partition\.state: expected null, got string"):
        write_manifest(table, **options)
    written = write_manifest(table, **options, partition_type=SPEC.partition_type(evolved, schemas=[SCHEMA]))
    assert rows_of(written.data)[0]["data_file"]["partition"] == {"state": "CA", "day_month": 600}


def test_a_partition_value_of_an_unknown_type_is_null() -> None:
    evolved = Schema(schema_id=4, fields=tuple(f for f in SCHEMA.fields if f.name != "state"))
    written = write(existing(data_file(partition={1001: 3})), schema=evolved)
    assert rows_of(written.data)[0]["data_file"]["partition"] == {"state": None, "day_month": 3}
    assert written.partitions[0] == FieldSummary(contains_null=True, contains_nan=False)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_fixed_partition_values_are_stored_as_bytes_and_come_back_as_fixed(version: int) -> None:
    schema = Schema(fields=(Field(id=1, name="code", type=FixedType(3)),))
    field = PartitionField(source_ids=(1,), field_id=1000, name="code", transform=parse_transform("identity"))
    files = [
        DataFile(
            file_path=f"{i}.parquet",
            file_format="parquet",
            partition={1000: value},
            record_count=1,
            file_size_in_bytes=1,
        )
        for i, value in enumerate([b"abc", None, b"\x00\xff\x01"])
    ]
    written = write_manifest(
        [ManifestEntry(status=EntryStatus.ADDED, data_file=f) for f in files],
        format_version=version,
        schema=schema,
        spec=PartitionSpec(fields=(field,)),
        snapshot_id=7,
    )
    reader = fastavro.reader(io.BytesIO(written.data))
    assert [r["data_file"]["partition"]["code"] for r in reader] == [b"abc", None, b"\x00\xff\x01"]
    data_file = next(f for f in reader.writer_schema["fields"] if f["name"] == "data_file")  # type: ignore[index]
    partition = next(f for f in data_file["type"]["fields"] if f["name"] == "partition")
    assert partition["type"]["fields"][0]["type"] == ["null", "bytes"]
    column = read_manifest(written.data, source="m0.avro").column("partition").combine_chunks().field(0)
    assert column.equals(pa.array([b"abc", None, b"\x00\xff\x01"], pa.binary(3)))
    assert (written.partitions[0].lower_bound, written.partitions[0].upper_bound) == (b"\x00\xff\x01", b"abc")
