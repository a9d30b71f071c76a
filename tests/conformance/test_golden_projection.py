"""Rows of golden tables: data files read through projection by field id give what Java reads.

Each expected row names its file and position, so no deletes need to be applied: whatever Java returns must be
found there with the same values, under the table's current schema.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.support.golden import GoldenTable, golden_tables, local
from tests.support.golden_values import partition_values
from tests.support.table_reader import OpenTable, open_golden

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.formats.orc_types import from_orc_schema
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.manifests.manifest import EntryStatus, FileContent
from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY, parse_name_mapping
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import (
    DOUBLE,
    BinaryType,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
    UnknownType,
    VariantType,
)
from skipstone.metadata.values import value_from_json

# Encrypted files need a key; shredded variants are put together by the reader of data files, not here.
NOT_HERE = ("v3_encrypted", "v3_variant_shredded")
TABLES = [t for t in golden_tables() if t.name not in NOT_HERE]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_rows_are_what_java_reads(table: GoldenTable) -> None:
    expected = {(r["_file"], r["_pos"]): r for r in current_rows(table)}
    if not expected:
        pytest.skip("no rows of the current snapshot were kept")
    if not any(name.endswith((".parquet", ".orc")) for name, _ in expected):
        pytest.skip("Avro data files are read elsewhere")
    opened = open_golden(table)
    found = 0
    for path, batch in projected(opened):
        for pos in range(batch.num_rows):
            row = expected.get((path.name, pos))
            if row is None:
                continue  # deleted since
            for i, f in enumerate(opened.metadata.current_schema.fields):
                value = arrow_to_value(f.type, batch.column(i)[pos])
                assert same(f.type, value, row[f.name]), (path.name, pos, str(f), value, row[f.name])
            found += 1
    readable = [name for name, _ in expected if name.endswith(".parquet")]
    assert found >= len(readable)


def current_rows(table: GoldenTable) -> list[dict[str, Any]]:
    """Rows under the current schema; those of a snapshot are under the schema it had."""
    for row_set in table.row_sets():
        if row_set["label"] == "current":
            return table.rows(row_set)
    return table.current_rows() or []


def projected(opened: OpenTable) -> Iterator[tuple[Path, pa.RecordBatch]]:
    """Every live Parquet or ORC data file, under the current schema."""
    metadata = opened.metadata
    text = metadata.properties.get(NAME_MAPPING_PROPERTY)
    mapping = parse_name_mapping(text) if text is not None else None
    for manifest in opened.manifests(metadata.current_snapshot):
        entries = opened.entries(manifest)
        partitions = partition_values(entries, opened.partition_type(manifest))
        for entry, partition in zip(entries.drop_columns(["partition"]).to_pylist(), partitions, strict=True):
            path = local(entry["file_path"])
            if entry["status"] == EntryStatus.DELETED or entry["content"] != FileContent.DATA:
                continue
            read = contents(path)
            if read is None:
                continue
            struct, batch = read
            projection = resolve(
                metadata.current_schema,
                struct,
                partition_spec=opened.spec(manifest),
                partition=partition,
                name_mapping=mapping,
                source=path.name,
            )
            yield path, project_arrow(projection, batch)


def contents(path: Path) -> tuple[StructType, pa.RecordBatch] | None:
    match path.suffix:
        case ".parquet":
            file = pq.ParquetFile(path)
            return from_parquet_schema(file.schema, source=path.name), one_batch(file.read())
        case ".orc":
            stripes = orc.ORCFile(str(path))
            try:
                return from_orc_schema(stripes.schema, source=path.name), one_batch(stripes.read())
            except pa.ArrowInvalid:
                return None  # pyarrow refuses ORC timestamps outside the range of nanoseconds
    return None


def one_batch(table: pa.Table) -> pa.RecordBatch:
    columns = [c.combine_chunks() if c.num_chunks != 1 else c.chunk(0) for c in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def same(type_: Type, ours: Any, java: Any) -> bool:
    """Whether a value of ours is the one the expectations spell."""
    if ours is None or java is None or isinstance(type_, UnknownType):
        return ours is None and java is None
    match type_:
        case StructType(fields):
            return set(java) == {f.name for f in fields} and all(same(f.type, ours[f.id], java[f.name]) for f in fields)
        case ListType():
            return len(ours) == len(java) and all(same(type_.element, o, j) for o, j in zip(ours, java, strict=True))
        case MapType():
            return same_map(type_, ours, java)
        case BinaryType() | FixedType() | GeometryType() | GeographyType():
            return bool(ours.hex() == java)
        case VariantType():
            return bool(ours["metadata"].hex() == java["metadata"] and ours["value"].hex() == java["value"])
        case _:
            # repr tells -0.0 from 0.0 and NaN from nothing else.
            return repr(ours) == repr(value_from_json(type_, java))


def same_map(type_: MapType, ours: list[tuple[Any, Any]], java: dict[str, list[Any]]) -> bool:
    pairs = list(zip(java["keys"], java["values"], strict=True))
    return len(ours) == len(pairs) and all(
        any(same(type_.key, k, key) and same(type_.value, v, value) for key, value in pairs) for k, v in ours
    )


def test_comparison_tells_zeros_nulls_and_lengths_apart() -> None:
    assert same(DOUBLE, 0.0, 0.0) and not same(DOUBLE, 0.0, -0.0) and not same(DOUBLE, None, 0.0)
    floats = ListType(element_id=1, element=DOUBLE)
    assert same(floats, [math.nan], ["NaN"]) and not same(floats, [1.0], [1.0, 1.0])
