"""The zone of a small manifest as a whole, at the least cost: a commit of few files must not pay for much else.

Law: what it says, merging the zones of the files says too. It says less where facts are missing or odd: a bound is
known only if every file has one. Partition values are left to the manifest list, which has them already.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import gt
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.index.metric_maps import BoundMap, CountMap
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
    StringType,
    TimestampType,
    TimestamptzType,
)
from skipstone.metadata.values import bound_type, parse_bounds_array

pa: Any = pyarrow
pc: Any = pyarrow.compute

# Bounds that are plain numbers. Those of another width, as a promotion leaves them, take the longer way.
_FIXED: Final[dict[type[PrimitiveType], np.dtype[Any]]] = {
    IntType: np.dtype("<i4"),
    DateType: np.dtype("<i4"),
    LongType: np.dtype("<i8"),
    TimestampType: np.dtype("<i8"),
    TimestamptzType: np.dtype("<i8"),
    FloatType: np.dtype("<f4"),
    DoubleType: np.dtype("<f8"),
}
_KIND: Final = pa.array([int(ZoneKind.MANIFEST)], pa.int8())
_NUMBER: Final = pa.array([0], pa.int32())


def whole_zone(entries: Any, ids: Sequence[int], schema: Schema, source: str) -> tuple[Any, int]:
    """A table of one row about all live entries, and how many there are."""
    live = entries.column("status").to_numpy() != EntryStatus.DELETED
    if not live.all():
        entries = entries.take(pa.array(np.flatnonzero(live)))
    count = entries.num_rows
    rows = entries.column("record_count").to_numpy()
    numbers: dict[str, int | None] = {"files": count, "rows": int(rows.sum()) if count and rows.min() >= 0 else None}
    bounds: dict[str, Any] = {}
    if count and rows.min() > 0 and _all_parquet(_one(entries.column("file_format"))):
        lows, highs = (BoundMap(_one(entries.column(n))) for n in ("lower_bounds", "upper_bounds"))
        nulls, nans = (CountMap(_one(entries.column(n)), rows) for n in ("null_value_counts", "nan_value_counts"))
        for field_id in ids:
            type_ = schema.field(field_id).type
            assert isinstance(type_, PrimitiveType)
            null_count, nan_count = nulls.total(field_id), None
            if isinstance(type_, FloatType | DoubleType):
                nan_count = nans.total(field_id)
                if not nulls.fits_with(nans, field_id):
                    null_count = nan_count = None  # in a sum, counts that cannot be right could make up for each other
            numbers[f"{field_id}.null_count"], numbers[f"{field_id}.nan_count"] = null_count, nan_count
            found = _bounds(field_id, type_, lows, highs, source)
            if found is not None:
                bounds[f"{field_id}.lower"], bounds[f"{field_id}.upper"] = found
                numbers[f"{field_id}.covered"] = count
    return pa.table({"kind": _KIND, "number": _NUMBER, **_longs(numbers), **bounds}), count


def _longs(numbers: dict[str, int | None]) -> dict[str, Any]:
    """A column of one row for each number; of those that are not known none, but for the first two."""
    kept = {name: n for name, n in numbers.items() if n is not None or name in ("files", "rows")}
    whole = pa.array(list(kept.values()), pa.int64())
    return {name: whole.slice(place, 1) for place, name in enumerate(kept)}


def _bounds(field_id: int, type_: PrimitiveType, lows: BoundMap, highs: BoundMap, source: str) -> Any | None:
    """The least lower and the greatest upper bound as columns of one row, if all files have both in order."""
    dtype = _FIXED.get(type(type_))
    if dtype is not None:
        low, high = lows.numbers(field_id, dtype), highs.numbers(field_id, dtype)
        if low is not None and high is not None:
            return _of_numbers(low, high, type_)
    if isinstance(type_, StringType):
        first, last = lows.texts(field_id), highs.texts(field_id)
        if first is not None and last is not None:
            return _of_texts(first, last)
    both = pa.concat_arrays([lows.column(field_id), highs.column(field_id)])
    if both.null_count:
        return None
    bounds = parse_bounds_array(type_, both, source=source, place=f"[{field_id}]", on_bad="unknown")
    lower, upper = bounds[: len(bounds) // 2], bounds[len(bounds) // 2 :]
    if bounds.null_count or not pc.all(pc.less_equal(lower, upper)).as_py():
        return None
    least, most = pc.min_max(lower)["min"], pc.min_max(upper)["max"]
    if dtype is not None and dtype.kind == "f":
        least, most = (pa.scalar(_wide_zero(v.as_py(), sign), v.type) for v, sign in ((least, -0.0), (most, 0.0)))
    return pa.repeat(least, 1), pa.repeat(most, 1)


def _of_numbers(low: Any, high: Any, type_: PrimitiveType) -> Any | None:
    # A NaN is in no order, and proves nothing.
    if not bool((low <= high).all()):
        return None
    arrow = bound_type(type_)
    least, most = low.min(keepdims=True), high.max(keepdims=True)
    if low.dtype.kind == "f":
        least[0], most[0] = _wide_zero(least[0], -0.0), _wide_zero(most[0], 0.0)
    return tuple(pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(v)]) for v in (least, most))


def _of_texts(low: list[bytes], high: list[bytes]) -> Any | None:
    # The order of code points is that of their bytes.
    if any(map(gt, low, high)):
        return None
    arrow = bound_type(StringType())
    return pa.array([min(low).decode()], arrow), pa.array([max(high).decode()], arrow)


def _wide_zero(value: Any, zero: float) -> Any:
    """The smaller zero below, the larger above."""
    return zero if value == 0 else value


def _all_parquet(formats: Any) -> bool:
    """Timestamps of ORC files need a closer look."""
    if formats.null_count:
        return False
    return all(name.lower() == "parquet" for name in formats.unique().to_pylist())


def _one(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
