"""Laws of writing: both encoders agree, what is written reads back, and summaries and inheritance match a reference."""

from __future__ import annotations

import math
import uuid
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import strategies

from skipstone.errors import FormatViolation, Unsupported
from skipstone.metadata.avro import decode, parse_container
from skipstone.metadata.avro.encode import encode
from skipstone.metadata.formats.arrow_types import arrow_to_value, to_arrow_schema, values_to_array
from skipstone.metadata.formats.avro_types import to_avro_schema
from skipstone.metadata.manifests.field_summaries import summarize
from skipstone.metadata.manifests.inheritance import inherit
from skipstone.metadata.manifests.manifest import (
    DataFile,
    EntryStatus,
    FieldSummary,
    FileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from skipstone.metadata.manifests.manifest_list import read_manifest_list, write_manifest_list
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.manifests.manifest_rows import arrow_to_entries, entries_to_arrow
from skipstone.metadata.manifests.manifest_write import write_manifest
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import IdentityTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import Field, PrimitiveType, StructType
from skipstone.metadata.values import serialize_value

LONGS = st.integers(0, 2**63 - 1)
SMALL = st.integers(0, 2**40)
SYNC = bytes(16)
# Types that may be partition values.
PARTITION_TYPES = strategies.primitive_types()


# -- the encoder ----------------------------------------------------------------------------------------------------


@st.composite
def rows_of_a_schema(draw: st.DrawFn) -> tuple[Schema, list[list[Any]]]:
    """A schema, and for each of its fields a column of values."""
    schema = draw(strategies.schemas(fields_max=4))
    count = draw(st.integers(0, 6))
    columns = []
    for f in schema.fields:
        item = strategies.values(f.type) if f.required else strategies.nullable(f.type)
        columns.append(draw(st.lists(item, min_size=count, max_size=count)))
    return schema, columns


@given(
    drawn=rows_of_a_schema(),
    block_bytes=st.sampled_from([1, 40, 64_000]),
    codec=st.sampled_from(["null", "deflate", "zstandard", "snappy"]),
    skip=st.integers(0, 2),
)
@settings(max_examples=100, deadline=None)
def test_both_encoders_write_the_same_bytes_and_the_values_come_back(
    drawn: tuple[Schema, list[list[Any]]], block_bytes: int, codec: Any, skip: int
) -> None:
    schema, columns = drawn
    arrays = [values_to_array(f.type, c).slice(skip) for f, c in zip(schema.fields, columns, strict=True)]
    table = pa.table(arrays, schema=to_arrow_schema(schema))
    avro = to_avro_schema(schema)
    options: dict[str, Any] = {"sync": SYNC, "block_bytes": block_bytes, "codec": codec}
    data = encode(avro, table, engine="python", **options)
    assert encode(avro, table, engine="numba", **options) == data
    assert encode(avro, table, engine="numpy", **options) == data
    again = decode(parse_container(data, source="generated"))
    assert again.num_rows == table.num_rows
    for i, (f, column) in enumerate(zip(schema.fields, columns, strict=True)):
        read = [arrow_to_value(f.type, scalar) for scalar in again.column(i)]
        assert all(strategies.same(a, b) for a, b in zip(read, column[skip:], strict=True)), (f, read, column[skip:])


# -- manifests ------------------------------------------------------------------------------------------------------


METRICS = st.none() | st.dictionaries(st.integers(1, 2**31 - 1), LONGS, max_size=4)
BOUNDS = st.none() | st.dictionaries(st.integers(1, 2**31 - 1), strategies.byte_strings(), max_size=4)


@st.composite
def manifests(draw: st.DrawFn) -> tuple[int, ManifestContent, Schema, PartitionSpec, list[ManifestEntry]]:
    """A version, and what a manifest of that version may hold."""
    version = draw(st.sampled_from([1, 2, 3]))
    types = draw(st.lists(PARTITION_TYPES, max_size=3))
    schema = Schema(fields=tuple(Field(id=i + 1, name=f"c {i}", type=t) for i, t in enumerate(types)))
    fields = tuple(
        PartitionField(source_ids=(i + 1,), field_id=1000 + i, name=f"p{i}!", transform=IdentityTransform())
        for i in range(len(types))
    )
    content = draw(st.sampled_from(ManifestContent)) if version > 1 else ManifestContent.DATA
    entry = _entries(version, content, types)
    return version, content, schema, PartitionSpec(spec_id=1, fields=fields), draw(st.lists(entry, max_size=6))


@st.composite
def _entries(draw: st.DrawFn, version: int, content: ManifestContent, types: list[PrimitiveType]) -> ManifestEntry:
    status = draw(st.sampled_from(EntryStatus))
    numbered = version > 1 and (status != EntryStatus.ADDED or draw(st.booleans()))
    file = DataFile(
        file_path=draw(strategies.strings()),
        file_format=draw(st.sampled_from(["AVRO", "parquet", "ORC"])),
        partition={1000 + i: draw(strategies.nullable(t)) for i, t in enumerate(types)},
        record_count=draw(SMALL),
        file_size_in_bytes=draw(LONGS),
        column_sizes=draw(METRICS),
        value_counts=draw(METRICS),
        null_value_counts=draw(METRICS),
        nan_value_counts=draw(METRICS),
        # Ids outside the schema, as of dropped columns: any bytes are right for them.
        lower_bounds=_beyond(draw(BOUNDS)),
        upper_bounds=_beyond(draw(BOUNDS)),
        key_metadata=draw(st.none() | st.binary(max_size=5)),
        split_offsets=draw(st.none() | st.lists(LONGS, max_size=3).map(sorted).map(tuple)),
        sort_order_id=draw(st.none() | st.integers(0, 9)),
    )
    if content == ManifestContent.DATA:
        if version == 3 and numbered:
            file = replace(file, first_row_id=draw(st.none() | LONGS))
    elif version == 3 and draw(st.booleans()):
        file = replace(
            file,
            content=FileContent.POSITION_DELETES,
            sort_order_id=None,
            file_format="PUFFIN",
            referenced_data_file=draw(strategies.strings()),
            content_offset=draw(LONGS),
            content_size_in_bytes=draw(LONGS),
        )
    else:
        ids = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
        file = replace(file, content=FileContent.EQUALITY_DELETES, equality_ids=ids)
    return ManifestEntry(
        status=status,
        snapshot_id=draw(LONGS),
        sequence_number=draw(LONGS) if numbered else None if version > 1 else 0,
        file_sequence_number=draw(LONGS) if numbered else None if version > 1 else 0,
        data_file=file,
    )


def _beyond(bounds: dict[int, bytes] | None) -> dict[int, bytes] | None:
    return None if bounds is None else {i + 10 if i < 100 else i: b for i, b in bounds.items()}


@given(manifests(), st.sampled_from(["python", "numba"]))
@settings(max_examples=100, deadline=None)
def test_entries_written_to_a_manifest_come_back(drawn: Any, engine: Any) -> None:
    version, content, schema, spec, entries = drawn
    partition_type = spec.partition_type(schema)
    written = write_manifest(
        entries,
        format_version=version,
        schema=schema,
        spec=spec,
        content=content,
        snapshot_id=None,
        engine=engine,
    )
    table = read_manifest(written.data, source="generated", maps=True)
    read = arrow_to_entries(table, partition_type)
    assert [_without_partition(e) for e in read] == [_without_partition(e) for e in entries]
    for ours, theirs in zip(read, entries, strict=True):
        assert strategies.same(dict(ours.data_file.partition), dict(theirs.data_file.partition))
    own = read_manifest(written.data, source="generated", maps=True)
    assert own.equals(table) or _has_nan(entries)  # NaN equals nothing in Arrow
    again = write_manifest(
        table, format_version=version, schema=schema, spec=spec, content=content, snapshot_id=None, engine=engine
    )
    assert replace(again, data=b"") == replace(written, data=b"")
    assert read_manifest(again.data, source="again", maps=True).equals(table) or _has_nan(entries)


def _without_partition(entry: ManifestEntry) -> ManifestEntry:
    return replace(entry, data_file=replace(entry.data_file, partition={}))


def _has_nan(entries: list[ManifestEntry]) -> bool:
    return any(v != v for e in entries for v in e.data_file.partition.values())


@given(manifests())
@settings(max_examples=100, deadline=None)
def test_entries_survive_the_arrow_form(drawn: Any) -> None:
    _, _, schema, spec, entries = drawn
    partition_type = spec.partition_type(schema)
    read = arrow_to_entries(entries_to_arrow(entries, partition_type), partition_type)
    assert [_without_partition(e) for e in read] == [_without_partition(e) for e in entries]
    for ours, theirs in zip(read, entries, strict=True):
        assert strategies.same(dict(ours.data_file.partition), dict(theirs.data_file.partition))


# -- summaries ------------------------------------------------------------------------------------------------------


@given(PARTITION_TYPES.flatmap(lambda t: st.tuples(st.just(t), strategies.arrow_arrays(t))))
@settings(max_examples=100, deadline=None)
def test_a_summary_covers_every_value_and_is_one_of_them(drawn: tuple[PrimitiveType, Any]) -> None:
    type_, column = drawn
    partition_type = StructType((Field(id=1000, name="p", type=type_),))
    (summary,) = summarize(pa.StructArray.from_arrays([column], names=["p"]), partition_type)
    values = [arrow_to_value(type_, scalar) for scalar in column]
    assert summary == _reference(type_, values)


def _reference(type_: PrimitiveType, values: list[Any]) -> FieldSummary:
    plain = [v for v in values if v is not None and v == v]
    ordered = sorted(plain, key=_order)
    return FieldSummary(
        contains_null=None in values,
        contains_nan=any(v is not None and v != v for v in values),
        lower_bound=serialize_value(type_, ordered[0]) if ordered else None,
        upper_bound=serialize_value(type_, ordered[-1]) if ordered else None,
    )


def _order(value: Any) -> Any:
    match value:
        case float():
            return value, math.copysign(1.0, value)  # -0.0 first
        case str():
            return value.encode()
        case uuid.UUID():
            return value.bytes
        case _:
            return value


# -- lists and inheritance ------------------------------------------------------------------------------------------


COUNTS = st.integers(0, 2**31 - 1)
SUMMARY = st.builds(
    FieldSummary,
    contains_null=st.booleans(),
    contains_nan=st.none() | st.booleans(),
    lower_bound=st.none() | strategies.byte_strings(),
    upper_bound=st.none() | strategies.byte_strings(),
)
MANIFEST_FILE = st.builds(
    ManifestFile,
    manifest_path=strategies.strings(),
    manifest_length=LONGS,
    partition_spec_id=COUNTS,
    content=st.sampled_from(ManifestContent),
    sequence_number=SMALL,
    min_sequence_number=SMALL,
    added_snapshot_id=st.integers(-(2**63), 2**63 - 1),
    added_files_count=COUNTS,
    existing_files_count=COUNTS,
    deleted_files_count=COUNTS,
    added_rows_count=SMALL,
    existing_rows_count=SMALL,
    deleted_rows_count=LONGS,
    partitions=st.none() | st.lists(SUMMARY, max_size=3).map(tuple),
    key_metadata=st.none() | st.binary(max_size=4),
)


@given(st.lists(MANIFEST_FILE, max_size=6), st.sampled_from([1, 2, 3]), SMALL)
@settings(max_examples=100, deadline=None)
def test_manifest_lists_come_back_and_row_id_ranges_never_overlap(
    drawn: list[ManifestFile], version: int, first_row_id: int
) -> None:
    if version == 1:
        drawn = [replace(m, content=ManifestContent.DATA, sequence_number=0, min_sequence_number=0) for m in drawn]
    written = write_manifest_list(
        drawn,
        format_version=version,
        snapshot_id=1,
        parent_snapshot_id=None,
        sequence_number=5,
        first_row_id=first_row_id,
    )
    read = read_manifest_list(written.data, source="generated", format_version=version)
    assert read == list(written.manifests)
    assert [replace(m, first_row_id=None) for m in read] == drawn
    if version == 3:
        free = first_row_id
        for m in read:
            if m.content == ManifestContent.DATA:
                assert m.first_row_id == free
                free += (m.added_rows_count or 0) + (m.existing_rows_count or 0)
        assert written.next_row_id == free


ENTRY_ROWS = st.lists(
    st.tuples(
        st.sampled_from(EntryStatus), st.none() | SMALL, st.none() | SMALL, st.none() | SMALL, st.integers(0, 99)
    ),
    max_size=8,
)


@given(ENTRY_ROWS, st.none() | SMALL, st.integers(0, 9))
@settings(max_examples=100, deadline=None)
def test_inheritance_equals_the_rules_applied_entry_by_entry(
    drawn: list[Any], first_row_id: int | None, sequence_number: int
) -> None:
    rows = [(s, snap, seq if s == EntryStatus.ADDED else seq or 1, first, n) for s, snap, seq, first, n in drawn]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    names = ("status", "snapshot_id", "sequence_number", "first_row_id", "record_count")
    table = pa.table(
        {
            n: pa.array([None if v is None else int(v) for v in c], pa.int64())
            for n, c in zip(names, columns, strict=True)
        }
    )
    manifest = ManifestFile(
        manifest_path="m",
        manifest_length=1,
        sequence_number=sequence_number,
        min_sequence_number=0,
        added_snapshot_id=99,
        first_row_id=first_row_id,
    )
    expected, free = [], first_row_id
    for status, snapshot_id, number, first, count in rows:
        if first is None and free is not None and status != EntryStatus.DELETED:
            first, free = free, free + count
        expected.append(
            (99 if snapshot_id is None else snapshot_id, sequence_number if number is None else number, first)
        )
    got = inherit(table, manifest)
    assert list(zip(*(got.column(n).to_pylist() for n in names[1:4]), strict=True)) == expected


@given(st.lists(MANIFEST_FILE, min_size=1, max_size=2), st.sampled_from(["null", "deflate"]), st.data())
@settings(max_examples=100, deadline=None)
def test_a_list_with_changed_bytes_is_read_or_refused_and_nothing_else(
    drawn: list[ManifestFile], codec: Any, data: st.DataObject
) -> None:
    written = write_manifest_list(
        drawn, format_version=2, snapshot_id=1, parent_snapshot_id=None, sequence_number=5, codec=codec
    )
    changed = bytearray(written.data)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_manifest_list(bytes(changed), source="damaged")
    except (FormatViolation, Unsupported) as error:
        assert "damaged" in str(error)
