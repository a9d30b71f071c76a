"""Whole numbers sorted, and the runs of equal ones: by compiled code where there are enough of them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

# Below this many a plain sort is done before Numba is imported.
_COMPILED_NUMBERS: Final = 4_096
_SIGN: Final = np.uint64(1 << 63)


def _kernels() -> Any:
    # Late, because importing Numba takes about 0.4 s, which small tables need not pay.
    from skipstone.stats import radix_sort_numba

    return radix_sort_numba


def sorted_numbers(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A sorted copy of an array of 64-bit whole numbers, with or without sign."""
    if len(numbers) < _COMPILED_NUMBERS:
        return np.sort(numbers)
    is_signed = numbers.dtype == np.int64
    bits = numbers.view(np.uint64) ^ _SIGN if is_signed else numbers.copy()
    done: npt.NDArray[Any] = _kernels().radix_sort(bits, np.empty_like(bits))
    return (done ^ _SIGN).view(np.int64) if is_signed else done


def run_starts(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Where runs of equal numbers begin in a sorted array."""
    if len(numbers) < _COMPILED_NUMBERS:
        return np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1)) if len(numbers) else np.empty(0, np.int64)
    out = np.empty(len(numbers), np.int64)
    return out[: _kernels().run_starts(numbers, out)]
