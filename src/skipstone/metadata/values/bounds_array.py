"""Bounds of whole columns, read: Arrow arrays of bytes to typed arrays, without a loop over values.

Law: parse_bounds_array gives, value by value, what `bounds.parse_bound` gives. Widths may be mixed in one array, for
files written before and after a promotion sit side by side.

A bad bound either raises (naming the place) or, with on_bad="unknown", becomes null: a fact that is unknown keeps
every row. There, NaN becomes null too, for it bounds nothing.

Spec: "Bound serialization", "Schema Evolution".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import FormatViolation, InvalidInput, Unsupported
from skipstone.metadata.types import (
    LONG_MAX,
    LONG_MIN,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IntType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UuidType,
    VariantType,
)
from skipstone.metadata.values.binary import parse_utf8
from skipstone.metadata.values.bound_types import GEO_POINT, bound_type
from skipstone.metadata.values.bounds import DAY_UNITS, FIXED_FILLED_MAX, GEO_WIDTHS, PROMOTED_FROM, parse_bound
from skipstone.metadata.values.checks import DECIMAL_BYTES_MAX
from skipstone.metadata.values.iso import DAY_US

Array: TypeAlias = "pa.Array[Any]"
Mask: TypeAlias = npt.NDArray[np.bool_]
OnBad: TypeAlias = Literal["raise", "unknown"]

FIXED_COLUMN_BYTES_MAX: Final = 1 << 30

DTYPES: Final[dict[type[PrimitiveType], str]] = {
    IntType: "<i4",
    DateType: "<i4",
    FloatType: "<f4",
    DoubleType: "<f8",
    LongType: "<i8",
    TimeType: "<i8",
    TimestampType: "<i8",
    TimestamptzType: "<i8",
    TimestampNsType: "<i8",
    TimestamptzNsType: "<i8",
}


class _Bytes:
    """The buffers of a binary array as NumPy arrays; a null has length -1."""

    def __init__(self, array: Array) -> None:
        if pa.types.is_binary(array.type):
            dtype: type[Any] = np.int32
        elif pa.types.is_large_binary(array.type):
            dtype = np.int64
        else:
            raise InvalidInput(f"Cannot parse bounds: expected an Arrow array of binary, got {array.type}.")
        _, offsets_buffer, data_buffer = array.buffers()
        count = len(array)
        if count == 0 or offsets_buffer is None:
            offsets = np.zeros(count + 1, np.int64)
        else:
            offsets = np.frombuffer(memoryview(offsets_buffer), dtype)[array.offset : array.offset + count + 1].astype(
                np.int64
            )
        self.valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
        self.starts = offsets[:-1]
        self.lengths = np.where(self.valid, np.diff(offsets), -1)
        self.data = (
            np.frombuffer(memoryview(data_buffer), np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
        )

    def rows(self, chosen: Mask, width: int) -> npt.NDArray[Any]:
        """The bytes of the chosen values, all of this width, one value a row."""
        starts = self.starts[chosen]
        count = len(starts)
        if count and int(starts[-1]) - int(starts[0]) == width * (count - 1):
            # Offsets never fall, so the chosen values lie one behind the other: no gathering.
            return self.data[int(starts[0]) : int(starts[0]) + width * count].reshape(count, width)
        return np.asarray(self.data[starts[:, None] + np.arange(width)])


def parse_bounds_array(
    type_: PrimitiveType,
    array: Array,
    *,
    source: str = "bounds",
    place: str | Callable[[int], str] = "bound",
    on_bad: OnBad = "raise",
) -> Array:
    """Typed bounds (`bound_type`) from their bytes; null stays null.

    `source` names the file and `place` the column in messages (`entry 12, lower_bounds[4]`: the row is put before a
    text, a function gets the row and names the whole place).
    """
    parsed: Array
    match type_:
        case UnknownType():
            parsed, bad = pa.nulls(len(array)), array.is_valid().to_numpy(zero_copy_only=False)
        case VariantType() | BinaryType():
            return array.cast(pa.binary())
        case StringType():
            parsed, bad = _parse_strings(array)
        case _:
            parsed, bad = _parse_fixed_width(type_, _Bytes(array))
    if on_bad == "raise" and bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise _violation(type_, array[row].as_py(), f"{source}: {_name(place, row)}")
    return parsed if on_bad == "raise" else _without_nan(type_, parsed)


def _name(place: str | Callable[[int], str], row: int) -> str:
    return f"entry {row}, {place}" if isinstance(place, str) else place(row)


def _violation(type_: PrimitiveType, data: bytes, where: str) -> FormatViolation:
    """What the one-value parser says about a bound that the column parser refused."""
    try:
        parse_bound(type_, data, source=where)
    except FormatViolation as e:
        return e
    return FormatViolation(f"Invalid {where}: expected a bound of {type_}, got {len(data)} bytes.")


def _parse_fixed_width(type_: PrimitiveType, given: _Bytes) -> tuple[Array, Mask]:
    match type_:
        case BooleanType():
            good = given.lengths == 1
            values = np.zeros(len(good), np.bool_)
            values[good] = given.rows(good, 1)[:, 0] != 0
            return pa.array(values, mask=~good), given.valid & ~good
        case DecimalType():
            return _parse_decimals(type_, given)
        case UuidType():
            return _parse_padded(pa.binary(16), 16, given, given.lengths == 16)
        case FixedType(length=length):
            _check_memory(type_, len(given.lengths) * length)
            good = given.lengths == length
            if length <= FIXED_FILLED_MAX:
                good |= (given.lengths > 0) & (given.lengths < length)
            return _parse_padded(pa.binary(length), length, given, good)
        case GeometryType() | GeographyType():
            return _parse_points(given)
        case _:
            return _parse_numbers(type_, given)


def _parse_numbers(type_: PrimitiveType, given: _Bytes) -> tuple[Array, Mask]:
    dtype = np.dtype(DTYPES[type(type_)])
    good = given.lengths == dtype.itemsize
    if bool(good.all()) and len(good):
        values = np.ascontiguousarray(given.rows(good, dtype.itemsize)).view(dtype)[:, 0]
    else:
        values = np.zeros(len(good), dtype)
        values[good] = given.rows(good, dtype.itemsize).view(dtype)[:, 0]
    if (narrow := PROMOTED_FROM.get(type(type_))) is not None and (is_narrow := given.lengths == 4).any():
        promoted = np.ascontiguousarray(given.rows(is_narrow, 4)).view(DTYPES[type(narrow)])[:, 0].astype(dtype)
        if (units := DAY_UNITS.get(type(type_))) is not None:
            in_range = (promoted >= -(-LONG_MIN // units)) & (promoted <= LONG_MAX // units)
            promoted = np.where(in_range, promoted, 0) * units
            is_narrow[is_narrow] = in_range
            promoted = promoted[in_range]
        values[is_narrow] = promoted
        good |= is_narrow
    if isinstance(type_, TimeType):
        good = good & (values >= 0) & (values < DAY_US)
    return _from_buffers(bound_type(type_), values, good), given.valid & ~good


def _parse_decimals(type_: DecimalType, given: _Bytes) -> tuple[Array, Mask]:
    """Big-endian of any width to 16 bytes little-endian, sign-extended, one width at a time."""
    good = (given.lengths >= 1) & (given.lengths <= DECIMAL_BYTES_MAX)
    wide = np.zeros((len(good), DECIMAL_BYTES_MAX), np.uint8)
    for width in np.unique(given.lengths[good]):
        chosen = given.lengths == width
        rows = given.rows(chosen, int(width))
        extended = np.where(rows[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0)).repeat(DECIMAL_BYTES_MAX, axis=1)
        extended[:, :width] = rows[:, ::-1]
        wide[chosen] = extended
    good &= _fits(wide, type_.precision)
    return _from_buffers(bound_type(type_), wide, good), given.valid & ~good


def _fits(wide: npt.NDArray[np.uint8], precision: int) -> Mask:
    """Whether 128-bit integers have at most this many digits."""
    halves = wide.view("<u8")
    low, high = halves[:, 0], halves[:, 1]
    negative = high >= np.uint64(1 << 63)
    # |n| - 1 for a negative n is ~n, so the limit for it is one less.
    low, high = np.where(negative, ~low, low), np.where(negative, ~high, high)
    limit_high, limit_low = divmod(10**precision - 1, 1 << 64)
    limit_low_negative = limit_low - 1  # 10**precision - 1 never ends in a zero word
    limits = np.where(negative, np.uint64(limit_low_negative), np.uint64(limit_low))
    fits: Mask = (high < np.uint64(limit_high)) | ((high == np.uint64(limit_high)) & (low <= limits))
    return fits


def _parse_padded(arrow_type: pa.DataType, width: int, given: _Bytes, good: Mask) -> tuple[Array, Mask]:
    values = np.zeros((len(good), width), np.uint8)
    for length in np.unique(given.lengths[good]):
        chosen = given.lengths == length
        values[chosen, :length] = given.rows(chosen, int(length))
    return _from_buffers(arrow_type, values, good), given.valid & ~good


def _check_memory(type_: PrimitiveType, size: int) -> None:
    """Arrow spends the full width on every row, null or not, so a schema alone could ask for any amount."""
    if size > FIXED_COLUMN_BYTES_MAX:
        raise Unsupported(
            f"Cannot hold a column of bounds of {type_}: expected at most {FIXED_COLUMN_BYTES_MAX} bytes, got {size}. "
            "Leave the column out."
        )


def _parse_points(given: _Bytes) -> tuple[Array, Mask]:
    good = np.isin(given.lengths, GEO_WIDTHS)
    coordinates = np.full((len(good), 4), np.nan)
    for width in GEO_WIDTHS:
        chosen = given.lengths == width
        coordinates[chosen, : width // 8] = np.ascontiguousarray(given.rows(chosen, width)).view("<f8")
    x, y, z, m = (np.ascontiguousarray(coordinates[:, axis]) for axis in range(4))
    columns = [
        _from_buffers(pa.float64(), x, good),
        _from_buffers(pa.float64(), y, good),
        _from_buffers(pa.float64(), z, good & ~np.isnan(z)),
        _from_buffers(pa.float64(), m, good & ~np.isnan(m)),
    ]
    fields = list(GEO_POINT)
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(~good)), given.valid & ~good


def _parse_strings(array: Array) -> tuple[Array, Mask]:
    nothing_bad = np.zeros(len(array), np.bool_)
    try:
        return _as_text(array), nothing_bad
    except pa.ArrowInvalid:
        bad = np.fromiter((v is not None and not _is_utf8(v) for v in array.to_pylist()), np.bool_, len(array))
    if not bad.any():
        raise Unsupported(f"Cannot hold {array.nbytes} bytes of string bounds in one Arrow array. Parse them in parts.")
    return pc.if_else(pa.array(bad), None, array).cast(pa.string()), bad


def _as_text(array: Array) -> Array:
    """A cast, made by hand where the bytes stay where they are: Arrow's first cast sets up all of them."""
    if array.type != pa.binary():
        return array.cast(pa.string())
    text: Array = array.view(pa.string())
    text.validate(full=True)
    return text


def _is_utf8(data: bytes) -> bool:
    try:
        parse_utf8(data, "")
    except FormatViolation:
        return False
    return True


def _without_nan(type_: PrimitiveType, parsed: Array) -> Array:
    match type_:
        case FloatType() | DoubleType():
            is_nan = pc.is_nan(parsed)
        case GeometryType() | GeographyType():
            is_nan = pc.or_(pc.is_nan(pc.struct_field(parsed, "x")), pc.is_nan(pc.struct_field(parsed, "y")))
        case _:
            return parsed
    known: Array = pc.if_else(is_nan, None, parsed)
    return known


def _from_buffers(arrow_type: pa.DataType, values: npt.NDArray[Any], good: Mask) -> Array:
    """An Arrow array over NumPy's memory; what is not good is null."""
    validity = None if good.all() else pa.py_buffer(np.packbits(good, bitorder="little").tobytes())
    buffer = arrow_buffer(values)
    return pa.Array.from_buffers(arrow_type, len(good), [validity, buffer])


def arrow_buffer(values: npt.NDArray[Any]) -> pa.Buffer:
    """NumPy's memory as an Arrow buffer, without a copy where it is contiguous."""
    return pa.py_buffer(memoryview(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data))
