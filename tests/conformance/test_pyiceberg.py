"""PyIceberg and this library read each other's v1 and v2 tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import ManifestEntry as PeerEntry
from pyiceberg.table import StaticTable, Table
from tests.support.golden_values import partition_values
from tests.support.peers import grown_table, sql_catalog, transformed_table
from tests.support.sample_tables import SCHEMA, comparable_rows, rows
from tests.support.table_builder import TableBuilder
from tests.support.table_reader import OpenTable, open_file

from skipstone.metadata.manifests.manifest import EntryStatus
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata, serialize_table_metadata
from skipstone.metadata.types import DOUBLE, STRING, PrimitiveType
from skipstone.metadata.values import parse_bound, serialize_bound

VERSIONS = [1, 2]
COLUMNS = [f.name for f in SCHEMA.fields]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    opened = sql_catalog(tmp_path / "warehouse")
    yield opened
    opened.close()


# -- tables of PyIceberg, read here --------------------------------------------------------------------------------


def _peer_entries(table: Table) -> list[PeerEntry]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifests = snapshot.manifests(table.io)
    return [e for m in manifests for e in m.fetch_manifest_entry(table.io, discard_deleted=False)]


def _our_entries(opened: OpenTable) -> list[tuple[dict[str, Any], dict[int, Any]]]:
    """Rows of the current snapshot's manifests, with the partition tuple of each."""
    found = []
    for manifest in opened.manifests(opened.metadata.current_snapshot):
        entries = opened.entries(manifest)
        tuples = partition_values(entries, opened.partition_type(manifest))
        found += list(zip(entries.drop_columns(["partition"]).to_pylist(), tuples, strict=True))
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_metadata_file_of_pyiceberg_parses_and_survives_writing(catalog: SqlCatalog, version: int) -> None:
    location = grown_table(catalog, version).metadata_location
    files = sorted(Path(location.removeprefix("file://")).parent.glob("*.metadata.json"))
    assert len(files) >= 6
    for path in files:
        metadata = parse_table_metadata(path.read_bytes(), source=path.name)
        assert metadata.format_version == version
        assert parse_table_metadata(serialize_table_metadata(metadata), source="again") == metadata


@pytest.mark.parametrize("version", VERSIONS)
def test_what_we_write_of_pyicebergs_metadata_means_the_same_to_it(catalog: SqlCatalog, version: int) -> None:
    table = grown_table(catalog, version)
    path = Path(table.metadata_location.removeprefix("file://"))
    again = path.with_name("99999-again.metadata.json")
    again.write_bytes(serialize_table_metadata(parse_table_metadata(path.read_bytes(), source=path.name)))
    reread = StaticTable.from_metadata(f"file://{again}")
    # PyIceberg leaves the deprecated `schema` of a v1 table as it was at first; ours is the current one.
    deprecated = {"schema_"}
    assert reread.metadata.model_dump(exclude=deprecated) == table.metadata.model_dump(exclude=deprecated)
    assert reread.schema() == table.schema()


@pytest.mark.parametrize("version", VERSIONS)
def test_entries_of_pyicebergs_manifests_read_as_it_reads_them(catalog: SqlCatalog, version: int) -> None:
    table = grown_table(catalog, version)
    ours = _our_entries(open_file(table.metadata_location))
    theirs = _peer_entries(table)
    assert len(ours) == len(theirs) > 4
    for (row, _), peer in zip(ours, theirs, strict=True):
        file = peer.data_file
        assert row["status"] == peer.status.value
        assert row["snapshot_id"] == peer.snapshot_id
        assert row["sequence_number"] == (peer.sequence_number or 0)
        assert (row["file_path"], row["file_format"]) == (file.file_path, file.file_format.value)
        assert (row["record_count"], row["file_size_in_bytes"]) == (file.record_count, file.file_size_in_bytes)
        for name in ("column_sizes", "value_counts", "null_value_counts", "lower_bounds", "upper_bounds"):
            assert dict(row[name] or ()) == dict(getattr(file, name) or {}), name


@pytest.mark.parametrize("version", VERSIONS)
def test_bounds_of_pyiceberg_are_decoded_and_encoded_again(catalog: SqlCatalog, version: int) -> None:
    opened = open_file(grown_table(catalog, version).metadata_location)
    schema, seen = opened.metadata.current_schema, 0
    for row, _ in _our_entries(opened):
        for field_id, bound in [*(row["lower_bounds"] or ()), *(row["upper_bounds"] or ())]:
            field = schema.find(field_id)
            if field is not None and isinstance(field.type, PrimitiveType):
                again = serialize_bound(field.type, parse_bound(field.type, bound))
                # A float's bounds keep their width after the column became double.
                assert again == bound or (field.type == DOUBLE and len(bound) == 4)
                seen += 1
    assert seen > 50


@pytest.mark.parametrize("version", VERSIONS)
def test_partition_values_of_every_transform_read_as_pyiceberg_wrote_them(catalog: SqlCatalog, version: int) -> None:
    table, tuples = transformed_table(catalog, version)
    ours = [values for _, values in _our_entries(open_file(table.metadata_location))]
    assert ours == [{1000 + i: v for i, v in enumerate(wanted.values())} for wanted in tuples]


