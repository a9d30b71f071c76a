"""What a decoder hands over: for each slot of a program, the finished buffers of its column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """`valid` has one byte an item; `values` are raw bytes; `offsets` have one more item than the column."""

    valid: npt.NDArray[np.uint8] | None
    values: npt.NDArray[np.uint8] | None = None
    offsets: npt.NDArray[np.int32] | None = None
    data: npt.NDArray[np.uint8] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    record_count: int
    slots: tuple[Slot, ...]
