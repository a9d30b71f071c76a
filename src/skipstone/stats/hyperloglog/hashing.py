"""The 64-bit hashes that Hive's sketches are made of: one lane of MurmurHash3, seed 104729.

Whole numbers, dates and timestamps (in seconds) are hashed as eight bytes, the highest first; floats and decimals as
the bits of a double; text as its UTF-8 bytes.
"""

from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skipstone.stats.hyperloglog.sketch import Hashes

_SEED: Final = np.uint64(104729)
_C1: Final = np.uint64(0x87C37B91114253D5)
_C2: Final = np.uint64(0x4CF5AD432745937F)
_N1: Final = np.uint64(0x52DCE729)
_F1: Final = np.uint64(0xFF51AFD7ED558CCD)
_F2: Final = np.uint64(0xC4CEB9FE1A85EC53)
_NAN_BITS: Final = np.uint64(0x7FF8000000000000)


def hash_longs(values: npt.NDArray[np.int64]) -> Hashes:
    """Hashes of whole numbers."""
    return _hash_words(values.astype(np.int64, copy=False).view(np.uint64))


def hash_doubles(values: npt.NDArray[np.float64]) -> Hashes:
    """Hashes of floats; all NaNs are one value, -0.0 and 0.0 are two."""
    bits = values.astype(np.float64).view(np.uint64)
    bits[np.isnan(values)] = _NAN_BITS
    return _hash_words(bits)


def hash_texts(values: pa.Array[Any]) -> Hashes:
    """Hashes of texts or bytes without nulls."""
    column = values.cast(pa.large_binary())
    if len(column) == 0:
        return np.empty(0, np.uint64)
    buffers: Any = column.buffers()
    ends = np.frombuffer(buffers[1], np.int64)[column.offset : column.offset + len(column) + 1]
    flat = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None and buffers[2].size else np.zeros(1, np.uint8)
    hashes: Hashes = _hash_slices(flat, ends)
    return hashes


def _hash_words(words: npt.NDArray[np.uint64]) -> Hashes:
    with np.errstate(over="ignore"):
        k = words.byteswap() * _C1
        k = _rotated(k, 31) * _C2
        h = _rotated(_SEED ^ k, 27) * np.uint64(5) + _N1
        h ^= np.uint64(8)
        h = (h ^ (h >> np.uint64(33))) * _F1
        h = (h ^ (h >> np.uint64(33))) * _F2
        return h ^ (h >> np.uint64(33))


def _rotated(values: Hashes, bits: int) -> Hashes:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))


@numba.njit(cache=True)
def _hash_slices(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Hashes:
    out = np.empty(len(offsets) - 1, np.uint64)
    for row in range(len(out)):
        start, end = offsets[row], offsets[row + 1]
        h = np.uint64(_SEED)
        at = start
        while end - at >= 8:
            k = np.uint64(0)
            for i in range(8):
                k |= np.uint64(data[at + i]) << np.uint64(8 * i)
            k *= _C1
            k = ((k << np.uint64(31)) | (k >> np.uint64(33))) * _C2
            h ^= k
            h = ((h << np.uint64(27)) | (h >> np.uint64(37))) * np.uint64(5) + _N1
            at += 8
        if at < end:
            k = np.uint64(0)
            for i in range(end - at):
                k ^= np.uint64(data[at + i]) << np.uint64(8 * i)
            k *= _C1
            h ^= ((k << np.uint64(31)) | (k >> np.uint64(33))) * _C2
        h ^= np.uint64(end - start)
        h = (h ^ (h >> np.uint64(33))) * _F1
        h = (h ^ (h >> np.uint64(33))) * _F2
        out[row] = h ^ (h >> np.uint64(33))
    return out