@pytest.mark.parametrize("version", VERSIONS)
def test_counts_in_pyicebergs_manifest_lists_are_those_of_the_manifests(catalog: SqlCatalog, version: int) -> None:
    opened = open_file(grown_table(catalog, version).metadata_location)
    for manifest in opened.distinct_manifests():
        statuses = opened.entries(manifest).column("status").to_pylist()
        assert statuses.count(EntryStatus.ADDED) == manifest.added_files_count
        assert statuses.count(EntryStatus.EXISTING) == manifest.existing_files_count
        assert statuses.count(EntryStatus.DELETED) == manifest.deleted_files_count


# -- our tables, read by PyIceberg ---------------------------------------------------------------------------------


def _scanned(builder: TableBuilder, columns: list[str] = COLUMNS, **scan: Any) -> list[dict[str, Any]]:
    table = StaticTable.from_metadata(builder.metadata_location)
    return comparable_rows(table.scan(**scan).to_arrow().to_pylist(), columns)


@pytest.mark.parametrize("version", VERSIONS)
def test_pyiceberg_reads_the_rows_of_our_unpartitioned_table(tmp_path: Path, version: int) -> None:
    builder = TableBuilder(tmp_path / "t", SCHEMA, format_version=version)
    builder.append(rows(*range(10)))
    builder.append(rows(*range(10, 14)))
    assert _scanned(builder) == comparable_rows(rows(*range(14)), COLUMNS)


@pytest.mark.parametrize("version", VERSIONS)
def test_pyiceberg_prunes_our_partitions_and_files_without_losing_rows(tmp_path: Path, version: int) -> None:
    builder = TableBuilder(
        tmp_path / "t", SCHEMA, format_version=version, partition_by=["region", "bucket(4, id)", "day(tz)"]
    )
    builder.append(rows(*range(20)))
    table = StaticTable.from_metadata(builder.metadata_location)
    assert len(list(table.scan().plan_files())) == len(builder.data_files)
    for text, kept in (
        ("region = 'north'", [i for i in range(20) if i % 5 == 1]),
        ("region is null", [i for i in range(20) if i % 5 == 0]),
        ("id >= 7 and id < 9", [7, 8]),
        ("tz < '2026-02-03T00:00:00+00:00'", [0, 1, 2, 3]),
        ("amount > 100", [i for i in range(20) if i % 6 != 5 and i * 1_234 - 5_000 > 10_000]),
    ):
        assert _scanned(builder, row_filter=text) == comparable_rows(rows(*kept), COLUMNS), text
        assert len(list(table.scan(row_filter=text).plan_files())) < len(builder.data_files), text


@pytest.mark.parametrize("version", VERSIONS)
def test_pyiceberg_follows_our_schema_and_spec_evolution(tmp_path: Path, version: int) -> None:
    builder = TableBuilder(tmp_path / "t", SCHEMA, format_version=version, partition_by=["region"])
    builder.append(rows(0, 1, 2))

    def evolve(update: SchemaUpdate) -> SchemaUpdate:
        return (
            update.add_column("later", STRING)
            .rename_column("i", "quantity")
            .delete_column("flag")
            .update_column("f", type=DOUBLE)
            .move_first("amount")
        )

    builder.change_schema(evolve)
    builder.change_spec(lambda update: update.remove_field("region").add_term("bucket(8, id)"))
    added = [{**row, "quantity": row.get("i"), "later": f"later {row['id']}"} for row in rows(3, 4, 6)]
    builder.append(added)
    columns = [f.name for f in builder.metadata.current_schema.fields]
    assert columns[0] == "amount"
    old = [{**row, "quantity": row.get("i")} for row in rows(0, 1, 2)]
    assert _scanned(builder, columns) == comparable_rows([*old, *added], columns)


def test_pyiceberg_applies_our_position_deletes(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", SCHEMA, format_version=2, partition_by=["region"])
    first, *_ = builder.append(rows(*range(10)))
    builder.delete_positions({first.file_path: [0]})
    assert _scanned(builder) == comparable_rows(rows(*range(1, 10)), COLUMNS)


@pytest.mark.parametrize("version", VERSIONS)
def test_pyiceberg_sees_the_counts_and_summaries_of_our_snapshots(tmp_path: Path, version: int) -> None:
    builder = TableBuilder(tmp_path / "t", SCHEMA, format_version=version, partition_by=["region"])
    builder.append(rows(*range(10)))
    builder.append(rows(*range(10, 12)))
    table = StaticTable.from_metadata(builder.metadata_location)
    manifests = table.inspect.manifests().to_pylist()
    assert [m["added_data_files_count"] for m in manifests] == [2, 5]
    assert [len(m["partition_summaries"]) for m in manifests] == [1, 1]
    snapshots = table.inspect.snapshots().to_pylist()
    assert [dict(s["summary"])["total-records"] for s in snapshots] == ["10", "12"]
    assert [p["record_count"] for p in table.inspect.partitions().to_pylist()]


def test_pyiceberg_reads_our_gzip_metadata(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", SCHEMA)
    builder.append(rows(1))
    path = tmp_path / "t" / "metadata" / "00009-zipped.gz.metadata.json"
    path.write_bytes(serialize_table_metadata(builder.metadata, compression="gzip"))
    assert StaticTable.from_metadata(f"file://{path}").scan().to_arrow().num_rows == 1
