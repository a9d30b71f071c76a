"""Runs of equal numbers in a sorted array. NumPy's own sort of 64-bit numbers uses the widest registers there are, and
is several times as fast as a compiled sort by digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def is_run_start(ordered: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which numbers of a sorted array are not the one before them again."""
    differs = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=differs[1:])
    return differs


def run_starts(ordered: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Where runs of equal numbers begin."""
    return np.flatnonzero(is_run_start(ordered))
