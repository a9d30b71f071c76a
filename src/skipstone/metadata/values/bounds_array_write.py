"""Bounds of whole columns, written: typed Arrow arrays to arrays of bytes, without a loop over values.

Law: value by value the bytes are those of `bounds.serialize_bound`, but for NaN, which may not be a bound: it is left
out (null), so that what another writer stored can be rewritten.

Spec: "Bound serialization".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput
from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StringType,
    UnknownType,
    UuidType,
    VariantType,
)
from skipstone.metadata.values.bound_types import bound_type
from skipstone.metadata.values.bounds_array import DTYPES, Array, Mask, arrow_buffer
from skipstone.metadata.values.checks import DECIMAL_BYTES_MAX


def serialize_bounds_array(type_: PrimitiveType, array: Array) -> Array:
    """The bytes of typed bounds (an array of `bound_type`); null and NaN give null."""
    expected = bound_type(type_)
    if array.type != expected:
        raise InvalidInput(
            f"Cannot serialize bounds of {type_}: expected an Arrow array of {expected}, got {array.type}."
        )
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    match type_:
        case UnknownType():
            return pa.nulls(len(array), pa.binary())
        case VariantType() | BinaryType() | StringType():
            return array.cast(pa.binary())
        case BooleanType():
            rows = array.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False)[:, None]
            return _binary(rows, None, valid)
        case GeometryType() | GeographyType():
            return _serialize_points(array, valid)
        case DecimalType():
            return _serialize_decimals(array, valid)
        case UuidType() | FixedType():
            rows = _raw(array, np.dtype(np.uint8), expected.byte_width)
        case _:
            dtype = np.dtype(DTYPES[type(type_)])
            numbers = _raw(array, dtype, 1)
            if dtype.kind == "f":
                valid = valid & ~np.isnan(numbers[:, 0])
            rows = numbers.view(np.uint8)
    return _binary(rows, None, valid)


def _raw(array: Array, dtype: np.dtype[Any], per_value: int) -> npt.NDArray[Any]:
    """The values buffer of a fixed-width array, one value a row."""
    count, buffer = len(array), array.buffers()[1]
    if buffer is None or per_value == 0 or count == 0:
        return np.zeros((count, per_value), dtype)
    values = np.frombuffer(memoryview(buffer), dtype)
    return values[array.offset * per_value : (array.offset + count) * per_value].reshape(count, per_value)


def _serialize_decimals(array: Array, valid: Mask) -> Array:
    rows = _raw(array, np.dtype(np.uint8), DECIMAL_BYTES_MAX)[:, ::-1]
    # A leading byte is needless when it repeats the sign bit of the byte after it.
    fill = np.where(rows[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
    is_needless = (rows[:, :-1] == fill) & ((rows[:, 1:] >= 0x80) == (fill == 0xFF))
    skipped = np.cumprod(is_needless, axis=1, dtype=np.int8).sum(axis=1, dtype=np.int64)
    return _binary(rows, np.arange(DECIMAL_BYTES_MAX) >= skipped[:, None], valid)


def _serialize_points(array: Array, valid: Mask) -> Array:
    columns = [
        pc.struct_field(array, [axis]).fill_null(np.nan).to_numpy(zero_copy_only=False).astype("<f8")
        for axis in range(4)
    ]
    points = np.column_stack(columns) if len(array) else np.zeros((0, 4))
    has_z, has_m = ~np.isnan(points[:, 2]), ~np.isnan(points[:, 3])
    lengths = np.where(has_m, 32, np.where(has_z, 24, 16)).astype(np.int64)
    is_point = valid & ~np.isnan(points[:, 0]) & ~np.isnan(points[:, 1])
    rows = np.ascontiguousarray(points).view(np.uint8).reshape(len(array), 32)
    return _binary(rows, np.arange(32) < lengths[:, None], is_point)


def _binary(rows: npt.NDArray[np.uint8], kept: Mask | None, valid: Mask) -> Array:
    """A binary array of the kept bytes of each row (None keeps all), null where not valid."""
    if kept is None:
        lengths = np.where(valid, rows.shape[1], 0)
        data = rows if valid.all() else rows[valid]
    else:
        kept = kept & valid[:, None]
        lengths = kept.sum(axis=1, dtype=np.int64)
        data = rows[kept]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    buffers = [validity, arrow_buffer(offsets), arrow_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(valid), buffers).cast(pa.binary())
