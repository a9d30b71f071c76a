"""Numbers and times as whole keys of 64 bits: sorted once, they tell both quantiles and frequent values.

Laws: keys are ordered as bounds are, with -0.0 below 0.0 and all NaNs as one value above all others. A key gives back
its value: as the bytes of the value, and on the scale of doubles that quantiles use.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.metadata.partitions.sorting import float_order_keys
from skipstone.metadata.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)
from skipstone.metadata.values.decimals import minimal_big_endian

pa: Any = pyarrow

Keys = npt.NDArray[np.int64]

_WHOLE: Final = (
    IntType, LongType, DateType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType,
)  # fmt: skip
_FLOATS: Final = (FloatType, DoubleType)
_KEY_PRECISION: Final = 18  # digits that 8 bytes hold
_NAN_KEY: Final = int(float_order_keys(np.array([math.nan]))[0])


def has_keys(type_: PrimitiveType) -> bool:
    return isinstance(type_, (*_WHOLE, *_FLOATS)) or (
        isinstance(type_, DecimalType) and type_.precision <= _KEY_PRECISION
    )


def keys_of(type_: PrimitiveType, array: Any) -> Keys:
    """The keys of a column without nulls, in its order."""
    if isinstance(type_, DecimalType):
        words = np.frombuffer(memoryview(array.buffers()[1]), np.int64) if len(array) else np.empty(0, np.int64)
        low: Keys = words[2 * array.offset : 2 * (array.offset + len(array)) : 2]
        return low
    if isinstance(type_, _FLOATS):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        keys = float_order_keys(values)
        is_nan = np.isnan(values)
        if is_nan.any():
            keys[is_nan] = _NAN_KEY
        return keys
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    found: Keys = array.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def without_nans(type_: PrimitiveType, keys: Keys) -> Keys:
    """The keys without those of NaN, which are above all others."""
    return keys[keys < _NAN_KEY] if isinstance(type_, _FLOATS) else keys


def key_doubles(type_: PrimitiveType, keys: Keys) -> npt.NDArray[np.float64]:
    """The values as doubles; times as whole units since 1970."""
    if isinstance(type_, DecimalType):
        return keys / 10.0**type_.scale
    return _floats(keys) if isinstance(type_, _FLOATS) else keys.astype(np.float64)


def key_bytes(type_: PrimitiveType, keys: Keys) -> list[bytes]:
    """The values as single-value bytes."""
    if isinstance(type_, DecimalType):
        return [minimal_big_endian(key) for key in keys.tolist()]
    values: npt.NDArray[Any] = _floats(keys) if isinstance(type_, _FLOATS) else keys
    kind = "<f4" if isinstance(type_, FloatType) else "<i4" if isinstance(type_, IntType | DateType) else None
    values = values if kind is None else values.astype(kind)
    data, width = values.tobytes(), values.itemsize
    return [data[at : at + width] for at in range(0, len(data), width)]


def _floats(keys: Keys) -> npt.NDArray[np.float64]:
    return np.where(keys >= 0, keys, keys ^ np.int64(0x7FFFFFFFFFFFFFFF)).view(np.float64)
