"""How many rows a filter matches, without reading any: what planning proves, then what statistics make likely.

Laws: the true number lies between `rows_low` and `rows_high` (at the confidence of the sketches), and never outside
what the plan proves. Rows that came since the statistics were made may all match or none of them, rows that went
likewise. Where metadata alone tells the number it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.analysis.table_statistics import table_statistics
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate, field_ids
from skipstone.stats.column_statistics import ColumnStatistics, TableStatistics
from skipstone.stats.labels import Accuracy, Labelled
from skipstone.stats.selectivity import selectivity
from skipstone.storage.protocol import Storage
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Rows that match, and their share of the bytes. `bytes_to_read` is the size of the files that must be read."""

    rows: int
    rows_low: int
    rows_high: int
    bytes: int
    bytes_low: int
    bytes_high: int
    bytes_to_read: int
    accuracy: Accuracy

    @property
    def is_exact(self) -> bool:
        return self.accuracy is Accuracy.EXACT


def estimate(
    metadata: TableMetadata,
    storage: Storage,
    snapshot: Snapshot | None,
    predicate: Predicate,
    *,
    distinct_counts: Mapping[int, int] = MappingProxyType({}),
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Estimate:
    """The rows of a snapshot that match a bound predicate.

    `distinct_counts` are others' numbers of distinct values by field id, for columns that no analysis has counted:
    they make a number of rows more likely, and move no bound.
    """
    schema = metadata.current_schema
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=schema, predicate=predicate, float_order=float_order)
    least, most, size = _proven(plan)
    exact = plan.count()
    if exact is not None or snapshot is None or least == most:
        rows = least if exact is None else exact
        return _estimate(rows, rows, rows, size, most, Accuracy.EXACT)
    known = table_statistics(metadata, storage, snapshot)
    share = selectivity(predicate, _counted(known, distinct_counts), float_order)
    seen = _seen(known, predicate)
    since = known.freshness
    low, high = least, most
    if seen.gone is not None and since.rows_removed_since is not None:
        low = max(least, math.floor(share.low * seen.rows) - seen.gone - since.rows_removed_since)
    if since.rows_added_since is not None:
        high = min(most, math.ceil(share.high * seen.rows) + since.rows_added_since)
    high = max(low, high)
    now = seen.live + (since.rows_added_since or 0) - (since.rows_removed_since or 0)
    return _estimate(min(max(round(share.share * max(now, 0)), low), high), low, high, size, most, Accuracy.ESTIMATE)


def _counted(known: TableStatistics, distinct_counts: Mapping[int, int]) -> Mapping[int, ColumnStatistics]:
    """The columns, with others' numbers of distinct values where there is none."""
    told = {
        number: replace(column, ndv=Labelled(count, Accuracy.ESTIMATE))
        for number, count in distinct_counts.items()
        if (column := known.columns.get(number)) is not None and column.ndv is None
    }
    return {**known.columns, **told}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The rows that statistics are about, how many of them live on, and at most how many do not; None for unknown."""

    rows: int
    live: int
    gone: int | None


def _seen(known: TableStatistics, predicate: Predicate) -> _Seen:
    """The rows that the statistics of a predicate's columns were made of, when they were made."""
    columns = [c for i in field_ids(predicate) if (c := known.columns.get(i)) is not None]
    if not columns:
        # Nothing but the number of rows is known, which may be one before deletes.
        count = known.row_count
        return _Seen(rows=count.value, live=count.value, gone=0 if count.is_exact else None)
    counts = {c.value_count.value for c in columns}
    rows = max(counts)
    if not any(c.is_after_deletes for c in columns):
        # Columns that were read in full tell how many rows there are, even where metadata does not.
        return _Seen(rows=rows, live=rows, gone=0 if len(counts) == 1 else None)
    live = min(known.row_count.value, rows)
    # Shares of different numbers of rows do not add up to a share of any.
    return _Seen(rows=rows, live=live, gone=rows - live if known.row_count.is_exact and len(counts) == 1 else None)


def _estimate(rows: int, low: int, high: int, size: int, rows_read: int, accuracy: Accuracy) -> Estimate:
    per_row = size / rows_read if rows_read else 0.0
    return Estimate(
        rows=rows,
        rows_low=low,
        rows_high=high,
        bytes=round(rows * per_row),
        bytes_low=int(low * per_row),
        bytes_high=int(np.ceil(high * per_row)),
        bytes_to_read=size,
        accuracy=accuracy,
    )


def _proven(plan: ScanPlan) -> tuple[int, int, int]:
    """Rows that match for sure, rows that can match at all, and the size of the files that hold them."""
    records = plan.files.column("record_count").to_numpy()
    has_deletes = pc.fill_null(pc.list_value_length(plan.files.column("deletes")), 0).to_numpy() > 0
    every = plan.files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES
    size = pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0
    return int(records[every & ~has_deletes].sum()), int(records.sum()), size
