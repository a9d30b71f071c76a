"""Sorting whole numbers by their digits, compiled: on 64-bit numbers several times as fast as comparing them.

Kept apart from `sorted_numbers` because importing Numba takes about 0.4 s. Laws: equal to `np.sort`; runs of equal
numbers begin where a number differs from the one before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

_DIGIT_BITS = 11
_DIGITS = 1 << _DIGIT_BITS


@njit(cache=True, nogil=True)
def radix_sort(numbers: Any, spare: Any) -> Any:
    """Sort numbers of 64 bits without sign; `spare` is of the same size. One of the two is returned, sorted."""
    low = numbers.min()
    span = numbers.max() - low
    shift = uint64(0)
    while shift < uint64(64) and span >> shift:
        places = np.zeros(_DIGITS + 1, np.int64)
        for i in range(numbers.size):
            places[((numbers[i] - low) >> shift & uint64(_DIGITS - 1)) + uint64(1)] += 1
        for digit in range(_DIGITS):
            places[digit + 1] += places[digit]
        for i in range(numbers.size):
            digit = (numbers[i] - low) >> shift & uint64(_DIGITS - 1)
            spare[places[digit]] = numbers[i]
            places[digit] += 1
        numbers, spare = spare, numbers
        shift += uint64(_DIGIT_BITS)
    return numbers


@njit(cache=True, nogil=True)
def run_starts(numbers: Any, out: Any) -> Any:
    """Where runs of equal numbers begin, to `out`; how many there are."""
    found = 0
    for i in range(numbers.size):
        if i == 0 or numbers[i] != numbers[i - 1]:
            out[found] = i
            found += 1
    return found
