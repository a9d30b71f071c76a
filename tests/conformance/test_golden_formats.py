"""Data and delete files of Iceberg Java: their own schemas carry the table's field ids and types."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.support.golden import GoldenTable, golden_tables, local

from skipstone.metadata.avro import parse_container
from skipstone.metadata.formats.avro_read_types import from_avro_schema
from skipstone.metadata.formats.orc_types import from_orc_schema
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS, FIELD_ID_MAX
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY, apply_name_mapping, parse_name_mapping
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.metadata.types import (
    BINARY,
    Field,
    GeographyType,
    GeometryType,
    StructType,
    Type,
    UnknownType,
    map_types,
    walk,
)

# Encrypted files show their schema to holders of the key only.
TABLES = [t for t in golden_tables() if t.name not in ("v3_encrypted", "v2_empty")]
IMPORTED = ("v2_migrated", "v2_name_mapping")


def _metadata(table: GoldenTable) -> TableMetadata:
    return parse_table_metadata(table.metadata_file.read_bytes(), source=table.name)


@cache
def _file_struct(path: Path) -> StructType:
    match path.suffix:
        case ".parquet":
            return from_parquet_schema(pq.ParquetFile(path).schema, source=path.name)
        case ".orc":
            return from_orc_schema(orc.ORCFile(str(path)).schema, source=path.name)
        case ".avro":
            return from_avro_schema(parse_container(path.read_bytes(), source=path.name).schema, source=path.name)
    raise ValueError(path)


def _files(table: GoldenTable, *contents: str) -> list[Path]:
    entries = [e for e in table.entries() if e["content"] in contents and e["file_format"] != "PUFFIN"]
    return sorted({p for e in entries if (p := local(e["file_path"])).exists()})


def _bare(type_: Type) -> Type:
    """The ids and types alone: no need, docs and defaults, which files do not say, no names, which some formats spell
    differently, no columns that files do not store, and geospatial parameters in full."""

    def change(f: Field) -> Field:
        match f.type:
            case StructType(fields):
                inner: Type = StructType(tuple(c for c in fields if not isinstance(c.type, UnknownType)))
            case GeometryType():
                inner = GeometryType(f.type.effective_crs)
            case GeographyType():
                inner = GeographyType(f.type.effective_crs, f.type.effective_algorithm)
            case _:
                inner = f.type
        return Field(id=f.id, name="", type=inner)

    bare = map_types(type_, change)
    assert isinstance(bare, StructType)
    return StructType(tuple(f for f in bare.fields if not isinstance(f.type, UnknownType) and f.id <= FIELD_ID_MAX))


def _geo_as_bytes(type_: Type) -> Type:
    return map_types(
        type_, lambda f: replace(f, type=BINARY) if isinstance(f.type, GeometryType | GeographyType) else f
    )


@pytest.mark.parametrize("table", [t for t in TABLES if t.name not in IMPORTED], ids=str)
def test_data_files_have_the_ids_and_types_of_a_schema_of_the_table(table: GoldenTable) -> None:
    schemas = {_bare(s.struct) for s in _metadata(table).schemas}
    files = _files(table, "DATA")
    assert files
    for path in files:
        # Avro has no word for geospatial types: they are bytes there.
        allowed = {_geo_as_bytes(s) for s in schemas} if path.suffix == ".avro" else schemas
        assert _bare(_file_struct(path)) in allowed, path.name


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_position_delete_files_have_the_reserved_columns(table: GoldenTable) -> None:
    for path in _files(table, "POSITION_DELETES"):
        found = [(f.id, f.name, f.type) for f in _file_struct(path).fields]
        assert found == [(f.id, f.name, f.type) for f in (DELETE_FILE_PATH, DELETE_POS)]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_equality_delete_files_hold_the_columns_they_compare(table: GoldenTable) -> None:
    known = {f.id for s in _metadata(table).schemas for f in s.fields_by_id.values()}
    for entry in (e for e in table.entries() if e["content"] == "EQUALITY_DELETES"):
        path = local(entry["file_path"])
        if path.exists():
            ids = {f.id for f in walk(_file_struct(path))}
            assert set(entry["equality_ids"]) <= ids <= known


@pytest.mark.parametrize("table", [t for t in TABLES if t.name in IMPORTED], ids=str)
def test_imported_files_get_their_ids_from_the_name_mapping(table: GoldenTable) -> None:
    metadata = _metadata(table)
    mapping = parse_name_mapping(metadata.properties[NAME_MAPPING_PROPERTY])
    known = {f.id: f.type for s in metadata.schemas for f in s.fields_by_id.values()}
    without_ids = [p for p in _files(table, "DATA") if all(f.id == NO_ID for f in walk(_file_struct(p)))]
    assert without_ids
    for path in without_ids:
        named = {f.id for f in walk(apply_name_mapping(mapping, _file_struct(path)))} - {NO_ID}
        assert named
        assert named <= known.keys()


def test_all_three_formats_are_among_the_tables() -> None:
    assert {p.suffix for t in TABLES for p in _files(t, "DATA")} == {".parquet", ".orc", ".avro"}
