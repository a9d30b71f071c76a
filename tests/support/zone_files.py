"""Random rows in real Parquet and ORC files, one row group or stripe a zone, with the truth about them."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from tests.support.zones import LEAVES, NAMES, SCHEMA, Batch, Row, Rows, is_nested, some_batch

from skipstone.metadata.formats.arrow_types import values_to_array
from skipstone.metadata.formats.orc_types import from_orc_schema, orc_write_schema
from skipstone.metadata.formats.parquet_types import WRITE_OPTIONS, from_parquet_schema, parquet_write_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.projection import Projection, resolve
from skipstone.metadata.types import (
    BooleanType,
    GeographyType,
    GeometryType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    Type,
    UnknownType,
    VariantType,
    map_types,
)
from skipstone.zones.build import FileBytes

_GEO = (GeometryType, GeographyType)
_MOMENTS = (TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)


@dataclass(frozen=True, slots=True)
class ZoneFile:
    """A file whose zones are `zones`, each with rows."""

    data: FileBytes
    metadata: Any
    projection: Projection
    zones: list[Rows]


def storable_batch(rng: random.Random, *, num_zones: int, without: tuple[type[Type], ...] = ()) -> Batch:
    """Zones with rows, over columns that both a file and pyarrow can hold."""
    while True:
        batch = some_batch(rng, num_zones=num_zones)
        bad = (VariantType, UnknownType, *without)
        kept = tuple(i for i in batch.field_ids if not isinstance(LEAVES[i].type, bad))
        zones = [[{i: v for i, v in row.items() if i in kept} for row in rows] for rows in batch.zones if rows]
        if kept and zones:
            return Batch(kept, batch.pools, zones)


def stored_schema(field_ids: tuple[int, ...]) -> Schema:
    """The columns, all optional: pyarrow does not write null structs around required fields."""
    schema = SCHEMA.select([NAMES[i] for i in field_ids])
    struct = map_types(schema.struct, lambda f: replace(f, required=False))
    assert isinstance(struct, StructType)
    return Schema(fields=struct.fields)


def arrow_rows(schema: Schema, rows: Rows) -> list[pa.Array[Any]]:
    """The rows as one Arrow array a top-level column."""
    nested = [_nested(row) for row in rows]
    return [values_to_array(f.type, [row.get(f.id) for row in nested]) for f in schema.fields]


def _nested(row: Row) -> dict[int, Any]:
    inside = {i: v for i, v in row.items() if is_nested(i)}
    return {**{i: v for i, v in row.items() if not is_nested(i)}, 99: inside or None}


def write_parquet(rng: random.Random, batch: Batch, *, one_group: bool = False) -> ZoneFile:
    schema = stored_schema(batch.field_ids)
    target = parquet_write_schema(schema)
    names = [NAMES[i] for i in batch.field_ids if not isinstance(LEAVES[i].type, (*_GEO, BooleanType))]
    blooms = {n: {"ndv": 50, "fpp": 0.01} for n in names if rng.random() < 0.5}
    sink = io.BytesIO()
    writer = pq.ParquetWriter(
        sink,
        target,
        use_dictionary=rng.random() < 0.6,
        compression=rng.choice(("none", "snappy", "zstd", "gzip", "lz4", "brotli")),
        data_page_version=rng.choice(("1.0", "2.0")),
        write_page_index=True,
        write_batch_size=1,
        max_rows_per_page=rng.choice((1, 2, 5)),
        bloom_filter_options=blooms or None,
        **{**WRITE_OPTIONS, "store_decimal_as_integer": rng.random() < 0.5},
    )
    zones = [[row for rows in batch.zones for row in rows]] if one_group else batch.zones
    with writer:
        for rows in zones:
            writer.write_table(_table(arrow_rows(schema, rows), target))
    data = sink.getvalue()
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    projection = resolve(schema, from_parquet_schema(metadata.schema))
    return ZoneFile(FileBytes.of_buffer(data, "zones.parquet"), metadata, projection, zones)


def write_orc(rng: random.Random, batch: Batch) -> ZoneFile:
    """One file of one stripe a zone is more than pyarrow promises, so there is one zone: all rows."""
    schema = stored_schema(batch.field_ids)
    rows = [row for zone in batch.zones for row in zone]
    target = orc_write_schema(schema)
    table = pa.table([_cast(a, f.type) for a, f in zip(arrow_rows(schema, rows), target, strict=True)], schema=target)
    sink = io.BytesIO()
    orc.write_table(table, sink, compression=rng.choice(("uncompressed", "snappy", "zstd", "zlib", "lz4")))
    data = sink.getvalue()
    projection = resolve(schema, from_orc_schema(orc.ORCFile(io.BytesIO(data)).schema))
    return ZoneFile(FileBytes.of_buffer(data, "zones.orc"), None, projection, [rows])


def fits_orc(batch: Batch) -> bool:
    """No moment that ORC's C++ writer stores as another one: out of its range, or in the last second before 1970."""
    return all(
        -(10**15) < v < 10**15 and not -(10**9) <= v < 0
        for i in batch.field_ids
        if isinstance(LEAVES[i].type, _MOMENTS)
        for v in batch.pools[i]
    )


def _table(arrays: list[pa.Array[Any]], target: pa.Schema) -> pa.Table:
    return pa.table([_cast(a, f.type) for a, f in zip(arrays, target, strict=True)], schema=target)


def _cast(array: pa.Array[Any], target: pa.DataType) -> pa.Array[Any]:
    """The array as a writer wants it: extension types around bytes, in structs too."""
    if array.type == target:
        return array
    if isinstance(target, pa.StructType):
        children = [_cast(array.field(i), target.field(i).type) for i in range(target.num_fields)]  # type: ignore[attr-defined]
        fields = [target.field(i) for i in range(target.num_fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, array)
    if pa.types.is_time64(array.type):
        return array.view(target)
    return array.cast(target)


def kept_rows(ranges: np.ndarray[Any, Any]) -> set[int]:
    return {row for start, end in ranges.tolist() for row in range(start, end)}
