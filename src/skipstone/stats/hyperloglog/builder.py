"""A HyperLogLog of the values of a column, taken in batch by batch, in the pass that collects everything else.

What is hashed is what Hive hashes: whole numbers and days as such, timestamps in seconds rounded down, floats and
decimals as doubles, text as its UTF-8 bytes, a UUID as its text. Types of which Hive keeps no such sketch have none.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.metadata.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    UuidType,
)
from skipstone.stats.hyperloglog.sketch import PRECISION, SPARSE_MAX, HyperLogLog

pa: Any = pyarrow

_NUMBERS: Final = (IntType, LongType, DateType)
_MICROS: Final = (TimestampType, TimestamptzType)
_NANOS: Final = (TimestampNsType, TimestamptzNsType)
WITH_BIT_VECTOR: Final = (*_NUMBERS, *_MICROS, *_NANOS, FloatType, DoubleType, DecimalType, StringType, UuidType)
_EXACT: Final = 1 << 53  # whole numbers below it are doubles
_EXACT_SCALE: Final = 22  # powers of ten up to it are doubles
_SLOTS: Final = 512
_DIGITS: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_LENGTH: Final = 36
# Where the digits of a UUID's text are; between them are dashes.
_UUID_PLACES: Final = [place for place in range(_UUID_LENGTH) if place not in (8, 13, 18, 23)]


class HyperLogLogBuilder:
    """Takes values in; the batches may be of any size and in any order, which shows in a sketch's bytes alone."""

    def __init__(self) -> None:
        self._registers = np.zeros(1 << PRECISION, np.uint8)
        self._keys = np.full(_SLOTS, -1, np.int64)
        self._runs = np.zeros(_SLOTS, np.uint8)
        self._arrival = np.zeros(SPARSE_MAX + 1, np.int64)
        self._count = 0

    def add(self, type_: PrimitiveType, array: Any) -> None:
        """Take a column of values in the shape of `to_arrow_type`; nulls count for nothing."""
        if array.null_count:
            array = array.drop_null()
        if not len(array):
            return
        # Late, because importing Numba takes about 0.4 s, which most readers of sketches need not pay.
        from skipstone.stats.hyperloglog import kernels

        state = (self._registers, self._keys, self._runs, self._arrival, self._count, SPARSE_MAX)
        if isinstance(type_, StringType):
            self._count = kernels.put_slices(*_slices(array), *state)
        elif isinstance(type_, UuidType):
            self._count = kernels.put_slices(*_uuid_texts(array), *state)
        else:
            self._count = kernels.put_words(*_words(type_, array), *state)

    def finish(self) -> HyperLogLog:
        if self._count > SPARSE_MAX:
            return HyperLogLog(indexes=None, runs=self._registers.copy())
        used = self._arrival[: self._count]
        return HyperLogLog(indexes=self._keys[used], runs=self._runs[used])


def _words(type_: PrimitiveType, array: Any) -> tuple[npt.NDArray[np.int64], int]:
    """Values as eight bytes, and what they must be divided by."""
    if isinstance(type_, DecimalType):
        return _bits(_doubles(type_, array)), 1
    if isinstance(type_, FloatType | DoubleType):
        return _bits(array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)), 1
    width = array.type.bit_width
    values = (
        array.view(pa.int64() if width == 64 else pa.int32())
        .to_numpy(zero_copy_only=False)
        .astype(np.int64, copy=False)
    )
    if isinstance(type_, _MICROS):
        return values, 1_000_000
    return values, 1_000_000_000 if isinstance(type_, _NANOS) else 1


def _bits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The bits of doubles; all NaNs have the same."""
    is_nan = np.isnan(values)
    return (np.where(is_nan, np.nan, values) if is_nan.any() else values).view(np.int64)


def _doubles(type_: DecimalType, array: Any) -> npt.NDArray[np.float64]:
    """The nearest double to each decimal: one division where both sides of it are exact, else from the text."""
    words = np.frombuffer(memoryview(array.buffers()[1]), "<i8").reshape(-1, 2)[
        array.offset : array.offset + len(array)
    ]
    low, high = words[:, 0], words[:, 1]
    is_exact = (np.abs(low) < _EXACT) & (high == np.where(low < 0, -1, 0)) & (type_.scale <= _EXACT_SCALE)
    values: npt.NDArray[np.float64] = low.astype(np.float64) / 10.0 ** min(type_.scale, _EXACT_SCALE)
    for row in np.flatnonzero(~is_exact).tolist():
        values[row] = float(array[row].as_py())
    return values


def _slices(array: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    buffers = array.buffers()
    ends = np.frombuffer(memoryview(buffers[1]), np.int64 if wide else np.int32)
    data = np.zeros(1, np.uint8) if buffers[2] is None else np.frombuffer(memoryview(buffers[2]), np.uint8)
    return data, ends[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _uuid_texts(array: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The texts of UUIDs, one after the other, and where each begins and ends."""
    stored = array.storage if isinstance(array, pa.ExtensionArray) else array
    raw = np.frombuffer(memoryview(stored.buffers()[1]), np.uint8)
    values = raw[: (stored.offset + len(stored)) * 16].reshape(-1, 16)[stored.offset :]
    texts = np.full((len(values), _UUID_LENGTH), ord("-"), np.uint8)
    texts[:, _UUID_PLACES] = _DIGITS[np.stack([values >> 4, values & 15], axis=2).reshape(-1, 32)]
    return texts.reshape(-1), np.arange(len(values) + 1, dtype=np.int64) * _UUID_LENGTH
