"""The most frequent values of a column, with how far their counts can be off.

Laws: the true count of a value lies between `count` and `count + error`, where values were not sampled; a value that
is not listed occurs at most `error` times. Merging keeps both (Misra and Gries's summary). Counts of a sampled column
are scaled up and only near the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.types import BinaryType, BooleanType, FixedType, PrimitiveType, StringType, UuidType
from skipstone.metadata.values import serialize_value
from skipstone.stats.number_keys import Keys, key_bytes
from skipstone.stats.sampling import STRIDE_MAX, Sampler
from skipstone.stats.sorted_numbers import run_starts

pa: Any = pyarrow
pc: Any = pyarrow.compute

KEPT_MAX: Final = 128
# Counts are told apart up to this one.
_COUNT_MAX: Final = 4_096
_AS_BYTES: Final = (StringType, BinaryType, FixedType, UuidType)


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
        self._sampler = Sampler(num_rows)
        self._waiting: list[Any] = []
        self._summary = HeavyValues()

    def add(self, array: Any) -> None:
        """Values as they are stored; nulls are left out. Of a large file some are kept, of a small one all."""
        array = self._sampler.of(array)
        if len(array):
            self._waiting.append(array)

    def add_counted(self, values: Any, counts: Any) -> None:
        """Values, each with how often it occurs; as from a dictionary."""
        self._take(counts, 1, lambda chosen: self._bytes(values.take(pa.array(chosen))))

    def add_sorted(self, keys: Keys, stride: int) -> None:
        """The same from sorted keys of numbers, of which each was chosen among so many."""
        if len(keys):
            first = run_starts(keys)
            counts = np.diff(first, append=len(keys))
            self._take(counts, stride, lambda chosen: key_bytes(self._type, keys[first[chosen]]))

    def finish(self) -> HeavyValues:
        if self._waiting:
            counted = pc.value_counts(pa.chunked_array(self._waiting))
            self._waiting = []
            values, counts = counted.field("values"), counted.field("counts").to_numpy()
            self._take(counts, self._sampler.stride, lambda chosen: self._bytes(values.take(pa.array(chosen))))
        return self._summary

    def _take(self, counts: Any, scale: int, values_at: Callable[[Any], list[bytes]]) -> None:
        chosen, dropped = _most_frequent(counts)
        found = dict(zip(values_at(chosen), (counts[chosen] * scale).tolist(), strict=True))
        part = HeavyValues(counts=found, error=dropped * scale, is_sampled=scale > 1)
        self._summary = merge_heavy([self._summary, part])

    def _bytes(self, values: Any) -> list[bytes]:
        if isinstance(self._type, _AS_BYTES):
            found: list[bytes] = values.cast(pa.binary()).to_pylist()
            return found
        return [serialize_value(self._type, arrow_to_value(self._type, value)) for value in values]


def _most_frequent(counts: Any) -> tuple[Any, int]:
    """The places of the largest counts, more than can be kept, and the largest of those left out."""
    if len(counts) <= 2 * KEPT_MAX:
        return np.arange(len(counts)), 0
    # Few counts are large, so telling how many there are of each finds the largest without sorting any.
    clipped = np.minimum(counts, _COUNT_MAX)
    at_least = np.bincount(clipped, minlength=_COUNT_MAX + 1)[::-1].cumsum()[::-1]
    if at_least[-1] <= 2 * KEPT_MAX:
        least = int(np.argmax(at_least <= 2 * KEPT_MAX))
        return np.flatnonzero(clipped >= least), least - 1
    order = np.argpartition(counts, -2 * KEPT_MAX - 1)
    return order[-2 * KEPT_MAX :], int(counts[order[-2 * KEPT_MAX - 1]])


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
    return 3 * math.sqrt(count * STRIDE_MAX) + STRIDE_MAX
