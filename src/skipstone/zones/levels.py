"""The levels of skipping: what each of them proves about the zones of a table.

    manifests -> partitions -> files -> row groups -> pages

Each level's proofs stand on their own, so all of them are used: a zone is skipped if any level proves that no row
matches, and needs no filter if any level proves that all rows do.

Spec: "Scan Planning".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.projection import Projection
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate, field_ids
from skipstone.predicate.project import project_inclusive, project_strict
from skipstone.zones.arrow import Bits, pa, pc
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.footers import from_parquet_footer
from skipstone.zones.build.orc_stripes import from_orc_stripes
from skipstone.zones.build.pages import PageZones, from_page_index
from skipstone.zones.build.parquet_columns import StoredColumn, parquet_columns
from skipstone.zones.build.parquet_structures import read_footer
from skipstone.zones.chunks import ChunkProver
from skipstone.zones.judge import prove
from skipstone.zones.row_ranges import Ranges, as_ranges, row_ranges
from skipstone.zones.verdict import Proofs, intersected
from skipstone.zones.zone_map import ZoneMap


def prove_partitions(
    predicate: Predicate,
    spec: PartitionSpec,
    schema: Schema,
    zones: ZoneMap,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Proofs:
    """What partition values prove about rows, for zones of one spec: tuples, or manifests by their summaries.

    A tuple that the inclusive projection cannot match holds no matching row; one that the strict projection matches
    holds only matching rows. A zone of many tuples inherits what is proven for all of them.
    """
    return Proofs(
        none_by_partition(predicate, spec, schema, zones, float_order),
        every_by_partition(predicate, spec, schema, zones, float_order),
    )


def none_by_partition(
    predicate: Predicate, spec: PartitionSpec, schema: Schema, zones: ZoneMap, float_order: FloatOrder
) -> Bits:
    """The first half of `prove_partitions`, for those who only skip."""
    return prove(project_inclusive(predicate, spec, schema), zones, float_order).none


def every_by_partition(
    predicate: Predicate, spec: PartitionSpec, schema: Schema, zones: ZoneMap, float_order: FloatOrder
) -> Bits:
    return prove(project_strict(predicate, spec, schema), zones, float_order).every


def prove_files(
    predicate: Predicate,
    *,
    metrics: ZoneMap | None = None,
    partitions: ZoneMap | None = None,
    spec: PartitionSpec | None = None,
    schema: Schema | None = None,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Proofs:
    """What the metrics of files and their partition tuples prove together, file by file, for files of one spec."""
    parts: list[Proofs] = []
    if metrics is not None:
        parts.append(prove(predicate, metrics, float_order))
    if partitions is not None:
        if spec is None or schema is None:
            raise InvalidInput("Cannot judge partition tuples: expected their spec and the schema, got none.")
        parts.append(prove_partitions(predicate, spec, schema, partitions, float_order))
    if not parts:
        raise InvalidInput("Cannot judge files: expected zones from their metrics or partition tuples, got none.")
    return intersected(parts)


def prove_row_groups(
    predicate: Predicate,
    metadata: Any,
    projection: Projection,
    *,
    file: FileBytes | None = None,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Proofs:
    """What a Parquet file proves about its row groups: statistics, then dictionaries and Bloom filters.

    `metadata` is pyarrow's `FileMetaData`, `projection` says where the columns of the predicate are in the file. Only
    row groups that statistics leave undecided cost a look at dictionaries and filters, and only if `file` is given.
    """
    wanted = field_ids(predicate)
    zones = from_parquet_footer(metadata, projection, field_ids=wanted)
    proofs = prove(predicate, zones, float_order)
    undecided = pc.invert(pc.or_(proofs.none, proofs.every))
    if file is None or not pc.any(undecided).as_py():
        return proofs
    columns = {i: c for i, c in parquet_columns(metadata.schema, projection).items() if i in wanted}
    chunks = ChunkProver(file, columns, zones, float_order)
    numbers = np.flatnonzero(undecided.to_numpy(zero_copy_only=False))
    deeper = chunks.prove(predicate, numbers)
    none, every = (p.to_numpy(zero_copy_only=False).copy() for p in (proofs.none, proofs.every))
    none[numbers] = deeper.none.to_numpy(zero_copy_only=False)
    every[numbers] = deeper.every.to_numpy(zero_copy_only=False)
    return Proofs(pa.array(none), pa.array(every))


def prove_stripes(
    predicate: Predicate,
    file: FileBytes,
    projection: Projection,
    *,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Proofs | None:
    """What an ORC file proves about its stripes; None where its tail cannot be read, and all of it must be."""
    zones = from_orc_stripes(file, projection, field_ids=field_ids(predicate))
    return None if zones is None else prove(predicate, zones, float_order)


def page_ranges(
    predicate: Predicate,
    metadata: Any,
    projection: Projection,
    row_group: int,
    file: FileBytes,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Ranges:
    """The rows of a row group, counted from its start, that lie in pages with possible matches."""
    num_rows = metadata.row_group(row_group).num_rows
    try:
        footer = read_footer(file)
    except FormatViolation:
        return as_ranges([(0, num_rows)])
    wanted = field_ids(predicate)
    pages: dict[int, PageZones] = {}
    for field_id, column in parquet_columns(metadata.schema, projection).items():
        if field_id in wanted and isinstance(column, StoredColumn):
            found = from_page_index(file, footer, row_group, column)
            if found is not None:
                pages[field_id] = found
    return row_ranges(predicate, pages, num_rows, float_order)
