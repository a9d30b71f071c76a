"""Metric maps of a few entries, a column at a time.

Where all rows have the same keys, as of one writer, a map is a grid of rows by keys: a column of it costs no search.

Spec: "Data File Fields".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.index.entry_facts import column_of_map

pa: Any = pyarrow
Ints = npt.NDArray[np.int64]
_ABSURD: Final = 1 << 61  # more rows than any file has, and two of them still fit


class MetricMap:
    """A map column of counts or of bounds."""

    def __init__(self, array: Any) -> None:
        self._array = array
        offsets = array.offsets.to_numpy()
        self._start, self._end = int(offsets[0]), int(offsets[-1])
        self._count = len(array)
        self._width = int(offsets[1]) - self._start if self._count else 0
        self._places = self._uniform_keys()

    def _uniform_keys(self) -> dict[int, int] | None:
        if not self._count or self._array.null_count or self._end - self._start != self._width * self._count:
            return None
        grid = self._array.keys.to_numpy()[self._start : self._end].reshape(self._count, self._width)
        if not bool((grid == grid[0]).all()):
            return None
        keys = grid[0].tolist()
        return {key: place for place, key in enumerate(keys)} if len(set(keys)) == len(keys) else None

    def column(self, field_id: int) -> Any:
        """The values of one key, null where a row does not have it."""
        if self._places is None:
            return column_of_map(self._array, field_id)
        place = self._places.get(field_id)
        if place is None:
            return pa.nulls(self._count, self._array.type.item_type)
        return self._array.items.take(pa.array(np.arange(self._start + place, self._end, self._width)))


class CountMap(MetricMap):
    def __init__(self, array: Any, rows: Ints) -> None:
        super().__init__(array)
        self._rows = rows
        self._totals: list[int | None] | None = None
        items = array.items.slice(self._start, self._end - self._start)
        if self._places is not None and items.null_count == 0:
            grid = items.to_numpy().reshape(self._count, self._width)
            is_odd = ((grid < 0) | (grid > rows[:, None])).any(axis=0).tolist()
            self._totals = [None if odd else n for odd, n in zip(is_odd, grid.sum(axis=0).tolist(), strict=True)]

    def total(self, field_id: int) -> int | None:
        """The sum of counts that are all known; those below zero are not, nor those above the number of rows."""
        if self._totals is None or self._places is None:
            column = self.column(field_id)
            if column.null_count:
                return None
            numbers = column.to_numpy()
            return None if bool(((numbers < 0) | (numbers > self._rows)).any()) else int(numbers.sum())
        place = self._places.get(field_id)
        return None if place is None else self._totals[place]

    def fits_with(self, other: CountMap, field_id: int) -> bool:
        """Whether the counts of two kinds of values, as far as they are known, are of no more values than there are."""
        told = np.zeros(len(self._rows), np.int64)
        for counts in (self.column(field_id), other.column(field_id)):
            told += np.clip(counts.fill_null(0).to_numpy(zero_copy_only=False), 0, _ABSURD)
        return not bool((told > self._rows).any())


class BoundMap(MetricMap):
    def __init__(self, array: Any) -> None:
        super().__init__(array)
        self._sizes: list[int] | None = None  # of the bounds of each key, -1 where they differ
        items = array.items.slice(self._start, self._end - self._start)
        if self._places is not None and items.null_count == 0 and pa.types.is_binary(items.type):
            offsets = np.frombuffer(items.buffers()[1], np.int32)[items.offset : items.offset + len(items) + 1]
            sizes = (offsets[1:] - offsets[:-1]).reshape(self._count, self._width)
            self._sizes = np.where((sizes == sizes[0]).all(axis=0), sizes[0], -1).tolist()
            self._starts = offsets[:-1].reshape(self._count, self._width)
            self._ends = offsets[1:].reshape(self._count, self._width)
            self._buffer = memoryview(items.buffers()[2] or b"")

    def numbers(self, field_id: int, dtype: np.dtype[Any]) -> Any | None:
        """Bounds that are numbers of a fixed width in every row; None where they are not, or may not be."""
        place = None if self._places is None or self._sizes is None else self._places.get(field_id)
        if place is None or self._sizes is None or self._sizes[place] != dtype.itemsize:
            return None
        places = self._starts[:, place, None] + np.arange(dtype.itemsize, dtype=np.int32)
        return np.frombuffer(self._buffer, np.uint8)[places].view(dtype).ravel()

    def texts(self, field_id: int) -> list[bytes] | None:
        """Bounds of every row as UTF-8; None where one is not there, or is no text."""
        place = None if self._places is None or self._sizes is None else self._places.get(field_id)
        if place is None:
            return None
        ranges = zip(self._starts[:, place].tolist(), self._ends[:, place].tolist(), strict=True)
        found = [bytes(self._buffer[start:end]) for start, end in ranges]
        try:
            b"\n".join(found).decode()  # one call for all: a line end is never part of another character
        except UnicodeDecodeError:
            return None
        return found
