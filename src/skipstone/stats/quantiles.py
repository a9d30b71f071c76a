"""Quantiles of a column: KLL sketches over the values as doubles.

Laws: the rank of a value is within `RANK_ERROR` of the true one. Large files are sampled, as `SAMPLE_STRIDES` says;
a sketch remembers the stride, and sketches of different strides are weighed, never mixed. NaN and null are left out.
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

pa: Any = pyarrow

K: Final = 200
RANK_ERROR: Final = 0.0165
# Files of so many rows are sampled, one value in so many: what is left tells ranks to half of the sketch's own error.
SAMPLE_STRIDES: Final = ((1_000_000, 16), (500_000, 8))
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
        self._stride = next((stride for rows, stride in SAMPLE_STRIDES if num_rows >= rows), 1)
        self._random = np.random.default_rng(num_rows)
        self._sketch = datasketches.kll_doubles_sketch(K)

    def add(self, type_: PrimitiveType, array: Any) -> None:
        if self._stride > 1 and len(array):
            # One of each stretch at random: rows may come with a period of their own.
            first = np.arange(0, len(array), self._stride)
            within = self._random.integers(0, self._stride, len(first))
            array = array.take(pa.array(np.minimum(first + within, len(array) - 1)))
        values = as_doubles(type_, array)
        if len(values):
            self._sketch.update(values)

    def finish(self) -> Quantiles:
        return Quantiles(((self._stride, self._sketch.serialize()),))


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
