"""The zone of a small manifest as a whole, at the least cost: a commit of few files must not pay for much else.

Law: what it says, merging the zones of the files says too. It says less where facts are missing or odd: a bound is
known only if every file has one. Partition values are left to the manifest list, which has them already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.index.entry_facts import column_of_map
from skipstone.index.zone_rows import ZoneKind
from skipstone.metadata.manifests.manifest import EntryStatus
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    DateType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    TimestampType,
    TimestamptzType,
)
from skipstone.metadata.values import bound_type, parse_bounds_array

pa: Any = pyarrow
pc: Any = pyarrow.compute

# Bounds that are plain numbers; floats have two zeros, and dates may have been widened.
_FIXED: Final[dict[type[PrimitiveType], np.dtype[Any]]] = {
    IntType: np.dtype("<i4"),
    DateType: np.dtype("<i4"),
    LongType: np.dtype("<i8"),
    TimestampType: np.dtype("<i8"),
    TimestamptzType: np.dtype("<i8"),
}
_MAPS: Final = ("lower_bounds", "upper_bounds", "null_value_counts", "nan_value_counts")


def whole_zone(entries: Any, ids: Sequence[int], schema: Schema, source: str) -> tuple[Any, int]:
    """A table of one row about all live entries, and how many there are."""
    live = entries.column("status").to_numpy() != EntryStatus.DELETED
    if not live.all():
        entries = entries.take(pa.array(np.flatnonzero(live)))
    count = entries.num_rows
    columns = {
        "kind": pa.array([int(ZoneKind.MANIFEST)], pa.int8()),
        "number": pa.array([0], pa.int32()),
        "files": pa.array([count], pa.int64()),
        "rows": pa.array([_total(_one(entries.column("record_count")))], pa.int64()),
    }
    rows = entries.column("record_count").to_numpy()
    if count and rows.min() > 0 and _all_parquet(_one(entries.column("file_format"))):
        maps = [_Map(_one(entries.column(name))) for name in _MAPS]
        for field_id in ids:
            columns |= _facts(field_id, maps, rows, schema, source)
    return pa.table(columns), count


class _Map:
    """A map column; where all rows have the same keys, as of one writer, a key is every so many items."""

    def __init__(self, array: Any) -> None:
        self._array = array
        offsets = array.offsets.to_numpy()
        start, count = int(offsets[0]), len(array)
        width = int(offsets[1]) - start if count else 0
        self._keys: list[int] | None = None
        keys = array.keys.to_numpy()[start : int(offsets[-1])]
        if count and array.null_count == 0 and len(keys) == width * count:
            grid = keys.reshape(count, width)
            if bool((grid == grid[0]).all()):
                self._keys = grid[0].tolist()
        self._start, self._width, self._count = start, width, count

    def column(self, field_id: int) -> Any:
        if self._keys is None:
            return column_of_map(self._array, field_id)
        if field_id not in self._keys:
            return pa.nulls(self._count, self._array.type.item_type)
        first = self._start + self._keys.index(field_id)
        return self._array.items.take(pa.array(np.arange(first, first + self._width * self._count, self._width)))


def _facts(field_id: int, maps: Sequence[_Map], rows: Any, schema: Schema, source: str) -> dict[str, Any]:
    type_ = schema.field(field_id).type
    assert isinstance(type_, PrimitiveType)
    lows, highs, nulls, nans = (m.column(field_id) for m in maps)
    found: dict[str, Any] = {}
    is_float = isinstance(type_, FloatType | DoubleType)
    for name, counts in (("null_count", nulls), ("nan_count", nans if is_float else None)):
        total = None if counts is None else _total(counts, rows)
        if total is not None:
            found[f"{field_id}.{name}"] = pa.array([total], pa.int64())
    if lows.null_count or highs.null_count:
        return found
    if type(type_) in _FIXED and (plain := _plain_bounds(type_, lows, highs)) is not None:
        return found | {f"{field_id}.{name}": bound for name, bound in plain.items()}
    both = pa.concat_arrays([lows, highs])
    bounds = parse_bounds_array(type_, both, source=source, place=f"[{field_id}]", on_bad="unknown")
    lower, upper = bounds[: len(lows)], bounds[len(lows) :]
    if bounds.null_count or pc.any(pc.greater(lower, upper)).as_py():
        return found
    least, most = pc.min_max(lower)["min"], pc.min_max(upper)["max"]
    if is_float:
        # The smaller zero below, the larger above.
        least = pa.scalar(-0.0, least.type) if least.as_py() == 0 else least
        most = pa.scalar(0.0, most.type) if most.as_py() == 0 else most
    found[f"{field_id}.lower"], found[f"{field_id}.upper"] = pa.repeat(least, 1), pa.repeat(most, 1)
    found[f"{field_id}.covered"] = pa.array([len(lower)], pa.int64())
    return found


def _plain_bounds(type_: PrimitiveType, lows: Any, highs: Any) -> dict[str, Any] | None:
    """The facts of whole numbers of the expected width, without an array between; None where bytes are otherwise."""
    dtype = _FIXED[type(type_)]
    low, high = _numbers(lows, dtype), _numbers(highs, dtype)
    if low is None or high is None or bool((low > high).any()):
        return None
    arrow = bound_type(type_)
    return {
        "lower": pa.array(low.min(keepdims=True)).view(arrow),
        "upper": pa.array(high.max(keepdims=True)).view(arrow),
        "covered": pa.array([len(low)], pa.int64()),
    }


def _numbers(raw: Any, dtype: np.dtype[Any]) -> Any | None:
    offsets = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1]
    if int(offsets[-1]) - int(offsets[0]) != len(raw) * dtype.itemsize or bool(
        (np.diff(offsets) != dtype.itemsize).any()
    ):
        return None
    return np.frombuffer(raw.buffers()[2], dtype, count=len(raw), offset=int(offsets[0]))


def _total(counts: Any, most: Any = None) -> int | None:
    """The sum of counts that are all known; those below zero are not, nor those above the number of rows."""
    if counts.null_count or len(counts) == 0:
        return None
    numbers = counts.to_numpy()
    is_odd = numbers.min() < 0 or (most is not None and bool((numbers > most).any()))
    return None if is_odd else int(numbers.sum())


def _all_parquet(formats: Any) -> bool:
    """Timestamps of ORC files need a closer look."""
    return bool(formats.null_count == 0 and pc.all(pc.match_like(formats, "parquet", ignore_case=True)).as_py())


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
