"""The hash of a value in a theta sketch: of its single-value bytes, for every primitive type.

Laws: the array form equals the scalar form value by value. Nulls have no hash, and neither have empty strings, which
other implementations never count. All NaNs are one value; -0.0 and 0.0 are two.

Puffin spec: "Blob types", apache-datasketches-theta-v1. Spec: "Binary single-value serialization".
"""

from __future__ import annotations

import math
import sys
from typing import Any, Final

import mmh3
import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import Unsupported
from skipstone.metadata.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    UnknownType,
    Value,
    VariantType,
)
from skipstone.metadata.values import serialize_value

pa: Any = pyarrow
pc: Any = pyarrow.compute

Hashes = npt.NDArray[np.uint64]

SEED: Final = 9001
LIMIT: Final = (1 << 63) - 1  # no hash reaches it
# No order and no equality that all engines share.
WITHOUT_NDV: Final = (GeometryType, GeographyType, VariantType, UnknownType)
# Below this many values a plain loop is done before Numba is imported.
_COMPILED_VALUES: Final = 4_096
_SMALL_PRECISION: Final = 18  # digits that 8 bytes hold
_SEEN_PLACES: Final = 1 << 15


def hash_bytes(data: bytes) -> int:
    """The hash of one value's bytes."""
    return int.from_bytes(mmh3.hash_bytes(data, SEED)[:8], "little") >> 1


def hash_value(type_: PrimitiveType, value: Value) -> int | None:
    """The hash of one value; None where it has none."""
    if value is None:
        return None
    if isinstance(value, float) and math.isnan(value):
        value = math.nan
    data = serialize_value(type_, value)
    return hash_bytes(data) if data else None


def hash_array(type_: PrimitiveType, array: Any, limit: int = LIMIT) -> Hashes:
    """The hashes below `limit` of the values of a column (an array of `to_arrow_type`), in order, nulls left out."""
    if isinstance(type_, WITHOUT_NDV):
        raise Unsupported(f"Cannot count distinct values of {type_}: its values have no common serialization.")
    if isinstance(array, pa.ChunkedArray):
        return np.concatenate([np.empty(0, np.uint64), *(hash_array(type_, c, limit) for c in array.chunks)])
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.null_count:
        array = array.drop_null()
    if isinstance(type_, BooleanType):
        array = pc.unique(array)
    if pa.types.is_decimal(array.type):
        return _hash_decimals(array, limit)
    if pa.types.is_fixed_size_binary(array.type) or pa.types.is_binary(array.type) or pa.types.is_string(array.type):
        return _hash_slices(*_slices(array), limit)
    words, width = _words(type_, array)
    return _hash_words(words, width, limit)


def _words(type_: PrimitiveType, array: Any) -> tuple[Hashes, int]:
    """Values of fixed width, each in the low bytes of a word."""
    if isinstance(type_, BooleanType):
        return array.cast(pa.uint8()).to_numpy(zero_copy_only=False).astype(np.uint64), 1
    width = array.type.bit_width // 8
    values = np.frombuffer(memoryview(array.buffers()[1]), f"<u{width}") if len(array) else np.empty(0, np.uint64)
    values = values[array.offset : array.offset + len(array)]
    if isinstance(type_, FloatType | DoubleType):
        floats = values.view(f"<f{width}")
        is_nan = np.isnan(floats)
        if is_nan.any():
            values = np.where(is_nan, np.array(math.nan, floats.dtype), floats).view(f"<u{width}")
    return values if width == 8 else values.astype(np.uint64), width


def _slices(array: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """All bytes of an array of byte strings, and where each value begins and ends."""
    if pa.types.is_fixed_size_binary(array.type):
        width = array.type.byte_width
        offsets = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * width
        return _bytes(array.buffers()[1]), offsets
    if not len(array):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    ends = np.frombuffer(memoryview(array.buffers()[1]), np.int32)[array.offset : array.offset + len(array) + 1]
    return _bytes(array.buffers()[2]), ends.astype(np.int64)


def _bytes(buffer: Any) -> npt.NDArray[np.uint8]:
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(memoryview(buffer), np.uint8)


def _is_compiled(count: int) -> bool:
    return count >= _COMPILED_VALUES or _COMPILED in sys.modules


_COMPILED: Final = "skipstone.stats.theta_hash_numba"


def _kernels() -> Any:
    # Late, because importing Numba takes about 0.4 s, which small tables need not pay.
    from skipstone.stats import theta_hash_numba

    return theta_hash_numba


def _hash_words(words: Hashes, width: int, limit: int) -> Hashes:
    if not _is_compiled(len(words)):
        data = words.astype("<u8").tobytes()
        return _below([hash_bytes(data[i : i + width]) for i in range(0, len(data), 8)], limit)
    out = np.empty(len(words), np.uint64)
    return out[: _kernels().hash_words(words, width, SEED, np.uint64(limit), out)]


def _hash_slices(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], limit: int) -> Hashes:
    if not _is_compiled(len(offsets)):
        pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist())
        return _below([hash_bytes(data[a:b].tobytes()) for a, b in pairs if b > a], limit)
    out = np.empty(len(offsets) - 1, np.uint64)
    return out[: _kernels().hash_slices(data, offsets, SEED, np.uint64(limit), out)]


def _hash_decimals(array: Any, limit: int) -> Hashes:
    if not _is_compiled(len(array)):
        type_ = DecimalType(array.type.precision, array.type.scale)
        return _below([hash_bytes(serialize_value(type_, v)) for v in array.to_pylist()], limit)
    rows = _bytes(array.buffers()[1])[array.offset * 16 : (array.offset + len(array)) * 16].reshape(len(array), 16)
    out = np.empty(len(array), np.uint64)
    if array.type.precision <= _SMALL_PRECISION:
        return out[: _kernels().hash_small_decimals(rows.view("<i8"), SEED, np.uint64(limit), out)]
    return out[: _kernels().hash_decimals(rows, SEED, np.uint64(limit), out)]


def below(hashes: Hashes, limit: int) -> Hashes:
    """The hashes below `limit`, in order."""
    if limit >= LIMIT:
        return hashes
    if not _is_compiled(len(hashes)):
        return hashes[hashes < np.uint64(limit)]
    out = np.empty(len(hashes), np.uint64)
    return out[: _kernels().keep_below(hashes, np.uint64(limit), out)]


class SeenHashes:
    """Remembers hashes, not all of them: a column of few values would bring the same ones again and again."""

    def __init__(self) -> None:
        self._seen: Hashes | None = None

    def without_seen(self, hashes: Hashes) -> Hashes:
        """The hashes, in order, without most of those that came before."""
        if len(hashes) < _COMPILED_VALUES:
            return hashes
        if self._seen is None:
            self._seen = np.zeros(_SEEN_PLACES, np.uint64)  # no hash is zero
        out = np.empty(len(hashes), np.uint64)
        return out[: _kernels().keep_unseen(hashes, self._seen, out)]


def _below(hashes: list[int], limit: int) -> Hashes:
    return np.array([h for h in hashes if h < limit], np.uint64)
