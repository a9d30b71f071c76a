"""ORDER BY with LIMIT: which files can hold one of the first k rows.

Two proofs. Before anything is read: where files that match whole hold k values that are all at or before a place, a
file whose best place is behind it holds none of the first k. While reading: files are visited best place first, and a
file whose best place is not before the k-th row so far cannot improve on it; all files after it cannot either.

The law: the rows found are the first k of the full result, for any choice among equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.plan.column_facts import zones_of
from skipstone.plan.live_rows import UNKNOWN_ROWS, live_rows
from skipstone.plan.order import EMPTY_RANK, Places, SortKey, best_places, sorted_by, worst_values
from skipstone.plan.scan import ScanPlan
from skipstone.zones.arrow import pc
from skipstone.zones.verdict import Verdict
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPlan:
    """Files that can hold one of the first k rows, best place first, with those places."""

    plan: ScanPlan
    keys: tuple[SortKey, ...]
    k: int
    places: Places

    def still_open(self, first: int, rank: int, value: Any) -> bool:
        """Whether a file from position `first` on can hold a row before one at a place (its first key)."""
        return bool(self.mask_open(first, rank, value).any())

    def mask_open(self, first: int, rank: int, value: Any) -> npt.NDArray[np.bool_]:
        rest = Places(key=self.places.key, ranks=self.places.ranks[first:], values=self.places.values[first:])
        # With further keys, a row that is equal in the first one may still come before.
        return rest.before(rank, value, or_equal=len(self.keys) > 1)


def plan_top(plan: ScanPlan, keys: Sequence[SortKey], k: int) -> TopPlan:
    """The files of a plan that can hold one of the first k rows by some keys. The plan needs facts of the first key."""
    if k < 0:
        raise InvalidInput(f"Cannot take the first {k} rows: expected 0 or more.")
    if not keys:
        raise InvalidInput(f"Cannot take the first {k} rows: expected a column to sort by, got none.")
    key = keys[0]
    zones = zones_of(plan, key.column)
    places = best_places(key, zones, plan.float_order)
    kept = np.flatnonzero(_can_be_among_first(plan, key, zones, places, k)) if k else np.empty(0, np.int64)
    # Few are left where bounds tell files apart: only those are sorted.
    kept = kept[sorted_by([places.take(kept)])]
    return TopPlan(plan=plan.taking(kept, "top-k"), keys=tuple(keys), k=k, places=places.take(kept))


def _can_be_among_first(plan: ScanPlan, key: SortKey, zones: ZoneMap, places: Places, k: int) -> npt.NDArray[np.bool_]:
    found = _guaranteed(plan, key, zones, k)
    keep: npt.NDArray[np.bool_] = places.ranks != EMPTY_RANK
    if found is None:
        return keep
    rank = key.kinds(plan.float_order).index("ordinary")
    return keep & places.before(rank, found, or_equal=True)


def _guaranteed(plan: ScanPlan, key: SortKey, zones: ZoneMap, k: int) -> Any | None:
    """A value such that at least k rows of the result are ordinary and at or before it; None if nothing proves one."""
    sure = _sure_ordinary(plan, key, zones)
    worst = worst_values(key, zones)
    usable = np.flatnonzero((sure > 0) & worst.is_valid().to_numpy(zero_copy_only=False))
    if sure[usable].sum() < k:
        return None
    ends = worst.take(pa.array(usable))
    # Each of these files holds a row: no more than k of them are needed.
    choose = pc.top_k_unstable if key.descending else pc.bottom_k_unstable
    order = choose(ends, k=min(k, len(ends))).to_numpy()
    enough = int(np.searchsorted(np.cumsum(sure[usable][order]), k))
    return ends[int(order[enough])]


def _sure_ordinary(plan: ScanPlan, key: SortKey, zones: ZoneMap) -> Longs:
    """How many rows of each file certainly match, are not deleted and have an ordinary value."""
    facts = zones.columns[key.column.field_id]
    nothing = np.zeros(len(plan), np.int64)
    live = live_rows(plan.files, plan.deletes)
    rows = plan.files.column("record_count").to_numpy().astype(np.int64)
    odd = [facts.null_count, facts.nan_count if _has_nan(key) else None]
    if facts.null_count is None or (_has_nan(key) and facts.nan_count is None):
        return nothing
    other = sum((_counts(c) for c in odd if c is not None), nothing)
    if key.column.is_nested:
        # Rows whose parent is null have no value either, and no count of their own.
        values = facts.value_count
        if values is None:
            return nothing
        other = other + np.where(_counts(values) < _MANY, rows - _counts(values), _MANY)
    is_sure = (plan.files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES) & (live != UNKNOWN_ROWS)
    return np.where(is_sure, np.maximum(live - other, 0), 0)


_MANY = 1 << 48


def _counts(counts: Any) -> Longs:
    """Counts with unknown ones as more than there can be."""
    filled: Longs = pc.fill_null(counts, _MANY).to_numpy()
    return filled


def _has_nan(key: SortKey) -> bool:
    return str(key.column.type) in ("float", "double")
