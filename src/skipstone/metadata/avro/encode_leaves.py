"""Arrow arrays without nulls as the plain arrays Avro writes: integers, raw bytes, byte strings.

Every function either keeps each value exactly or refuses the column.

Avro: "Logical Types", "Binary encoding".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput

# An Arrow array of any type: which one it is decides what is done with it.
Column: TypeAlias = Any
_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]

_TEMPORAL: Final[dict[str, pa.DataType]] = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms"),
    "timestamp-micros": pa.timestamp("us"),
    "timestamp-nanos": pa.timestamp("ns"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}
_SIGNED: Final = (pa.int32(), pa.int64())
_INT32_MIN: Final = -(2**31)
_INT32_MAX: Final = 2**31 - 1


def integers_of(column: Column, logical: str | None, bits: int, place: str) -> _Ints:
    """Integers, dates, times and timestamps as 64-bit integers in the unit the logical type names."""
    arrow = column.type
    if arrow in _SIGNED:
        pass
    elif pa.types.is_temporal(arrow):
        target = _TEMPORAL.get(logical or "")
        if target is not None and (
            arrow.id != target.id or getattr(arrow, "unit", None) != getattr(target, "unit", None)
        ):
            column = _cast(column, target, place)
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    elif arrow == pa.uint64():
        column = _cast(column, pa.int64(), place)
    elif not pa.types.is_integer(arrow):
        raise _mismatch(place, "an integer or temporal", column)
    values: _Ints = column.to_numpy().astype(np.int64, copy=False)
    may_overflow = column.type.bit_width > 32 or column.type == pa.uint32()
    if bits == 32 and may_overflow and len(values):
        low, high = int(values.min()), int(values.max())
        if low < _INT32_MIN or high > _INT32_MAX:
            raise InvalidInput(
                f"Cannot encode '{place}' as Avro int: expected 32-bit values, got {low if low < _INT32_MIN else high}."
            )
    return values


def floats_of(column: Column, width: int, place: str) -> _Bytes:
    """IEEE 754 little-endian bytes. A double is never narrowed."""
    if not pa.types.is_floating(column.type) or column.type.bit_width > width * 8:
        raise _mismatch(place, f"a float of at most {width} bytes in a", column)
    values = column.to_numpy().astype("<f4" if width == 4 else "<f8", copy=False)
    return np.ascontiguousarray(values).view(np.uint8)


def bytes_of(column: Column, kind: str, place: str) -> tuple[_Ints, _Bytes]:
    """Offsets and data of a string or binary column, without copying the data where Arrow's layout allows it."""
    arrow = column.type
    if pa.types.is_fixed_size_binary(arrow) and kind == "bytes":
        column = column.cast(pa.binary())
    elif arrow == pa.string_view():
        column = column.cast(pa.string())
    elif arrow == pa.binary_view():
        column = column.cast(pa.binary())
    arrow = column.type
    is_text = pa.types.is_string(arrow) or pa.types.is_large_string(arrow)
    is_binary = pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow)
    if not (is_text or (is_binary and kind == "bytes")):
        raise _mismatch(place, "a string" if kind == "string" else "a binary", column)
    wide = pa.types.is_large_string(arrow) or pa.types.is_large_binary(arrow)
    _, offset_buffer, data_buffer = column.buffers()
    if len(column) == 0 or offset_buffer is None:
        return np.zeros(len(column) + 1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    every = np.frombuffer(offset_buffer, dtype=np.int64 if wide else np.int32)
    offsets = every[column.offset : column.offset + len(column) + 1].astype(np.int64, copy=False)
    data = np.zeros(0, dtype=np.uint8) if data_buffer is None else np.frombuffer(data_buffer, dtype=np.uint8)
    return offsets, data


def fixed_bytes(column: Column, width: int, place: str) -> _Bytes:
    """The bytes of a fixed-size binary column of exactly this width."""
    if not pa.types.is_fixed_size_binary(column.type) or column.type.byte_width != width:
        raise _mismatch(place, f"a fixed_size_binary[{width}]", column)
    buffer = column.buffers()[1]
    if buffer is None or width == 0:
        return np.zeros(0, dtype=np.uint8)
    start = column.offset * width
    return np.frombuffer(buffer, dtype=np.uint8)[start : start + len(column) * width]


def decimal_bytes(column: Column, schema: Mapping[str, Any], width: int | None, place: str) -> tuple[_Ints, _Bytes]:
    """Unscaled values as big-endian two's complement: of `width` bytes, or of as few as hold the value."""
    if not pa.types.is_decimal(column.type):
        raise _mismatch(place, "a decimal", column)
    wanted = pa.decimal128(schema["precision"], schema.get("scale", 0))
    if column.type != wanted:
        column = _cast(column, wanted, place)
    buffer, start, length = column.buffers()[1], column.offset, len(column)
    if buffer is None or length == 0:
        return np.zeros(length + 1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    little = np.frombuffer(buffer, dtype=np.uint8)[start * 16 : (start + length) * 16].reshape(length, 16)
    big = little[:, ::-1]
    if width is None:
        width_of_each = _fewest_bytes(big)
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(width_of_each, dtype=np.int64)])
        kept = np.arange(16)[None, :] >= (16 - width_of_each)[:, None]
        return offsets, big[kept]
    if width >= 16:
        sign = np.where(big[:, :1] >= 128, 255, 0).astype(np.uint8)
        return np.zeros(0, dtype=np.int64), np.hstack([np.repeat(sign, width - 16, axis=1), big]).reshape(-1)
    too_wide = np.flatnonzero(_fewest_bytes(big) > width)
    if len(too_wide):
        raise InvalidInput(
            f"Cannot encode '{place}' as Avro fixed[{width}]: expected a decimal of {width} bytes, "
            f"got {column[int(too_wide[0])].as_py()}."
        )
    return np.zeros(0, dtype=np.int64), np.ascontiguousarray(big[:, 16 - width :]).reshape(-1)


def enum_ordinals(column: Column, symbols: Sequence[str], place: str) -> _Ints:
    ordinals: Column = pc.index_in(column, value_set=pa.array(symbols, type=column.type))
    if ordinals.null_count:
        odd = column.filter(ordinals.is_null())[0].as_py()
        raise InvalidInput(f"Cannot encode '{place}' as Avro enum: expected one of {', '.join(symbols)}, got {odd!r}.")
    values: _Ints = ordinals.to_numpy().astype(np.int64)
    return values


def _fewest_bytes(big: _Bytes) -> _Ints:
    """How many trailing bytes of each 16-byte big-endian number hold its value with its sign."""
    sign = np.where(big[:, 0] >= 128, 255, 0).astype(np.uint8)
    differs = big != sign[:, None]
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), 15)
    # The first kept byte must carry the sign in its top bit.
    sign_is_lost = (big[np.arange(len(big)), first] >= 128) != (sign == 255)
    kept: _Ints = (16 - first + sign_is_lost).astype(np.int64)
    return kept


def _cast(column: Column, target: pa.DataType, place: str) -> Column:
    try:
        return column.cast(target)
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"Cannot encode '{place}' as Avro: expected values that fit {target}, got {column.type}: {error}."
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise _mismatch(place, f"a {target}", column) from error


def _mismatch(place: str, expected: str, column: Column) -> InvalidInput:
    return InvalidInput(f"Cannot encode '{place}' as Avro: expected {expected} column, got {column.type}.")
