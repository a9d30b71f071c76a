"""Column statistics as people and optimizers read them, each value with its label.

What there is depends on the type, as in Hive: trues and falses of a boolean; low, high and the number of distinct
values of numbers, dates and times; lengths and distinct values of strings; lengths of binary values. Numbers and times
also have a histogram, all but booleans the most frequent values.

Lengths are in characters for strings and bytes for binary values. `average_length` is over values that are not null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skipstone.errors import NotFound, what_exists
from skipstone.metadata.types import PrimitiveType, Value
from skipstone.metadata.values import parse_value
from skipstone.stats.heavy_values import HeavyValues
from skipstone.stats.hyperloglog import HyperLogLog
from skipstone.stats.labels import Accuracy, Labelled
from skipstone.stats.quantiles import RANK_ERROR, Quantiles
from skipstone.stats.summary import ColumnSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """What is known about one column of a table or partition. None means unknown, never zero."""

    field_id: int
    name: str
    type: PrimitiveType
    value_count: Labelled[int]
    null_count: Labelled[int]
    nan_count: Labelled[int] | None = None
    ndv: Labelled[int] | None = None
    low: Labelled[Value] | None = None
    high: Labelled[Value] | None = None
    true_count: Labelled[int] | None = None
    false_count: Labelled[int] | None = None
    average_length: Labelled[float] | None = None
    max_length: Labelled[int] | None = None
    quantiles: Quantiles | None = field(default=None, repr=False)
    heavy: HeavyValues | None = field(default=None, repr=False)
    bit_vector: HyperLogLog | None = field(default=None, repr=False)
    is_after_deletes: bool = False

    def histogram(self, buckets: int = 10) -> Labelled[list[float]] | None:
        """Values that cut the column into buckets of about equal size, the least and greatest among them."""
        if self.quantiles is None or not self.quantiles.count:
            return None
        ranks = [i / buckets for i in range(buckets + 1)]
        return Labelled(self.quantiles.quantiles(ranks), Accuracy.ESTIMATE, RANK_ERROR)

    def top_values(self, k: int = 10) -> list[tuple[Value, Labelled[int]]]:
        """The most frequent values with their counts."""
        if self.heavy is None:
            return []
        return [
            (parse_value(self.type, data), self._heavy_label(count)) for data, count in [*self.heavy.counts.items()][:k]
        ]

    def _heavy_label(self, count: int) -> Labelled[int]:
        assert self.heavy is not None
        if self.heavy.is_sampled or self.heavy.error:
            return Labelled(count, Accuracy.ESTIMATE, self.heavy.error / count if count else 0.0)
        return Labelled(count, Accuracy.BOUND if self.is_after_deletes else Accuracy.EXACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Which snapshot was analysed, when, and what has happened to the table since.

    Rows are at most so many; None where the snapshots do not tell.
    """

    snapshot_id: int
    analysed_at_ms: int
    current_snapshot_id: int | None
    snapshots_since: int
    rows_added_since: int | None
    rows_removed_since: int | None

    @property
    def is_current(self) -> bool:
        return self.snapshot_id == self.current_snapshot_id


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatistics:
    """Statistics of a snapshot: over the table, or over one partition of it."""

    freshness: Freshness
    row_count: Labelled[int]
    size_in_bytes: int
    columns: Mapping[int, ColumnStatistics]

    def column(self, name: str) -> ColumnStatistics:
        found = self.find(name)
        if found is None:
            names = [c.name for c in self.columns.values()]
            raise NotFound(f"Cannot find statistics of column {name!r}. {what_exists('Analysed columns', name, names)}")
        return found

    def find(self, name: str) -> ColumnStatistics | None:
        return next((c for c in self.columns.values() if c.name == name), None)

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a column, values with their labels as text, for showing."""
        shown = ("value_count", "null_count", "nan_count", "ndv", "low", "high", "true_count", "false_count",
                 "average_length", "max_length")  # fmt: skip
        return [
            {"column": c.name, "type": str(c.type)}
            | {n: None if (v := getattr(c, n)) is None else str(v) for n in shown}
            for c in self.columns.values()
        ]


def column_statistics(name: str, summary: ColumnSummary, *, is_after_deletes: bool) -> ColumnStatistics:
    """A summary with its labels. After deletes that no scan has seen, all of it only encloses the truth."""
    plain = Accuracy.BOUND if is_after_deletes else Accuracy.EXACT
    has_bounds = summary.lower is not None and summary.upper is not None
    trues = summary.true_count
    return ColumnStatistics(
        field_id=summary.field_id,
        name=name,
        type=summary.type,
        value_count=Labelled(summary.value_count, plain),
        null_count=Labelled(summary.null_count, plain),
        nan_count=Labelled(summary.nan_count, plain),
        ndv=_ndv(summary, is_after_deletes),
        low=Labelled(summary.lower, plain) if has_bounds else None,
        high=Labelled(summary.upper, plain) if has_bounds else None,
        true_count=None if trues is None else Labelled(trues, plain),
        false_count=None if trues is None else Labelled(summary.value_count - summary.null_count - trues, plain),
        average_length=_average(summary, is_after_deletes),
        max_length=None if summary.length_max is None else Labelled(summary.length_max, plain),
        quantiles=summary.quantiles,
        heavy=summary.heavy,
        bit_vector=summary.bit_vector,
        is_after_deletes=is_after_deletes,
    )


def _ndv(summary: ColumnSummary, is_after_deletes: bool) -> Labelled[int] | None:
    if summary.theta is None:
        return None
    # An empty string is in no sketch, so a column that has one has one value more than its sketch.
    count = summary.theta.ndv + (summary.length_total is not None and summary.lower in ("", b""))
    if is_after_deletes:
        return Labelled(count, Accuracy.UPPER_ESTIMATE, summary.theta.error)
    return Labelled(count, Accuracy.EXACT if summary.theta.is_exact else Accuracy.ESTIMATE, summary.theta.error)


def _average(summary: ColumnSummary, is_after_deletes: bool) -> Labelled[float] | None:
    count = summary.value_count - summary.null_count
    if summary.length_total is None or not count:
        return None
    label = Accuracy.ESTIMATE if is_after_deletes else Accuracy.EXACT
    return Labelled(summary.length_total / count, label)
