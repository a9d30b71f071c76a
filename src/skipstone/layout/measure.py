"""Measuring a layout: for each column what queries for a value and for a range have to read.

Queries ask for values where there are rows, the more the oftener: what people look for is mostly what is there. Rows
are taken to lie evenly between the bounds of their file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.layout.advice import recommend
from skipstone.layout.distinct import distinct_values
from skipstone.layout.overlap import Sweep
from skipstone.layout.report import ColumnHealth, LayoutReport
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import (
    DateType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    UnknownType,
    VariantType,
)
from skipstone.plan.column_facts import column_named, zones_of
from skipstone.plan.order import check_sortable
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.predicate.nodes import Column
from skipstone.storage.protocol import Storage
from skipstone.zones.bounds import Between
from skipstone.zones.kinds import Kinds

pa: Any = pyarrow
pc: Any = pyarrow.compute

COLUMNS_MAX: Final = 32  # as many as are indexed by default
RANGE_SHARE_DEFAULT: Final = 0.01
_MICROS: Final = 86_400_000_000
_DAY: Final = {
    DateType: 1,
    TimestampType: _MICROS,
    TimestamptzType: _MICROS,
    TimestampNsType: _MICROS * 1000,
    TimestamptzNsType: _MICROS * 1000,
}


def measure_layout(
    metadata: TableMetadata,
    storage: Storage,
    *,
    name: str,
    snapshot: Snapshot | None,
    columns: Sequence[str] | None = None,
    range_share: float = RANGE_SHARE_DEFAULT,
) -> LayoutReport:
    """The health of some columns, by default of the first with an order, and what would help them."""
    if not 0 < range_share <= 1:
        raise InvalidInput(f"Cannot measure {name} for ranges of {range_share} of the rows: expected above 0, up to 1.")
    schema = metadata.current_schema
    chosen = _columns(schema, name, columns)
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=schema, facts_of=[c.field_id for c in chosen])
    health = tuple(_health(plan, column, range_share) for column in chosen)
    return LayoutReport(
        table=name,
        snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        files=len(plan),
        rows=int(_rows(plan).sum()),
        bytes=pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0,
        columns=health,
        recommendations=recommend(plan, health, {c.field_id: d for c in chosen if (d := _days(plan, c)) is not None}),
    )


def _columns(schema: Schema, table: str, names: Sequence[str] | None) -> list[Column]:
    if names is None:
        ordered = [f.id for f in schema.primitive_leaves if _has_order(schema, f.id)]
        names = [schema.name_of(i) for i in ordered[:COLUMNS_MAX]]
    chosen = [column_named(n, schema, what="measure", table=table) for n in names]
    for column in chosen:
        check_sortable(column.type, f"measure the layout of {column.name!r}")
    return chosen


def _has_order(schema: Schema, field_id: int) -> bool:
    type_ = schema.field(field_id).type
    without = VariantType | GeometryType | GeographyType | UnknownType
    return (
        isinstance(type_, PrimitiveType) and not isinstance(type_, without) and not schema.is_in_list_or_map(field_id)
    )


def _rows(plan: ScanPlan) -> Any:
    return np.maximum(plan.files.column("record_count").to_numpy().astype(np.int64), 0)


def _health(plan: ScanPlan, column: Column, range_share: float) -> ColumnHealth:
    zones = zones_of(plan, column)
    facts = zones.columns[column.field_id]
    between = Between.of(facts)
    nothing = Kinds(facts, zones, is_nested=column.is_nested).no_ordinary.to_numpy(zero_copy_only=False)
    has_bounds = np.zeros(len(plan), bool)
    if between.lower is not None and between.upper is not None:
        has_bounds = pc.and_(between.lower.is_valid(), between.upper.is_valid()).to_numpy(zero_copy_only=False)
    has_bounds = has_bounds & ~nothing
    rows = _rows(plan)
    unknown = ~has_bounds & ~nothing
    sweep = _sweep(between, has_bounds, rows)
    weights = _weights(sweep)
    point, point_rows, deepest = _point(sweep, weights)
    ranged, ranged_rows = _range(sweep, weights, range_share)
    always, always_rows, total = int(unknown.sum()), int(rows[unknown].sum()), max(int(rows.sum()), 1)
    distinct, basis = distinct_values(plan, column, sweep)
    return ColumnHealth(
        field_id=column.field_id,
        name=column.name,
        type=str(column.type),
        files=len(plan),
        files_without_bounds=always,
        depth_average=point,
        depth_max=deepest,
        zones_point=point + always,
        zones_range=ranged + always,
        range_share=range_share,
        skipped_share_point=max(0.0, 1 - (point_rows + always_rows) / total) if len(plan) else 0.0,
        skipped_share_range=max(0.0, 1 - (ranged_rows + always_rows) / total) if len(plan) else 0.0,
        clustering=clustering(point + always, len(plan)),
        distinct=distinct,
        distinct_basis=basis,
    )


def _days(plan: ScanPlan, column: Column) -> float | None:
    """The days between the least and the greatest bound of a date or timestamp column."""
    length = _DAY.get(type(column.type))
    between = Between.of(zones_of(plan, column).columns[column.field_id])
    if length is None or between.lower is None or between.upper is None:
        return None
    first, last = pc.min(between.lower).as_py(), pc.max(between.upper).as_py()
    return None if first is None or last is None else (last - first) / length


def _sweep(between: Between, has_bounds: Any, rows: Any) -> Sweep:
    if not has_bounds.any():
        empty = pa.array([], pa.int64())
        return Sweep.of(empty, empty, np.empty(0, np.int64))
    mask = pa.array(has_bounds)
    lower, upper = (_long(side.filter(mask)) for side in (between.lower, between.upper) if side is not None)
    return Sweep.of(lower, upper, rows[has_bounds])


def _long(side: Any) -> Any:
    """Texts of millions of files may be more than 2 GB together."""
    return side.cast(pa.large_binary()) if pa.types.is_string(side.type) or pa.types.is_binary(side.type) else side


def _point(sweep: Sweep, weights: Any) -> tuple[float, float, int]:
    """Files, and rows, that a query for one value meets, and the most files at a point."""
    if sweep.num_cells == 0:
        return 0.0, 0.0, 0
    depths = sweep.depths()
    average = float(np.average(depths, weights=weights))
    return average, float(np.average(sweep.depths(sweep.rows), weights=weights)), int(depths.max())


def _range(sweep: Sweep, weights: Any, share: float) -> tuple[float, float]:
    if sweep.num_cells == 0:
        return 0.0, 0.0
    first, last = sweep.ranges(share, weights)
    files = float(np.average(sweep.met(first, last), weights=weights))
    return files, float(np.average(sweep.met(first, last, sweep.rows), weights=weights))


def _weights(sweep: Sweep) -> Any:
    """The rows in each cell; where no file says how many it has, each cell counts the same."""
    mass = sweep.mass()
    return mass if mass.sum() > 0 else np.ones(sweep.num_cells)


def clustering(zones_point: float, files: int) -> float:
    """1 where a point is in one file, 0 where it is in all."""
    return 1.0 if files <= 1 else float(np.clip(1 - (zones_point - 1) / (files - 1), 0, 1))
