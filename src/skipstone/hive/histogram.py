"""Histograms as Hive 4 stores them: a KLL sketch of floats, 200 wide, in the bytes of Apache DataSketches.

Dates and timestamps are in it as seconds, decimals as floats. A float holds 24 bits: a histogram describes a
distribution, it bounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import datasketches
import numpy as np

from skipstone.errors import FormatViolation
from skipstone.hive.kll_bytes import Doubles, parse_doubles
from skipstone.stats.quantiles import Quantiles

WIDTH: Final = 200


class Histogram:
    """A distribution of values; histograms of parts merge."""

    def __init__(self, sketch: Any | None = None) -> None:
        self._sketch = sketch if sketch is not None else datasketches.kll_floats_sketch(WIDTH)

    @classmethod
    def of(cls, values: Iterable[float]) -> Histogram:
        """The histogram of values; what is not a number is left out."""
        made = cls()
        column = np.asarray(list(values), np.float32)
        made._sketch.update(column[~np.isnan(column)])
        return made

    @property
    def count(self) -> int:
        return int(self._sketch.n)

    @property
    def low(self) -> float:
        return float(self._sketch.get_min_value())

    @property
    def high(self) -> float:
        return float(self._sketch.get_max_value())

    def quantile(self, rank: float) -> float:
        """The value below which a share of the values lies, about."""
        return float(self._sketch.get_quantile(rank))

    def merge(self, others: Sequence[Histogram]) -> Histogram:
        merged = datasketches.kll_floats_sketch(WIDTH)
        for histogram in (self, *others):
            merged.merge(histogram._sketch)
        return Histogram(merged)

    def serialize(self) -> bytes:
        return bytes(self._sketch.serialize())


def parse_histogram(data: bytes | None) -> Histogram | None:
    """The histogram in stored bytes; None if there is none."""
    if not data:
        return None
    try:
        return Histogram(datasketches.kll_floats_sketch.deserialize(data))
    except (ValueError, RuntimeError, IndexError) as error:
        raise FormatViolation(f"Invalid histogram of {len(data)} bytes: {error}.") from None


def histogram_of(
    quantiles: Quantiles, change: Callable[[Doubles], Doubles], *, low: float, high: float, count: int
) -> Histogram | None:
    """The histogram of values whose quantiles are known, each changed to what Hive takes it for.

    `low`, `high` and `count` are those of all values, which a sample may have missed. None where no value was seen, or
    the samples are not one value in a power of two, which levels could not tell.
    """
    found: list[Histogram] = []
    for number, (stride, data) in enumerate(quantiles.parts, start=1):
        if stride & (stride - 1):
            return None
        values = parse_doubles(data)
        if values is not None:
            values = values.raised(stride.bit_length() - 1).mapped(change)
            values = replace(values, low=min(low, values.low), high=max(high, values.high))
            if number == len(quantiles.parts):
                values = values.counting(count - sum(histogram.count for histogram in found))
            found.append(Histogram(datasketches.kll_floats_sketch.deserialize(values.serialize_floats())))
    if len(found) < 2:
        return found[0] if found else None
    return found[0].merge(found[1:])


def merge_histograms(parts: Iterable[bytes | None]) -> bytes | None:
    """The histogram of all values, in stored bytes; None as soon as a part has none, or one that cannot be read."""
    known = list(parts)
    if len(known) == 1:
        return known[0] or None
    try:
        histograms = [found for data in known if (found := parse_histogram(data)) is not None]
    except FormatViolation:
        return None
    if not known or len(histograms) < len(known):
        return None
    return histograms[0].merge(histograms[1:]).serialize()
