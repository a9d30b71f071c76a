"""The compiled kernels of the encoder.

Importing this module imports Numba, which takes a moment: `encode` does it only for tables worth it.

Avro: "Binary encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba as nb
import numpy as np
import numpy.typing as npt

_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Arrow buffers are read-only; the types say so, so that one compiled version serves every caller.
_INTS = nb.types.Array(nb.int64, 1, "C", readonly=True)
_DATA = nb.types.Array(nb.uint8, 1, "C", readonly=True)
_INTS_OUT = nb.types.Array(nb.int64, 1, "C")
_DATA_OUT = nb.types.Array(nb.uint8, 1, "C")


def _njit(signature: Any) -> Callable[[_Function], _Function]:
    compiled: Callable[[_Function], _Function] = nb.njit(signature, cache=True, nogil=True)
    return compiled


@_njit(nb.int64(nb.int64))
def _varint_size(value: int) -> int:
    rest = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while rest >= np.uint64(128):
        rest >>= np.uint64(7)
        size += 1
    return size


@_njit(nb.int64(nb.int64, nb.int64, _DATA_OUT))
def _put_varint(value: int, place: int, out: _Bytes) -> int:
    rest = np.uint64((value << 1) ^ (value >> 63))
    while rest >= np.uint64(128):
        out[place] = (rest & np.uint64(127)) | np.uint64(128)
        rest >>= np.uint64(7)
        place += 1
    out[place] = rest
    return place + 1


@_njit(_INTS_OUT(_INTS))
def measure_varints(values: _Ints) -> _Ints:
    sizes = np.empty(len(values), dtype=np.int64)
    for i in range(len(values)):
        sizes[i] = _varint_size(values[i])
    return sizes


@_njit(nb.void(_INTS, _INTS, _DATA_OUT))
def fill_varints(values: _Ints, places: _Ints, out: _Bytes) -> None:
    for i in range(len(values)):
        _put_varint(values[i], places[i], out)


@_njit(_INTS_OUT(_INTS))
def measure_bytes(offsets: _Ints) -> _Ints:
    sizes = np.empty(len(offsets) - 1, dtype=np.int64)
    for i in range(len(sizes)):
        length = offsets[i + 1] - offsets[i]
        sizes[i] = length + _varint_size(length)
    return sizes


@_njit(nb.void(_INTS, _DATA, _INTS, _DATA_OUT))
def fill_bytes(offsets: _Ints, data: _Bytes, places: _Ints, out: _Bytes) -> None:
    for i in range(len(places)):
        start = offsets[i]
        length = offsets[i + 1] - start
        place = _put_varint(length, places[i], out)
        for j in range(length):
            out[place + j] = data[start + j]


@_njit(nb.void(_DATA, nb.int64, _INTS, _DATA_OUT))
def fill_raw(data: _Bytes, width: int, places: _Ints, out: _Bytes) -> None:
    for i in range(len(places)):
        for j in range(width):
            out[places[i] + j] = data[i * width + j]


@_njit(_INTS_OUT(_INTS, _INTS))
def measure_items(offsets: _Ints, item_sizes: _Ints) -> _Ints:
    sizes = np.empty(len(offsets) - 1, dtype=np.int64)
    for i in range(len(sizes)):
        count = offsets[i + 1] - offsets[i]
        # Items come in one block with its count in front; a zero count ends the array.
        size = 1 if count == 0 else 1 + _varint_size(count)
        for j in range(offsets[i], offsets[i + 1]):
            size += item_sizes[j]
        sizes[i] = size
    return sizes


@_njit(_INTS_OUT(_INTS, _INTS, _INTS, _DATA_OUT))
def fill_counts(offsets: _Ints, item_sizes: _Ints, places: _Ints, out: _Bytes) -> _Ints:
    """Write the counts and end markers; return where each item goes."""
    item_places = np.empty(len(item_sizes), dtype=np.int64)
    for i in range(len(places)):
        count = offsets[i + 1] - offsets[i]
        place = places[i]
        if count > 0:
            place = _put_varint(count, place, out)
            for j in range(offsets[i], offsets[i + 1]):
                item_places[j] = place
                place += item_sizes[j]
        out[place] = 0
    return item_places
