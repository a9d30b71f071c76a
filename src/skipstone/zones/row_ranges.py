"""The rows of a row group that a predicate can match, by the pages of its columns.

Law: every matching row lies in the ranges. Pages of different columns do not line up, so what is about one column gives
the rows of the pages it keeps: AND takes the rows in all of them, OR the rows in any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from skipstone.errors import InvalidInput
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import AlwaysFalse, AlwaysTrue, And, Column, Or, Predicate, Unknown, column_of
from skipstone.predicate.one_term import joined_by_term, only_term
from skipstone.zones.build.pages import PageZones
from skipstone.zones.judge import prove

# Rows as half-open ranges, one a row of the array: ascending, apart from each other, none empty.
Ranges: TypeAlias = npt.NDArray[np.int64]


def row_ranges(
    predicate: Predicate,
    pages: Mapping[int, PageZones],
    num_rows: int,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Ranges:
    """The rows that must be read. `pages` holds what is known of the columns, by field id; the others keep all rows."""
    everything = as_ranges([(0, num_rows)])
    term = only_term(predicate)
    if term is not None:
        column = column_of(term)
        found = pages.get(column.field_id) if isinstance(column, Column) else None
        return everything if found is None else _kept(predicate, found, float_order)
    match predicate:
        case AlwaysTrue():
            return everything
        case AlwaysFalse() | Unknown():
            return as_ranges([])
        case And():
            kept = everything
            for part in joined_by_term(predicate):
                if len(kept):
                    kept = intersection(kept, row_ranges(part, pages, num_rows, float_order))
            return kept
        case Or():
            return union(*(row_ranges(part, pages, num_rows, float_order) for part in joined_by_term(predicate)))
        case _:
            raise InvalidInput(f"Cannot judge {predicate}: expected a bound predicate without NOT. Call bind first.")


def _kept(predicate: Predicate, pages: PageZones, float_order: FloatOrder) -> Ranges:
    kept = prove(predicate, pages.zones, float_order).kept().to_numpy(zero_copy_only=False)
    return union(np.stack([pages.starts[:-1][kept], pages.starts[1:][kept]], axis=1))


def as_ranges(pairs: list[tuple[int, int]]) -> Ranges:
    return np.array([p for p in pairs if p[0] < p[1]], dtype=np.int64).reshape(-1, 2)


def num_rows_in(ranges: Ranges) -> int:
    return int((ranges[:, 1] - ranges[:, 0]).sum())


def union(*parts: Ranges) -> Ranges:
    """Rows in any of the parts."""
    every = np.concatenate([*parts, as_ranges([])])
    every = every[every[:, 0] < every[:, 1]]
    if len(every) == 0:
        return every
    every = every[np.argsort(every[:, 0], kind="stable")]
    reach = np.maximum.accumulate(every[:, 1])
    first = np.flatnonzero(np.concatenate([[True], every[1:, 0] > reach[:-1]]))
    last = np.concatenate([first[1:] - 1, [len(every) - 1]])
    return np.stack([every[first, 0], reach[last]], axis=1)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """Rows in both parts."""
    return complement_within(
        union(complement_within(left, _EVERYTHING), complement_within(right, _EVERYTHING)), _EVERYTHING
    )


_EVERYTHING = (0, np.iinfo(np.int64).max)


def complement_within(ranges: Ranges, whole: tuple[int, int]) -> Ranges:
    """The rows of `whole` that are in none of the ranges."""
    starts = np.concatenate([[whole[0]], ranges[:, 1]])
    ends = np.concatenate([ranges[:, 0], [whole[1]]])
    gaps = np.stack([starts, ends], axis=1).astype(np.int64)
    return gaps[gaps[:, 0] < gaps[:, 1]]
