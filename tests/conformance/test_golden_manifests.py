"""Manifest lists and manifests of Iceberg Java: read as Java reads them, and written again without loss."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from tests.support.golden import GoldenTable, golden_tables
from tests.support.golden_values import golden_entries, golden_manifest, partition_values
from tests.support.table_reader import OpenTable, open_golden

from skipstone.metadata.avro import parse_container
from skipstone.metadata.manifests.manifest import EntryStatus, ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_list import read_manifest_list, write_manifest_list
from skipstone.metadata.manifests.manifest_list_quick import quick_manifests
from skipstone.metadata.manifests.manifest_read import read_manifest, read_manifest_header
from skipstone.metadata.manifests.manifest_write import WrittenManifest, write_manifest
from skipstone.metadata.types import PrimitiveType
from skipstone.metadata.values import parse_bound, serialize_bound

TABLES = [t for t in golden_tables() if t.name not in ("v3_encrypted", "v2_empty")]
# The layout of these does not show the partition in the path: object storage hashes, and imported files.
OTHER_LAYOUTS = ("v2_object_store", "v2_migrated", "v2_name_mapping")


def _current(opened: OpenTable) -> Any:
    return opened.manifests(opened.metadata.current_snapshot)


def _header(opened: OpenTable, manifest: ManifestFile) -> Any:
    """The header of a manifest; Java's always has a schema and a spec."""
    return read_manifest_header(opened.manifest_bytes(manifest), source=manifest.manifest_path)


