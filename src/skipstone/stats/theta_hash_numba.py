"""Theta hashes of whole columns, compiled: the first 64 bits of MurmurHash3 x64 128, shifted right by one.

Kept apart from `theta_hash` because importing Numba takes about 0.4 s. Law: value by value equal to
`theta_hash.hash_bytes`. Every function writes hashes to `out`, those below `limit` where it
has one, and returns how many there were.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)


@njit(cache=True, nogil=True, inline="always")
def _rotated(x: Any, bits: Any) -> Any:
    return (x << uint64(bits)) | (x >> uint64(64 - bits))


@njit(cache=True, nogil=True, inline="always")
def _mixed_1(word: Any) -> Any:
    return _rotated(word * _C1, 31) * _C2


@njit(cache=True, nogil=True, inline="always")
def _mixed_2(word: Any) -> Any:
    return _rotated(word * _C2, 33) * _C1


@njit(cache=True, nogil=True, inline="always")
def _final(k: Any) -> Any:
    k = (k ^ (k >> uint64(33))) * _M1
    k = (k ^ (k >> uint64(33))) * _M2
    return k ^ (k >> uint64(33))


@njit(cache=True, nogil=True, inline="always")
def _ended(h1: Any, h2: Any, length: Any) -> Any:
    h1 = h1 ^ uint64(length)
    h2 = h2 ^ uint64(length)
    h1 = h1 + h2
    h2 = h2 + h1
    return (_final(h1) + _final(h2)) >> uint64(1)


@njit(cache=True, nogil=True)
def hash_words(words: Any, width: Any, seed: Any, limit: Any, out: Any) -> Any:
    """Values of 1 to 8 bytes, each in the low bytes of one word."""
    found = 0
    start = uint64(seed)
    for i in range(words.size):
        h = _ended(start ^ _mixed_1(uint64(words[i])), start, width)
        if h < limit:
            out[found] = h
            found += 1
    return found


@njit(cache=True, nogil=True, inline="always")
def _word(data: Any, at: Any, count: Any) -> Any:
    word = uint64(0)
    for i in range(count):
        word |= uint64(data[at + i]) << uint64(8 * i)
    return word


@njit(cache=True, nogil=True)
def hash_slices(data: Any, offsets: Any, seed: Any, limit: Any, out: Any) -> Any:
    """Byte strings of any length; empty ones have no hash."""
    found = 0
    for row in range(offsets.size - 1):
        start, end = offsets[row], offsets[row + 1]
        length = end - start
        if length == 0:
            continue
        h1, h2 = uint64(seed), uint64(seed)
        at = start
        while at + 16 <= end:
            h1 = (_rotated(h1 ^ _mixed_1(_word(data, at, 8)), 27) + h2) * uint64(5) + uint64(0x52DCE729)
            h2 = (_rotated(h2 ^ _mixed_2(_word(data, at + 8, 8)), 31) + h1) * uint64(5) + uint64(0x38495AB5)
            at += 16
        rest = end - at
        if rest > 8:
            h2 ^= _mixed_2(_word(data, at + 8, rest - 8))
        if rest > 0:
            h1 ^= _mixed_1(_word(data, at, min(rest, 8)))
        h = _ended(h1, h2, length)
        if h < limit:
            out[found] = h
            found += 1
    return found


@njit(cache=True, nogil=True)
def hash_decimals(rows: Any, seed: Any, limit: Any, out: Any) -> Any:
    """Unscaled numbers of 16 little-endian bytes, hashed as the fewest big-endian bytes that hold them."""
    found = 0
    for row in range(rows.shape[0]):
        fill = 255 if rows[row, 15] >= 128 else 0
        length = 16
        while length > 1 and rows[row, length - 1] == fill and (rows[row, length - 2] >= 128) == (fill == 255):
            length -= 1
        first, second = uint64(0), uint64(0)
        for i in range(min(length, 8)):
            first |= uint64(rows[row, length - 1 - i]) << uint64(8 * i)
        for i in range(8, length):
            second |= uint64(rows[row, length - 1 - i]) << uint64(8 * (i - 8))
        h1, h2 = uint64(seed), uint64(seed)
        if length == 16:
            h1 = (_rotated(h1 ^ _mixed_1(first), 27) + h2) * uint64(5) + uint64(0x52DCE729)
            h2 = (_rotated(h2 ^ _mixed_2(second), 31) + h1) * uint64(5) + uint64(0x38495AB5)
        else:
            if length > 8:
                h2 ^= _mixed_2(second)
            h1 ^= _mixed_1(first)
        h = _ended(h1, h2, length)
        if h < limit:
            out[found] = h
            found += 1
    return found


@njit(cache=True, nogil=True)
def hash_small_decimals(rows: Any, seed: Any, limit: Any, out: Any) -> Any:
    """The same for numbers that 8 bytes hold; of each only the low word is looked at."""
    found = 0
    start = uint64(seed)
    for row in range(rows.shape[0]):
        number = rows[row, 0]
        size = number ^ (number >> 63)
        length = 1
        while length < 8 and size >> (8 * length - 1):
            length += 1
        word = uint64(number)
        word = (word & uint64(0x00FF00FF00FF00FF)) << uint64(8) | (word >> uint64(8)) & uint64(0x00FF00FF00FF00FF)
        word = (word & uint64(0x0000FFFF0000FFFF)) << uint64(16) | (word >> uint64(16)) & uint64(0x0000FFFF0000FFFF)
        word = (word << uint64(32) | word >> uint64(32)) >> uint64(64 - 8 * length)
        h = _ended(start ^ _mixed_1(word), start, length)
        if h < limit:
            out[found] = h
            found += 1
    return found


@njit(cache=True, nogil=True)
def keep_unseen(hashes: Any, seen: Any, out: Any) -> Any:
    """The hashes without most of those that came before; `seen` has a power of two of places, one hash in each."""
    found = 0
    mask = uint64(seen.size - 1)
    for i in range(hashes.size):
        h = hashes[i]
        place = h & mask
        if seen[place] != h:
            seen[place] = h
            out[found] = h
            found += 1
    return found


@njit(cache=True, nogil=True)
def keep_below(hashes: Any, limit: Any, out: Any) -> Any:
    """The hashes below `limit`, in order."""
    found = 0
    for i in range(hashes.size):
        if hashes[i] < limit:
            out[found] = hashes[i]
            found += 1
    return found
