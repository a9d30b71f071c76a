"""Quantiles of a column: KLL sketches over the values as doubles.

Laws: the rank of a value is within `RANK_ERROR` of the true one. Values come sorted, and of many only some are taken,
at even ranks, the least and the greatest among them; a sketch remembers the stride, and sketches of different strides
are weighed, never mixed. NaN and null are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

import datasketches
import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.errors import FormatViolation
from skipstone.metadata.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Value,
)
from skipstone.stats.sampling import Sampler

pa: Any = pyarrow

K: Final = 200
RANK_ERROR: Final = 0.0165
# Of sorted values at least so many are taken: ranks between them are off by a thirtieth of the error above at most.
_TAKEN_MIN: Final = 1_024
NUMERIC: Final = (
    IntType, LongType, FloatType, DoubleType, DecimalType, DateType, TimeType,
    TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType,
)  # fmt: skip


@dataclass(frozen=True)
class Quantiles:
    """Sketches by stride, each as its bytes: one value in so many was taken."""

    parts: tuple[tuple[int, bytes], ...] = ()

    @cached_property
    def _sketches(self) -> list[tuple[int, Any]]:
        return [(stride, _parse(data)) for stride, data in self.parts]

    @property
    def count(self) -> int:
        """About how many values were seen."""
        return sum(stride * sketch.n for stride, sketch in self._sketches)

    def rank(self, value: float, *, inclusive: bool = True) -> float:
        """The share of values up to this one (or below it)."""
        total = self.count
        if not total:
            return math.nan
        if math.isinf(value):
            return 1.0 if value > 0 else 0.0
        return float(sum(s * k.n * k.get_rank(value, inclusive) for s, k in self._sketches if k.n)) / total

    def quantiles(self, ranks: Sequence[float]) -> list[float]:
        """The values at these ranks, from 0 to 1."""
        sketches = [(s, k) for s, k in self._sketches if k.n]
        if not sketches:
            return []
        if len(sketches) == 1:
            return [float(v) for v in sketches[0][1].get_quantiles(list(ranks))]
        grid = np.linspace(0, 1, 513).tolist()
        values = np.concatenate([np.array(k.get_quantiles(grid)) for _, k in sketches])
        weights = np.concatenate([np.full(len(grid), s * k.n / len(grid)) for s, k in sketches])
        order = np.argsort(values, kind="stable")
        below = np.cumsum(weights[order])
        places = np.searchsorted(below, np.asarray(ranks) * below[-1], "left")
        return [float(v) for v in values[order][np.minimum(places, len(values) - 1)]]


class QuantilesBuilder:
    """Takes the values of one file; `num_rows` says how large it will be."""

    def __init__(self, num_rows: int) -> None:
        self._sampler = Sampler(num_rows)
        self._sketches: dict[int, Any] = {}

    def add(self, type_: PrimitiveType, array: Any) -> None:
        values = as_doubles(type_, self._sampler.of(array))
        self.add_sorted(np.sort(values) if len(values) > K else values, self._sampler.stride)

    def add_sorted(self, values: npt.NDArray[np.float64], stride: int) -> None:
        """Sorted values, of which each was chosen among so many.

        Up to K of them come as they lie in the file: a sketch has room for all, and is byte for byte what Hive makes.
        """
        if not len(values):
            return
        every = 1 << max(0, (len(values) // _TAKEN_MIN).bit_length() - 1)
        taken = values[every // 2 :: every].copy()  # the sketch takes no read-only memory
        taken[0], taken[-1] = values[0], values[-1]
        sketch = self._sketches.setdefault(stride * every, datasketches.kll_doubles_sketch(K))
        sketch.update(taken)

    def finish(self) -> Quantiles:
        sketches = self._sketches or {1: datasketches.kll_doubles_sketch(K)}
        return Quantiles(tuple((stride, sketches[stride].serialize()) for stride in sorted(sketches)))


def merge_quantiles(parts: Iterable[Quantiles]) -> Quantiles:
    merged: dict[int, Any] = {}
    for quantiles in parts:
        for stride, sketch in quantiles._sketches:
            merged.setdefault(stride, datasketches.kll_doubles_sketch(K)).merge(sketch)
    return Quantiles(tuple((stride, merged[stride].serialize()) for stride in sorted(merged)))


def as_doubles(type_: PrimitiveType, array: Any) -> npt.NDArray[np.float64]:
    """The values that are neither null nor NaN, as doubles; times as whole units since 1970."""
    if array.null_count:
        array = array.drop_null()
    if isinstance(type_, DecimalType):
        array = array.cast(pa.float64())
    elif pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    values: npt.NDArray[Any] = array.to_numpy(zero_copy_only=False)
    if isinstance(type_, FloatType | DoubleType):
        is_nan = np.isnan(values)
        values = values[~is_nan] if is_nan.any() else values
    return values.astype(np.float64)  # a copy, as the sketch takes no read-only memory


def as_double(value: Value) -> float:
    """A value of a numeric type on the same scale."""
    return float(value) if isinstance(value, int | float | Decimal) else math.nan


def _parse(data: bytes) -> Any:
    try:
        return datasketches.kll_doubles_sketch.deserialize(data)
    except Exception as error:  # the library raises whatever its C++ raised
        raise FormatViolation(f"Invalid quantiles sketch: {error}.") from error