def _rewritten(opened: OpenTable, manifest: ManifestFile) -> WrittenManifest:
    """The manifest with the same version and content, before inheritance, so that nulls to inherit stay null."""
    header, entries = _header(opened, manifest), opened.entries(manifest, inherit=False)
    return write_manifest(
        entries,
        format_version=header.format_version,
        schema=header.schema,
        spec=header.spec,
        content=header.content,
        snapshot_id=None if entries.column("snapshot_id").null_count else manifest.added_snapshot_id,
    )


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_the_current_manifest_list_reads_as_in_java(table: GoldenTable) -> None:
    opened = open_golden(table)
    assert [golden_manifest(m) for m in _current(opened)] == table.manifests()


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_manifest_lists_of_java_are_read_quickly(table: GoldenTable) -> None:
    opened = open_golden(table)
    for snapshot in opened.metadata.snapshots:
        if snapshot.manifest_list is not None:
            container = parse_container(opened.fetch(snapshot.manifest_list), source="list")
            assert quick_manifests(container) == opened.manifests(snapshot)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_entry_of_the_current_snapshot_reads_as_in_java(table: GoldenTable) -> None:
    opened = open_golden(table)
    ours: list[dict[str, Any]] = []
    for manifest in _current(opened):
        ours += golden_entries(manifest, opened.entries(manifest), opened.partition_type(manifest))
    assert ours == table.entries()


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_manifest_of_every_snapshot_agrees_with_its_manifest_list(table: GoldenTable) -> None:
    opened = open_golden(table)
    for manifest in opened.distinct_manifests():
        entries = opened.entries(manifest)
        statuses = Counter(entries.column("status").to_pylist())
        rows: Counter[int] = Counter()
        for status, count in zip(entries.column("status").to_pylist(), entries.column("record_count").to_pylist()):
            rows[status] += count
        assert statuses[EntryStatus.ADDED] == manifest.added_files_count
        assert statuses[EntryStatus.EXISTING] == manifest.existing_files_count
        assert statuses[EntryStatus.DELETED] == manifest.deleted_files_count
        assert rows[EntryStatus.ADDED] == manifest.added_rows_count
        assert rows[EntryStatus.EXISTING] == manifest.existing_rows_count
        assert rows[EntryStatus.DELETED] == manifest.deleted_rows_count
        assert len(opened.manifest_bytes(manifest)) == manifest.manifest_length
        is_delete = {content != 0 for content in entries.column("content").to_pylist()}
        assert is_delete <= {manifest.content == ManifestContent.DELETES}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_headers_of_manifests_name_the_spec_and_content_of_the_list(table: GoldenTable) -> None:
    opened = open_golden(table)
    for manifest in opened.distinct_manifests():
        header = _header(opened, manifest)
        assert header.spec_id == manifest.partition_spec_id
        assert header.content == manifest.content
        assert header.spec.compatible_with(opened.spec(manifest))
        assert header.format_version <= opened.metadata.format_version
        if header.schema_id in opened.metadata.schemas_by_id:
            assert header.schema.same_as(opened.metadata.schema(header.schema_id))


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_counts_of_entries_and_files_equal_javas(table: GoldenTable) -> None:
    opened = open_golden(table)
    metadata = opened.metadata
    current = [opened.entries(m, maps=False) for m in _current(opened)]
    statuses = [s for t in current for s in t.column("status").to_pylist()]
    contents = [c for t in current for c in t.column("content").to_pylist()]
    live = [c for s, c in zip(statuses, contents, strict=True) if s != EntryStatus.DELETED]
    found = {
        "manifests": len(current),
        "entries": len(statuses),
        "files": len(live),
        "data_files": live.count(0),
        "delete_files": len(live) - live.count(0),
        "all_manifests": sum(len(opened.manifests(s)) for s in metadata.snapshots),
        "all_entries": sum(opened.entries(m, maps=False).num_rows for m in opened.distinct_manifests()),
    }
    expected = table.inspect.get("counts", {})
    assert found == {name: expected.get(name, found[name]) for name in found}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_manifests_written_again_read_the_same(table: GoldenTable) -> None:
    opened = open_golden(table)
    for manifest in opened.distinct_manifests():
        written = _rewritten(opened, manifest)
        again = read_manifest(written.data, source="again", maps=True)
        assert again.equals(opened.entries(manifest, inherit=False)), manifest.manifest_path
        header, header_again = _header(opened, manifest), read_manifest_header(written.data, source="again")
        assert header_again.schema == header.schema
        assert header_again.spec == header.spec
        assert (header_again.format_version, header_again.content) == (header.format_version, header.content)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_written_manifests_and_lists_have_javas_avro_schemas_and_headers(table: GoldenTable) -> None:
    """Names, ids, types and their order: no field too many (deprecated ones), none too few."""
    opened = open_golden(table)
    for manifest in opened.distinct_manifests():
        _assert_same_header(_rewritten(opened, manifest).data, opened.manifest_bytes(manifest))
    for snapshot in opened.metadata.snapshots:
        assert snapshot.manifest_list is not None
        data = opened.fetch(snapshot.manifest_list)
        stored = parse_container(data, source=snapshot.manifest_list).metadata
        version = int(stored.get("format-version", b"1"))
        lists = write_manifest_list(
            opened.manifests(snapshot),
            format_version=version,
            snapshot_id=snapshot.snapshot_id,
            parent_snapshot_id=snapshot.parent_snapshot_id,
            sequence_number=snapshot.sequence_number,
            first_row_id=snapshot.first_row_id if version >= 3 else None,
        )
        _assert_same_header(lists.data, data)


def _assert_same_header(ours: bytes, javas: bytes) -> None:
    one, other = parse_container(ours, source="ours").metadata, parse_container(javas, source="java").metadata
    # The spec requires it in manifests from v2 on, though Java leaves it out.
    assert one.keys() - {"schema-id"} == other.keys() - {"schema-id"}
    json_keys = {"avro.schema", "iceberg.schema", "schema", "partition-spec"}
    for key, value in other.items():
        if key in json_keys:
            assert _without_docs(json.loads(one[key])) == _without_docs(json.loads(value)), key
        elif key != "avro.codec":
            assert one[key] == value, key


