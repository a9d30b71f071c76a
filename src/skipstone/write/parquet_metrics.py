"""Metrics from a Parquet footer.

Law: a footer's statistics are taken only where they cover all values of a row group; where one is missing, the rows
that were watched while writing must explain it, else the bound is unknown.

Spec: "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple
from uuid import UUID

from skipstone.metadata.types import (
    DecimalType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StringType,
    UuidType,
    Value,
)
from skipstone.metadata.values import serialize_bound
from skipstone.metadata.values.decimals import from_unscaled
from skipstone.metadata.values.geo import GeoPoint
from skipstone.write.metrics import FileMetrics, MetricsPlan, TrackedColumn, bound_bytes, merged


@dataclass(slots=True)
class RowFacts:
    """What was seen in the rows of one column. `has_long_values` explains row groups without bounds."""

    nulls: int = 0
    nans: int = 0
    lower: Value = None
    upper: Value = None
    has_long_values: bool = False

    def widen(self, type_: PrimitiveType, lower: Value, upper: Value) -> None:
        self.has_long_values = True
        self.lower = merged(type_, self.lower, lower, is_upper=False)
        self.upper = merged(type_, self.upper, upper, is_upper=True)


class _Chunk(NamedTuple):
    """A column of a row group. pyarrow makes a new object for each look at its statistics: one look is enough."""

    column: Any
    statistics: Any


def footer_metrics(footer: Any, plan: MetricsPlan, rows: Mapping[int, RowFacts]) -> FileMetrics:
    """The metrics of a finished file; `rows` are the facts that were collected while writing, by field id."""
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    nans: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    rows_count = footer.num_rows
    columns = {place: [g.column(place) for g in groups] for place in plan.file_columns}
    for column in plan.tracked:
        chunks = [_Chunk(c, c.statistics) for c in columns[column.file_column]]
        seen = rows.get(column.field_id)
        values[column.field_id] = rows_count
        if (null_count := _null_count(column, chunks, seen)) is not None:
            nulls[column.field_id] = null_count
        if seen is not None and column.is_float:
            nans[column.field_id] = seen.nans
        if column.has_bounds:
            _add_bounds(column, chunks, seen, lower, upper)
        elif isinstance(column.type, GeometryType) and column.mode.kind != "counts":
            _add_box(column, chunks, lower, upper)
    return FileMetrics(
        column_sizes={i: sum([c.total_compressed_size for c in columns[place]]) for place, i in plan.sized},
        value_counts=values,
        null_value_counts=nulls,
        nan_value_counts=nans,
        lower_bounds=lower,
        upper_bounds=upper,
    )


def _null_count(column: TrackedColumn, chunks: list[_Chunk], seen: RowFacts | None) -> int | None:
    if isinstance(column.type, GeometryType | GeographyType):
        return None if seen is None else seen.nulls
    total = 0
    for chunk in chunks:
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        total += statistics.null_count
    return total


def _add_bounds(
    column: TrackedColumn,
    chunks: list[_Chunk],
    seen: RowFacts | None,
    lower: dict[int, bytes],
    upper: dict[int, bytes],
) -> None:
    low = None if seen is None else seen.lower
    high = None if seen is None else seen.upper
    for chunk in chunks:
        statistics = chunk.statistics
        found = None if statistics is None else _extremes(column, statistics)
        if found is not None:
            low = merged(column.type, low, statistic_value(column.type, found[0]), is_upper=False)
            high = merged(column.type, high, statistic_value(column.type, found[1]), is_upper=True)
        elif not (_has_no_values(statistics, chunk, column, seen) or (seen is not None and seen.has_long_values)):
            return
    if column.is_float:
        # Writers differ in which zero they keep: the wider one covers both.
        low, high = (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
    for value, bounds, is_upper in ((low, lower, False), (high, upper, True)):
        data = None if value is None else bound_bytes(column.type, value, column.mode, is_upper=is_upper)
        if data is not None:
            bounds[column.field_id] = data


def _extremes(column: TrackedColumn, statistics: Any) -> tuple[Any, Any] | None:
    """The bounds as they are stored. One that is NaN, as some writers leave it, bounds nothing."""
    if not statistics.has_min_max:
        return None
    low, high = statistics.min_raw, statistics.max_raw
    return None if column.is_float and (isnan(low) or isnan(high)) else (low, high)


def _has_no_values(statistics: Any, chunk: _Chunk, column: TrackedColumn, seen: RowFacts | None) -> bool:
    """Whether a row group without bounds holds nothing to bound: only nulls, or NaNs."""
    if statistics is None or not statistics.has_null_count:
        return False
    if statistics.null_count == chunk.column.num_values:
        return True
    return column.is_float and seen is not None and seen.nans > 0


def statistic_value(type_: PrimitiveType, raw: Any) -> Value:
    """A statistic as Parquet stores it, as a value of the column."""
    match type_:
        case DecimalType(_, scale):
            unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else int(raw)
            return from_unscaled(unscaled, scale)
        case StringType():
            return raw.decode() if isinstance(raw, bytes) else raw
        case UuidType():
            return UUID(bytes=raw)
        case _:
            return raw


def _add_box(column: TrackedColumn, chunks: list[_Chunk], lower: dict[int, bytes], upper: dict[int, bytes]) -> None:
    """The corners of the box around all geometries, where every row group has one."""
    boxes = []
    for chunk in chunks:
        geo = chunk.column.geo_statistics
        if geo is None:
            return
        boxes.append(geo.to_dict())
    known = [b for b in boxes if b["xmin"] is not None and b["ymin"] is not None]
    if not known or len(known) != sum(1 for b in boxes if b["geospatial_types"]):
        return
    low = GeoPoint(
        x=min(b["xmin"] for b in known),
        y=min(b["ymin"] for b in known),
        z=_extreme(known, "zmin", min),
        m=_extreme(known, "mmin", min),
    )
    high = GeoPoint(
        x=max(b["xmax"] for b in known),
        y=max(b["ymax"] for b in known),
        z=_extreme(known, "zmax", max),
        m=_extreme(known, "mmax", max),
    )
    lower[column.field_id] = serialize_bound(column.type, low)
    upper[column.field_id] = serialize_bound(column.type, high)


def _extreme(boxes: list[dict[str, Any]], key: str, pick: Any) -> float | None:
    values = [b[key] for b in boxes if b[key] is not None]
    return None if not values else float(pick(values))
