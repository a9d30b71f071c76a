"""The 32-bit hash of a value, on which the bucket transform stands.

Laws: the hash does not depend on the width of an integer, the precision of a timestamp beyond microseconds, or the
scale of a decimal, so that a type promotion never moves a value to another bucket. The array form equals the scalar
form value by value; a null hashes to null.

Spec: "Appendix B: 32-bit Hash Requirements".
"""

from __future__ import annotations

import struct
import sys
from typing import Any, Final, TypeVar

import mmh3
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    Value,
)
from skipstone.metadata.values.decimals import minimal_big_endian, unscaled

Hashes = npt.NDArray[np.int32]
_Number = TypeVar("_Number", bound=np.generic)

_CANONICAL_NAN_BITS: Final = 0x7FF8000000000000
_NANOS_PER_MICRO: Final = 1000
# Compiling or loading Numba costs about half a second; below these sizes a plain loop is done sooner.
_NUMBA_ROWS_COLD: Final = 500_000
_NUMBA_ROWS_WARM: Final = 20_000


def hash_bytes(data: bytes) -> int:
    """Murmur3, 32-bit x86 variant, seed 0, as a signed integer."""
    return mmh3.hash(data, 0, signed=True)


def hash_long(number: int) -> int:
    """The hash of an integer as eight little-endian bytes."""
    return hash_bytes(struct.pack("<q", number))


def hash_value(type_: Type, value: Value) -> int | None:
    """The hash of one value, for every type that has one; None for null."""
    if value is None:
        return None
    match type_:
        case IntType() | LongType() | DateType() | TimeType() | TimestampType() | TimestamptzType() | BooleanType():
            return hash_long(int(value))
        case TimestampNsType() | TimestamptzNsType():
            return hash_long(value // _NANOS_PER_MICRO)
        case StringType():
            return hash_bytes(_utf8(value))
        case BinaryType() | FixedType():
            return hash_bytes(value)
        case UuidType():
            return hash_bytes(value.bytes)
        case DecimalType():
            return hash_bytes(minimal_big_endian(unscaled(value, type_.scale)))
        case FloatType() | DoubleType():
            return hash_long(_double_bits(value))
        case UnknownType():
            return None
        case _:
            raise Unsupported(f"Cannot hash a value of type {type_}: the spec defines no 32-bit hash for it.")


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"Cannot hash {text!r}: expected text that UTF-8 can hold, got half a surrogate pair."
        ) from error


def _double_bits(value: float) -> int:
    if value != value:
        return _CANONICAL_NAN_BITS
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]  # adding zero turns -0.0 into 0.0
    return bits


# -- arrays ------------------------------------------------------------------------------------------------------


def hash_array(type_: Type, array: pa.Array[Any]) -> pa.Array[Any]:
    """The hashes of an array as int32, null for null. `array` has the Arrow type that stores `type_`."""
    if isinstance(type_, UnknownType):
        return pa.nulls(len(array), pa.int32())
    hashes = _hashes(type_, array)
    missing = None
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(hashes, type=pa.int32(), mask=missing)


def _hashes(type_: Type, array: pa.Array[Any]) -> Hashes:
    """Hashes of all slots; what stands in a null slot is arbitrary."""
    match type_:
        case IntType() | LongType() | DateType() | TimeType() | TimestampType() | TimestamptzType() | BooleanType():
            return hash_longs(integers(array))
        case TimestampNsType() | TimestamptzNsType():
            return hash_longs(integers(array) // _NANOS_PER_MICRO)
        case FloatType() | DoubleType():
            return hash_longs(_double_bits_of(array))
        case DecimalType():
            return _hash_decimals(array)
        case UuidType() | FixedType() | StringType() | BinaryType():
            return _hash_bytes_of(array)
        case _:
            raise Unsupported(f"Cannot hash an array of type {type_}: the spec defines no 32-bit hash for it.")


def integers(array: pa.Array[Any]) -> npt.NDArray[np.int64]:
    """The integers behind an array of integers, booleans, dates, times or timestamps; zero in null slots."""
    kind = array.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.view(pa.int32())
    elif pa.types.is_temporal(kind):
        array = array.view(pa.int64())
    if array.null_count:
        array = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.int64)


def _double_bits_of(array: pa.Array[Any]) -> npt.NDArray[np.int64]:
    doubles = array.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    bits = (doubles + 0.0).view(np.int64)  # adding zero turns -0.0 into 0.0
    bits[np.isnan(doubles)] = _CANONICAL_NAN_BITS
    return bits