def _without_docs(json_value: Any) -> Any:
    match json_value:
        case dict():
            return {k: _without_docs(v) for k, v in json_value.items() if k != "doc"}
        case list():
            return [_without_docs(v) for v in json_value]
        case _:
            return json_value


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_facts_computed_for_a_written_manifest_equal_those_in_javas_list(table: GoldenTable) -> None:
    opened = open_golden(table)
    for manifest in opened.distinct_manifests():
        if _header(opened, manifest).format_version != opened.metadata.format_version:
            continue  # a list after an upgrade describes manifests of the older version with defaults
        written = _rewritten(opened, manifest)
        ours, javas = (
            golden_manifest(written.manifest_file("x", added_snapshot_id=manifest.added_snapshot_id)),
            golden_manifest(manifest),
        )
        for inherited in ("manifest", "length", "sequence_number", "min_sequence_number", "first_row_id"):
            del ours[inherited], javas[inherited]
        assert ours == javas


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_manifest_lists_written_again_read_the_same(table: GoldenTable) -> None:
    opened = open_golden(table)
    for snapshot in opened.metadata.snapshots:
        manifests = opened.manifests(snapshot)
        version = 1 if snapshot.sequence_number == 0 else 3 if snapshot.first_row_id is not None else 2
        written = write_manifest_list(
            manifests,
            format_version=version,
            snapshot_id=snapshot.snapshot_id,
            parent_snapshot_id=snapshot.parent_snapshot_id,
            sequence_number=snapshot.sequence_number,
            first_row_id=snapshot.first_row_id,
        )
        assert read_manifest_list(written.data, source="again") == manifests
        assert list(written.manifests) == manifests


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_bound_is_decoded_and_encoded_again(table: GoldenTable) -> None:
    opened = open_golden(table)
    for manifest in opened.distinct_manifests():
        schema = _header(opened, manifest).schema
        for row in opened.entries(manifest).select(["lower_bounds", "upper_bounds"]).to_pylist():
            for field_id, bound in [*(row["lower_bounds"] or ()), *(row["upper_bounds"] or ())]:
                field = schema.find(field_id)
                if field is None or not isinstance(field.type, PrimitiveType):
                    continue  # metadata columns, and columns dropped before the manifest was rewritten
                value = parse_bound(field.type, bound, source=manifest.manifest_path)
                again = serialize_bound(field.type, value)
                assert again == bound or len(bound) < len(again), f"{field}: {bound.hex()}"


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_typed_metric_columns_equal_the_raw_maps(table: GoldenTable) -> None:
    opened = open_golden(table)
    schema = opened.metadata.current_schema
    ids = [f.id for f in schema.primitive_leaves if str(f.type) != "unknown"]
    for manifest in opened.distinct_manifests():
        entries = opened.entries(manifest, schema=schema, metrics=ids)
        raw = entries.select(["value_counts", "null_value_counts", "nan_value_counts", "column_sizes"]).to_pylist()
        bounds = entries.select(["lower_bounds", "upper_bounds"]).to_pylist()
        for field_id in ids:
            for kind, column in (
                ("value_count", "value_counts"),
                ("null_count", "null_value_counts"),
                ("nan_count", "nan_value_counts"),
                ("column_size", "column_sizes"),
            ):
                expected = [dict(row[column] or ()).get(field_id) for row in raw]
                assert entries.column(f"{field_id}.{kind}").to_pylist() == expected
            for kind in ("lower", "upper"):
                known = [field_id in dict(row[f"{kind}_bounds"] or ()) for row in bounds]
                assert [v.is_valid for v in entries.column(f"{field_id}.{kind}")] == known


@pytest.mark.parametrize("table", [t for t in TABLES if t.name not in OTHER_LAYOUTS], ids=str)
def test_partition_paths_are_the_directories_java_wrote_to(table: GoldenTable) -> None:
    opened = open_golden(table)
    for manifest in opened.distinct_manifests():
        entries: pa.Table = opened.entries(manifest)
        spec, partition_type = opened.spec(manifest), opened.partition_type(manifest)
        for path, values in zip(
            entries.column("file_path").to_pylist(), partition_values(entries, partition_type), strict=True
        ):
            directory = path.split("/data/", 1)[1].rpartition("/")[0]
            if not directory:
                continue  # the generic writers of Java put files of all partitions in one directory
            ours = spec.partition_path(opened.metadata.current_schema, values, schemas=opened.metadata.schemas)
            assert ours == directory
