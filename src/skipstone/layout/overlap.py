"""How many files contain a point, or meet a range, by a sweep over the bounds of all files at once.

The bounds of all files cut the column's values into cells: every bound is a cell, and so is every gap between two
neighbouring ones. Within a cell the same files are met everywhere. A sweep adds a file at the cell of its lower bound
and takes it away after that of its upper one; sums along the cells are the depths.

Where in a file its rows lie is not known: they are spread evenly between its bounds, by distance for numbers and dates,
by the count of cells for texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

pa: Any = pyarrow
pc: Any = pyarrow.compute

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Files as ranges of cells, with the rows of each, and the width of each cell. Cell 2 i is the i-th bound."""

    low: Longs
    high: Longs
    rows: Longs
    widths: Floats

    @staticmethod
    def of(lower: Any, upper: Any, rows: Longs) -> Sweep:
        """Files with both bounds; `lower` and `upper` are of one ordered, comparable type, without nulls."""
        together = pa.concat_arrays([lower, upper])
        ranks = _ranks(together)
        return Sweep(
            low=2 * ranks[: len(lower)],
            high=2 * ranks[len(lower) :],
            rows=rows,
            widths=_widths(together, ranks) if len(ranks) else np.empty(0),
        )

    @property
    def num_cells(self) -> int:
        return len(self.widths)

    @property
    def num_bounds(self) -> int:
        """How many different values are bounds."""
        return (self.num_cells + 1) // 2

    def depths(self, weights: npt.NDArray[Any] | None = None) -> Floats:
        """For each cell the files (or the weights of the files) that contain it."""
        begun = np.bincount(self.low, weights, self.num_cells + 1)
        ended = np.bincount(self.high + 1, weights, self.num_cells + 1)
        depths: Floats = np.cumsum(begun - ended)[:-1].astype(np.float64)
        return depths

    def met(self, first: Longs, last: Longs, weights: npt.NDArray[Any] | None = None) -> Floats:
        """For each range of cells the files (or weights) that share one with it."""
        begun = np.cumsum(np.bincount(self.low, weights, self.num_cells))
        ended = np.concatenate([[0], np.cumsum(np.bincount(self.high, weights, self.num_cells))])
        met: Floats = (begun[last] - ended[first]).astype(np.float64)
        return met

    def mass(self) -> Floats:
        """The rows in each cell, those of a file spread evenly over its own."""
        upto = np.concatenate([[0.0], np.cumsum(self.widths)])
        # Far from zero a sum loses what is narrow: a file is never narrower than its bound.
        density = self.rows / np.maximum(upto[self.high + 1] - upto[self.low], self.widths[self.low])
        # Sums of many densities leave a little behind where none is left.
        mass: Floats = np.maximum(self.widths * self.depths(density), 0.0)
        mass[self.depths() == 0] = 0.0
        return mass

    def ranges(self, share: float, mass: Floats) -> tuple[Longs, Longs]:
        """Ranges that begin at each cell and hold a share of the mass, less at the end."""
        upto = np.cumsum(mass)
        first = np.arange(self.num_cells)
        wanted = np.concatenate([[0.0], upto[:-1]]) + share * upto[-1]
        last = np.minimum(np.searchsorted(upto, wanted), self.num_cells - 1)
        return first, np.maximum(first, last)


def _ranks(bounds: Any) -> Longs:
    if len(bounds) == 0:
        return np.empty(0, np.int64)
    if pa.types.is_boolean(bounds.type):
        bounds = bounds.cast(pa.int8())
    if pa.types.is_floating(bounds.type):
        bounds = pc.add(bounds, pa.scalar(0.0, bounds.type))  # one zero
    ranks: Longs = pc.rank(bounds, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    return ranks


def _widths(bounds: Any, ranks: Longs) -> Floats:
    """The width of every bound and of every gap between two."""
    distinct = np.zeros(int(ranks.max()) + 1)
    whole = pa.types.is_integer(bounds.type)
    if whole or pa.types.is_floating(bounds.type) or pa.types.is_decimal(bounds.type):
        numbers = bounds.cast(pa.float64(), safe=False).to_numpy()
        distinct[ranks] = np.nan_to_num(numbers, posinf=np.finfo(float).max / 4, neginf=np.finfo(float).min / 4)
        gaps = np.diff(distinct) - (1.0 if whole else 0.0)
        span = float(gaps.sum())
        point = 1.0 if whole else max(span * 1e-9, np.finfo(float).tiny * 1e9)
    else:
        gaps, point = np.ones(len(distinct) - 1), 1.0
    widths = np.full(2 * len(distinct) - 1, point)
    widths[1::2] = np.maximum(gaps, 0.0)
    return widths
