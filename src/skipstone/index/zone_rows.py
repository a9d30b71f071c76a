"""Zones of one manifest as rows of a table: the manifest, its partitions, its blocks of files.

Columns are `kind`, `number`, `files`, `rows`, then facts: "4.lower" of column 4, "partition.1000.lower" of partition
field 1000. A fact is known or null, and null means unknown. `covered` counts the files that had bounds at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.index.blocks import Blocks, numbered
from skipstone.index.entry_facts import LiveEntries
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import PrimitiveType, StructType
from skipstone.metadata.values import bound_type
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.merge import merge_zones
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute


class ZoneKind(IntEnum):
    MANIFEST = 0
    PARTITION = 1
    BLOCK = 2


FACT_NAMES: Final = {
    "lower": "lower",
    "upper": "upper",
    "null_count": "null_count",
    "nan_count": "nan_count",
    "value_count": "value_count",
    "covered": "files_covered",
}
# Partitions of a manifest are zones of their own only if they hold enough files to be worth a row.
_PARTITIONS_ALWAYS: Final = 64
_FILES_PER_PARTITION_MIN: Final = 256


def zone_rows(entries: LiveEntries, blocks: Blocks, schema: Schema) -> Any:
    """The rows of one manifest: itself, then its partitions if they are few, then its blocks if there are several."""
    order = pa.array(blocks.order)
    files = from_manifest_table(entries.table, schema).take(order)
    tuples = from_partitions(entries.partition.take(order), entries.partition_type)
    length = len(entries)
    runs = [(ZoneKind.MANIFEST, np.zeros(1, np.int64))]
    if _are_few(len(blocks.partition_starts), length):
        runs.append((ZoneKind.PARTITION, blocks.partition_starts))
    if len(blocks.starts) > 1:
        runs.append((ZoneKind.BLOCK, blocks.starts))
    # One merge for all kinds: every file is a member of one zone of each.
    groups, base = [], 0
    for _, starts in runs:
        groups.append(numbered(starts, length) + base)
        base += len(starts)
    members = pa.array(np.tile(np.arange(length), len(runs)))
    group = pa.array(np.concatenate(groups))
    columns = {
        "kind": pa.array(np.repeat([int(k) for k, _ in runs], [len(s) for _, s in runs]), pa.int8()),
        "number": pa.array(np.concatenate([np.arange(len(s)) for _, s in runs]), pa.int32()),
        "files": pa.array(np.bincount(group.to_numpy(), minlength=base), pa.int64()),
    }
    merged = merge_zones(files.take(members), group, base)
    columns["rows"] = merged.row_count
    columns |= _facts("", merged)
    columns |= _facts("partition.", merge_zones(tuples.take(members), group, base))
    return pa.table(columns)


def _are_few(num_partitions: int, num_files: int) -> bool:
    return num_partitions <= max(_PARTITIONS_ALWAYS, num_files // _FILES_PER_PARTITION_MIN)


def _facts(prefix: str, zones: ZoneMap) -> dict[str, Any]:
    found = {}
    for field_id, facts in zones.columns.items():
        for name, attribute in FACT_NAMES.items():
            column = getattr(facts, attribute)
            if column is not None and column.null_count < len(column):
                found[f"{prefix}{field_id}.{name}"] = column
    return found


def column_zones(rows: Any, field_ids: Iterable[int], schema: Schema) -> ZoneMap:
    """The zones as facts about columns of the schema. Facts of a type that does not fit are unknown."""
    types = {i: f.type for i in field_ids if (f := schema.find(i)) is not None}
    return _zone_map(rows, "", types, _one(rows.column("rows")))


def partition_zones(rows: Any, partition_type: StructType) -> ZoneMap:
    """The zones as facts about partition tuples; a row of such a zone is a file's tuple."""
    types = {f.id: f.type for f in partition_type.fields}
    return _zone_map(rows, "partition.", types, _one(rows.column("files")))


def _zone_map(rows: Any, prefix: str, types: Mapping[int, Any], row_count: Any) -> ZoneMap:
    columns = {
        i: _column_facts(rows, f"{prefix}{i}", type_)
        for i, type_ in types.items()
        if isinstance(type_, PrimitiveType) and any(f"{prefix}{i}.{n}" in rows.column_names for n in FACT_NAMES)
    }
    return ZoneMap(num_zones=rows.num_rows, row_count=row_count, columns=columns)


def _column_facts(rows: Any, name: str, type_: PrimitiveType) -> ColumnFacts:
    found: dict[str, Any] = {}
    for fact, attribute in FACT_NAMES.items():
        if f"{name}.{fact}" in rows.column_names:
            column = _one(rows.column(f"{name}.{fact}"))
            if fact in ("lower", "upper"):
                column = promoted(column, bound_type(type_))
            found[attribute] = column
    return ColumnFacts(type=type_, **found)


def promoted(column: Any, wanted: Any) -> Any | None:
    """A column of bounds as a later schema types them; None where values could change."""
    if column.type == wanted:
        return column
    return column.cast(wanted) if can_promote(column.type, wanted) else None


def can_promote(stored: Any, wanted: Any) -> bool:
    return bool(
        stored == wanted
        or (pa.types.is_int32(stored) and pa.types.is_int64(wanted))
        or (pa.types.is_float32(stored) and pa.types.is_float64(wanted))
        or (
            pa.types.is_decimal128(stored)
            and pa.types.is_decimal128(wanted)
            and stored.scale == wanted.scale
            and stored.precision <= wanted.precision
        )
    )


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
