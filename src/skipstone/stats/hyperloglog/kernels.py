"""Values into the registers of a HyperLogLog, compiled: hash, place and run in one loop, nothing kept of the value.

Kept apart because importing Numba takes about 0.4 s. Law: equal to `HyperLogLog.of` the hashes of the same values.
`keys` and `runs` are a small hash table of the sparse form, `arrival` its places in the order in which they were taken;
the functions return how many entries it has, and fill it no further once that is more than `limit`. The registers of
the dense form are always kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, uint8, uint64

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_N1 = np.uint64(0x52DCE729)
_F1 = np.uint64(0xFF51AFD7ED558CCD)
_F2 = np.uint64(0xC4CEB9FE1A85EC53)
_SEED = np.uint64(104729)
_MICROS = 1_000_000
# Hashes made before any is looked at, and those that are looked at together.
_BLOCK = 2048
_STRETCH = 64


@njit(cache=True, nogil=True, inline="always")
def _mixed(k: Any) -> Any:
    k = k * _C1
    return ((k << uint64(31)) | (k >> uint64(33))) * _C2


@njit(cache=True, nogil=True, inline="always")
def _block(h: Any, k: Any) -> Any:
    h = h ^ _mixed(k)
    return ((h << uint64(27)) | (h >> uint64(37))) * uint64(5) + _N1


@njit(cache=True, nogil=True, inline="always")
def _final(h: Any) -> Any:
    h = (h ^ (h >> uint64(33))) * _F1
    h = (h ^ (h >> uint64(33))) * _F2
    return h ^ (h >> uint64(33))


@njit(cache=True, nogil=True, inline="always")
def _swapped(k: Any) -> Any:
    """The word with its bytes in the other order."""
    k = ((k >> uint64(8)) & uint64(0x00FF00FF00FF00FF)) | ((k & uint64(0x00FF00FF00FF00FF)) << uint64(8))
    k = ((k >> uint64(16)) & uint64(0x0000FFFF0000FFFF)) | ((k & uint64(0x0000FFFF0000FFFF)) << uint64(16))
    return (k >> uint64(32)) | (k << uint64(32))


@njit(cache=True, nogil=True, inline="always")
def _is_in(h: Any, registers: Any) -> Any:
    """Whether a full sketch has it: a one among the lowest bits, as many as the longest run so far."""
    longest = uint64(registers[h & uint64(1023)])
    return (h >> uint64(10)) & ((uint64(1) << longest) - uint64(1)) != uint64(0)


@njit(cache=True, nogil=True, inline="always")
def _is_known(h: Any, registers: Any, keys: Any, count: Any, limit: Any) -> Any:
    """Whether a value changes nothing, as far as one look can tell."""
    if count > limit:
        return _is_in(h, registers)
    key = int64(h & uint64((1 << 25) - 1))
    # A one in the key ends the run there, so the same key has the same run.
    return keys[uint64(key) & uint64(keys.size - 1)] == key and key >> 10 != 0


@njit(cache=True, nogil=True, inline="always")
def _word(data: Any, at: Any) -> Any:
    """Eight bytes, the lowest first. Unsigned places: of others the compiler asks whether they count from the end."""
    k = uint64(0)
    for i in range(8):
        k |= uint64(data[at + uint64(i)]) << uint64(8 * i)
    return k


@njit(cache=True, nogil=True)
def _put(h: Any, registers: Any, keys: Any, runs: Any, arrival: Any, count: Any, limit: Any) -> Any:
    key, slot = int64(h & uint64((1 << 25) - 1)), uint64(0)
    if count <= limit:
        slot = uint64(key & (keys.size - 1))
        while keys[slot] >= 0 and keys[slot] != key:
            slot = (slot + uint64(1)) & uint64(keys.size - 1)
        if keys[slot] == key and key >> 10:
            return count
    rest, run = h >> uint64(10), 1
    while run < 65 and not rest & uint64(1):
        rest >>= uint64(1)
        run += 1
    kept = uint8(run & 63)
    place = h & uint64(1023)
    registers[place] = max(registers[place], kept)
    if count <= limit:
        if keys[slot] < 0:
            arrival[count] = slot
            count += 1
        keys[slot] = key
        runs[slot] = max(runs[slot], kept)
    return count


@njit(cache=True, nogil=True, inline="always")
def _quotient(word: Any, halvings: Any, odd: Any) -> Any:
    """A whole number divided by 2**halvings * odd, and rounded down.

    In doubles, of which processors divide several at a time; the halved number is exact but for its last bits, so the
    quotient is at most one off.
    """
    halved = word >> halvings
    found = int64(math.floor(float64(halved) / odd))
    rest = halved - found * int64(odd)
    return found - int64(rest < 0) + int64(rest >= int64(odd))


@njit(cache=True, nogil=True, inline="always")
def _of_word(word: Any) -> Any:
    return _final(_block(_SEED, _swapped(uint64(word))) ^ uint64(8))


@njit(cache=True, nogil=True)
def _hash_words(words: Any, divisor: Any, hashes: Any) -> None:
    """Loops without a branch, of which the compiler does several values at a time."""
    if divisor == 1:
        for i in range(words.size):
            hashes[i] = _of_word(words[i])
    elif divisor == _MICROS:
        for i in range(words.size):
            hashes[i] = _of_word(_quotient(words[i], 6, 15_625.0))
    else:
        for i in range(words.size):
            hashes[i] = _of_word(_quotient(words[i], 9, 1_953_125.0))


@njit(cache=True, nogil=True, inline="always")
def _beyond(run: Any) -> Any:
    """The bits of a hash that are all zero where its run is longer than this one."""
    return ((uint64(1) << uint64(run)) - uint64(1)) << uint64(10)


@njit(cache=True, nogil=True)
def _put_dense(
    hashes: Any, masks: Any, registers: Any, keys: Any, runs: Any, arrival: Any, count: Any, limit: Any
) -> None:
    """Hashes into a full sketch. Hardly any changes it, so a stretch of them is first asked whether one does."""
    for start in range(0, hashes.size, _STRETCH):
        end = min(start + _STRETCH, hashes.size)
        changes = False
        for i in range(start, end):
            changes |= hashes[i] & masks[hashes[i] & uint64(1023)] == uint64(0)
        if not changes:
            continue
        for i in range(start, end):
            h = hashes[i]
            place = h & uint64(1023)
            if h & masks[place] == uint64(0):
                _put(h, registers, keys, runs, arrival, count, limit)
                masks[place] = _beyond(registers[place])


@njit(cache=True, nogil=True)
def put_words(
    words: Any, divisor: Any, registers: Any, keys: Any, runs: Any, arrival: Any, count: Any, limit: Any
) -> Any:
    """Values of eight bytes: as they are, or divided by a million or a billion and rounded down."""
    hashes, masks = np.empty(_BLOCK, np.uint64), np.zeros(registers.size, np.uint64)
    has_masks = False
    for start in range(0, words.size, _BLOCK):
        block = words[start : start + _BLOCK]
        _hash_words(block, divisor, hashes)
        at = 0
        while at < block.size and count <= limit:
            if not _is_known(hashes[at], registers, keys, count, limit):
                count = _put(hashes[at], registers, keys, runs, arrival, count, limit)
            at += 1
        if at < block.size:
            if not has_masks:
                has_masks = True
                for place in range(registers.size):
                    masks[place] = _beyond(registers[place])
            _put_dense(hashes[at : block.size], masks, registers, keys, runs, arrival, count, limit)
    return count


@njit(cache=True, nogil=True)
def put_slices(
    data: Any, offsets: Any, registers: Any, keys: Any, runs: Any, arrival: Any, count: Any, limit: Any
) -> Any:
    """Byte strings of any length, from each offset to the next."""
    for row in range(offsets.size - 1):
        at, end = uint64(offsets[row]), uint64(offsets[row + 1])
        length = end - at
        h = _SEED
        while end - at >= uint64(8):
            h = _block(h, _word(data, at))
            at += uint64(8)
        if at < end:
            rest = end - at
            if end >= uint64(8):
                # The last eight bytes, without those that are not of the rest.
                k = _word(data, end - uint64(8)) >> (uint64(8) * (uint64(8) - rest))
            else:
                k = uint64(0)
                for i in range(rest):
                    k |= uint64(data[at + uint64(i)]) << uint64(8 * i)
            h ^= _mixed(k)
        h = _final(h ^ length)
        if not _is_known(h, registers, keys, count, limit):
            count = _put(h, registers, keys, runs, arrival, count, limit)
    return count
