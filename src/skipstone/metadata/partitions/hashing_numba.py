"""The hash of many byte strings of different lengths, compiled.

Kept apart from `hashing` because importing Numba takes about 0.4 s; `hashing` loads this module for large arrays
only. Law: equal to `hashing.hash_bytes` slice by slice.

Spec: "Appendix B: 32-bit Hash Requirements".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, uint32


@njit(cache=True, nogil=True)
def _mix(word: np.uint32) -> np.uint32:
    word = uint32(word * uint32(0xCC9E2D51))
    word = uint32(uint32(word << uint32(15)) | uint32(word >> uint32(17)))
    return uint32(word * uint32(0x1B873593))


@njit(cache=True, nogil=True)
def _fill(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], hashes: npt.NDArray[np.uint32]) -> None:
    for row in range(hashes.size):
        start, end = offsets[row], offsets[row + 1]
        h = uint32(0)
        blocks_end = start + (end - start) // 4 * 4
        for at in range(start, blocks_end, 4):
            word = uint32(
                uint32(data[at])
                | uint32(uint32(data[at + 1]) << uint32(8))
                | uint32(uint32(data[at + 2]) << uint32(16))
                | uint32(uint32(data[at + 3]) << uint32(24))
            )
            h = uint32(h ^ _mix(word))
            h = uint32(uint32(h << uint32(13)) | uint32(h >> uint32(19)))
            h = uint32(uint32(h * uint32(5)) + uint32(0xE6546B64))
        tail = uint32(0)
        for at in range(blocks_end, end):
            tail = uint32(tail | uint32(uint32(data[at]) << uint32(8 * (at - blocks_end))))
        if blocks_end < end:
            h = uint32(h ^ _mix(tail))
        h = uint32(h ^ uint32(end - start))
        h = uint32(uint32(h ^ uint32(h >> uint32(16))) * uint32(0x85EBCA6B))
        h = uint32(uint32(h ^ uint32(h >> uint32(13))) * uint32(0xC2B2AE35))
        hashes[row] = uint32(h ^ uint32(h >> uint32(16)))


def hash_slices(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The hash of `data[offsets[i]:offsets[i + 1]]` for every i."""
    hashes = np.empty(max(len(offsets) - 1, 0), dtype=np.uint32)
    _fill(data, offsets, hashes)
    return hashes.view(np.int32)
