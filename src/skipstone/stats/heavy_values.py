"""The most frequent values of a column, with how far their counts can be off.

Laws: the true count of a value lies between `count` and `count + error`, where values were not sampled; a value that
is not listed occurs at most `error` times. Merging keeps both (Misra and Gries's summary). Counts of a sampled column
are scaled up and only near the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.types import BooleanType, PrimitiveType
from skipstone.metadata.values import serialize_value

pa: Any = pyarrow
pc: Any = pyarrow.compute

KEPT_MAX: Final = 128
SAMPLE_STRIDE: Final = 32
SAMPLED_ROWS_MIN: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyValues:
    """Counts by serialized value, the largest first."""

    counts: Mapping[bytes, int] = field(default_factory=dict)
    error: int = 0
    is_sampled: bool = False


class HeavyBuilder:
    """Counts the values of one file; `num_rows` says how large it will be."""

    def __init__(self, type_: PrimitiveType, num_rows: int) -> None:
        self._type = type_
        self._stride = SAMPLE_STRIDE if num_rows >= SAMPLED_ROWS_MIN else 1
        self._random = np.random.default_rng(num_rows)
        self._waiting: list[Any] = []
        self._summary = HeavyValues()

    def add(self, array: Any) -> None:
        """Values as they are stored; nulls are left out. Of a large file some are kept, of a small one all."""
        array = array.drop_null() if array.null_count else array
        if self._stride > 1 and len(array):
            first = np.arange(0, len(array), self._stride)
            places = np.minimum(first + self._random.integers(0, self._stride, len(first)), len(array) - 1)
            array = array.take(pa.array(places))
        if len(array):
            self._waiting.append(array)

    def add_counted(self, values: Any, counts: Any) -> None:
        """Values, each with how often it occurs; as from a dictionary."""
        self._take(values, counts, 1)

    def finish(self) -> HeavyValues:
        if self._waiting:
            counted = pc.value_counts(pa.chunked_array(self._waiting))
            self._waiting = []
            self._take(counted.field("values"), counted.field("counts").to_numpy(), self._stride)
        return self._summary

    def _take(self, values: Any, counts: Any, scale: int) -> None:
        dropped = 0
        if len(counts) > 2 * KEPT_MAX:
            chosen, most = _most_frequent(counts)
            dropped = most * scale
            values, counts = values.take(pa.array(chosen)), counts[chosen]
        found = {
            serialize_value(self._type, arrow_to_value(self._type, value)): int(count) * scale
            for value, count in zip(values, counts.tolist())
        }
        part = HeavyValues(counts=found, error=dropped, is_sampled=scale > 1)
        self._summary = merge_heavy([self._summary, part])


def _most_frequent(counts: Any) -> tuple[Any, int]:
    """The places of the largest counts, far more than can be kept, and the largest of those left out."""
    repeated = np.flatnonzero(counts > 1)
    if len(repeated) <= 2 * KEPT_MAX:
        return repeated, 1
    order = np.argpartition(counts[repeated], -2 * KEPT_MAX - 1)
    return repeated[order[-2 * KEPT_MAX :]], int(counts[repeated[order[-2 * KEPT_MAX - 1]]])


def merge_heavy(parts: Iterable[HeavyValues]) -> HeavyValues:
    """The most frequent values over all parts."""
    joined: dict[bytes, int] = {}
    error, is_sampled = 0, False
    for part in parts:
        error += part.error
        is_sampled = is_sampled or part.is_sampled
        for value, count in part.counts.items():
            joined[value] = joined.get(value, 0) + count
    ranked = sorted(joined.items(), key=lambda pair: (-pair[1], pair[0]))
    if len(ranked) > KEPT_MAX:
        cut = ranked[KEPT_MAX][1]
        error += cut
        ranked = [(value, count - cut) for value, count in ranked[:KEPT_MAX] if count > cut]
    return HeavyValues(counts=dict(ranked), error=error, is_sampled=is_sampled)


def has_heavy_values(type_: PrimitiveType) -> bool:
    """Booleans are counted exactly elsewhere."""
    return not isinstance(type_, BooleanType)


def sampling_slack(count: int) -> float:
    """Three standard deviations of a count that was scaled up from a sample."""
    return 3 * math.sqrt(count * SAMPLE_STRIDE) + SAMPLE_STRIDE
