"""The kernels of the encoder in NumPy: for tables too small to be worth loading the compiled ones.

Avro: "Binary encoding".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from skipstone.metadata.avro.encode_columns import Ints, RawBytes

# From these values on a varint takes one byte more.
_LONGER: Final = np.array([1 << bits for bits in range(7, 64, 7)], np.uint64)
_SEVEN: Final = np.uint64(7)
_LOW_BITS: Final = np.uint64(127)
_MORE: Final = np.uint64(128)


def measure_varints(values: Ints) -> Ints:
    return np.ones(len(values), np.int64) if _are_short(values) else _sizes(_zigzag(values))


def fill_varints(values: Ints, places: Ints, out: RawBytes) -> None:
    rest = _zigzag(values)
    if _are_short(values):
        out[places] = rest
        return
    sizes = _sizes(rest)
    for byte in range(int(sizes.max(initial=0))):
        goes_on = sizes > byte + 1
        out[places + byte] = (rest & _LOW_BITS) | np.where(goes_on, _MORE, np.uint64(0))
        rest, places, sizes = rest[goes_on] >> _SEVEN, places[goes_on], sizes[goes_on]


def measure_bytes(offsets: Ints) -> Ints:
    lengths = np.diff(offsets)
    return lengths + measure_varints(lengths)


def fill_bytes(offsets: Ints, data: RawBytes, places: Ints, out: RawBytes) -> None:
    lengths = np.diff(offsets)
    fill_varints(lengths, places, out)
    starts = places + measure_varints(lengths)
    sources = np.arange(offsets[0], offsets[-1])
    out[np.repeat(starts - offsets[:-1], lengths) + sources] = data[offsets[0] : offsets[-1]]


def fill_raw(data: RawBytes, width: int, places: Ints, out: RawBytes) -> None:
    out[places[:, None] + np.arange(width)] = data[: len(places) * width].reshape(-1, width)


def measure_items(offsets: Ints, item_sizes: Ints) -> Ints:
    sizes: Ints = _head_sizes(np.diff(offsets)) + np.diff(_before(item_sizes)[offsets]) + 1
    return sizes


def fill_counts(offsets: Ints, item_sizes: Ints, places: Ints, out: RawBytes) -> Ints:
    counts = np.diff(offsets)
    has_items = counts > 0
    fill_varints(counts[has_items], places[has_items], out)
    before = _before(item_sizes)
    starts = places + _head_sizes(counts)
    out[starts + np.diff(before[offsets])] = 0
    item_places: Ints = np.repeat(starts - before[offsets[:-1]], counts) + before[:-1]
    return item_places


def _are_short(values: Ints) -> bool:
    """Whether each takes one byte, as statuses, field ids, counts and lengths mostly do."""
    return len(values) == 0 or bool(values.min() >= -64 and values.max() < 64)


def _zigzag(values: Ints) -> Any:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def _sizes(rest: Any) -> Ints:
    sizes: Ints = np.searchsorted(_LONGER, rest, side="right") + 1
    return sizes


def _head_sizes(counts: Ints) -> Ints:
    """What the counts of arrays take: nothing for an empty one, which is only an end marker."""
    return np.where(counts > 0, measure_varints(counts), 0)


def _before(sizes: Ints) -> Ints:
    """What all items before each one take, and all of them together at the end."""
    before = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=before[1:])
    return before