def hash_longs(numbers: npt.NDArray[np.int64]) -> Hashes:
    """`hash_long` of every number."""
    return hash_rows(np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8).reshape(-1, 8))


def hash_rows(rows: npt.NDArray[np.uint8]) -> Hashes:
    """`hash_bytes` of every row of a matrix of bytes."""
    count, width = rows.shape
    hashes = np.zeros(count, dtype=np.uint32)
    blocks = width // 4
    if blocks:
        words = np.ascontiguousarray(rows[:, : blocks * 4]).view("<u4")
        for i in range(blocks):
            hashes ^= _mix(words[:, i])
            hashes = _rotate(hashes, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    if width % 4:
        tail = np.zeros(count, dtype=np.uint32)
        for i in range(blocks * 4, width):
            tail |= rows[:, i].astype(np.uint32) << np.uint32(8 * (i % 4))
        hashes ^= _mix(tail)
    hashes ^= np.uint32(width)
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    hashes *= np.uint32(0xC2B2AE35)
    hashes ^= hashes >> np.uint32(16)
    return hashes.view(np.int32)


def _mix(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return _rotate(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _rotate(words: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


def decimal_limbs(array: pa.Array[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """The high (signed) and low halves of a decimal array's 128-bit unscaled values; arbitrary in null slots."""
    if not pa.types.is_decimal128(array.type):
        array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    if len(array) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    words = _view(array.buffers()[1], np.uint64)[2 * array.offset : 2 * (array.offset + len(array))]
    return words[1::2].astype(np.int64), words[0::2].copy()


def _hash_decimals(array: pa.Array[Any]) -> Hashes:
    high, low = decimal_limbs(array)
    rows = np.empty((len(array), 16), dtype=np.uint8)
    rows[:, :8] = high.astype(">i8").view(np.uint8).reshape(-1, 8)
    rows[:, 8:] = low.astype(">u8").view(np.uint8).reshape(-1, 8)
    # k bytes hold a number whose magnitude (its complement when negative) is below 2 ** (8k - 1).
    high_size = np.where(high < 0, ~high, high).view(np.uint64)
    low_size = np.where(high < 0, ~low, low)
    widths = np.ones(len(array), dtype=np.int8)
    for k in range(1, 16):
        if k <= 8:
            widths += (high_size != 0) | (low_size >= np.uint64(1 << (8 * k - 1)))
        else:
            widths += high_size >= np.uint64(1 << (8 * k - 65))
    hashes = np.zeros(len(array), dtype=np.int32)
    for width in np.flatnonzero(np.bincount(widths)):
        chosen = np.flatnonzero(widths == width)
        hashes[chosen] = hash_rows(rows[chosen, 16 - width :])
    return hashes


def _hash_bytes_of(array: pa.Array[Any]) -> Hashes:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_fixed_size_binary(array.type):
        width = array.type.byte_width
        if len(array) == 0 or width == 0:
            return np.full(len(array), hash_bytes(b""), dtype=np.int32)
        data = _view(array.buffers()[1], np.uint8)
        return hash_rows(data[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width))
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.large_string() if pa.types.is_string_view(array.type) else pa.large_binary())
    wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    offsets = _view(array.buffers()[1], np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
    return _hash_slices(_view(array.buffers()[2], np.uint8), offsets.astype(np.int64))


def _view(buffer: Any, dtype: type[_Number]) -> npt.NDArray[_Number]:
    """The numbers in an Arrow buffer; Arrow leaves out the buffer of an empty array."""
    return np.zeros(0, dtype=dtype) if buffer is None else np.frombuffer(buffer, dtype=dtype)


def _hash_slices(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Hashes:
    rows = max(len(offsets) - 1, 0)
    if rows >= (_NUMBA_ROWS_WARM if "numba" in sys.modules else _NUMBA_ROWS_COLD):
        # Late, because importing Numba costs more than hashing a small array.
        from skipstone.metadata.partitions.hashing_numba import hash_slices

        return hash_slices(data, offsets)
    edges = offsets.tolist()
    first = edges[0] if edges else 0
    whole = data[first : edges[-1] if edges else 0].tobytes()
    return np.array([hash_bytes(whole[edges[i] - first : edges[i + 1] - first]) for i in range(rows)], dtype=np.int32)
