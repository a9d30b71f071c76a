"""Partition transforms over Arrow arrays.

Law: equal to `Transform.apply` value by value. A result that does not fit the result type (`truncate` just below the
smallest value, `hour` of a far-away timestamp) cannot be stored in an Arrow array of that type and is refused.

Spec: "Partition Transforms".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.hashing import decimal_limbs, hash_array, integers
from skipstone.metadata.partitions.transforms import (
    HOURS_PER_DAY,
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
    units_per_hour,
)
from skipstone.metadata.types import (
    DateType,
    DecimalType,
    IntType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
)
from skipstone.metadata.values.civil import months_from_days, years_from_days
from skipstone.metadata.values.decimals import from_unscaled, unscaled

Longs = npt.NDArray[np.int64]

_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1


def apply_arrow(
    transform: Transform, type_: Type, array: pa.Array[Any] | pa.ChunkedArray[Any]
) -> pa.Array[Any] | pa.ChunkedArray[Any]:
    """The transform's results for an array of the source type; chunks and dictionaries are taken apart."""
    if not transform.can_transform(type_):
        transform.apply(type_, None)  # says why not
    if isinstance(array, pa.ChunkedArray):
        chunks = [_apply(transform, type_, chunk) for chunk in array.chunks]
        empty = None if chunks else _apply(transform, type_, pa.nulls(0, array.type)).type
        return pa.chunked_array(chunks, type=empty)
    result: pa.Array[Any] = _apply(transform, type_, array)
    return result


def _apply(transform: Transform, type_: Type, array: Any) -> Any:
    if isinstance(array, pa.DictionaryArray):
        # Each distinct value is transformed once.
        return _apply(transform, type_, array.dictionary).take(array.indices)
    match transform:
        case IdentityTransform():
            return array
        case VoidTransform():
            return pa.nulls(len(array), array.type)
        case BucketTransform(num_buckets):
            return _bucket(type_, array, num_buckets)
        case TruncateTransform(width):
            return _truncate(type_, array, width)
        case YearTransform():
            return _with_nulls(years_from_days(_days(type_, array)), array, pa.int32())
        case MonthTransform():
            return _with_nulls(months_from_days(_days(type_, array)), array, pa.int32())
        case DayTransform():
            return _with_nulls(_days(type_, array), array, pa.int32()).view(pa.date32())
        case HourTransform():
            units = _units(type_, array)
            hours = units // units_per_hour(type_)
            _check_fits(transform, units, (hours < _INT_MIN) | (hours > _INT_MAX), "int")
            return _with_nulls(hours, array, pa.int32())
        case _:
            return transform.apply(type_, None)  # refused: it is not known


def _with_nulls(numbers: Longs, array: Any, arrow_type: Any) -> Any:
    """The numbers as an Arrow array that is null where `array` is."""
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    narrow = numbers.astype(arrow_type.to_pandas_dtype())
    return pa.array(narrow, type=arrow_type, mask=missing)


def _check_fits(transform: Transform, numbers: Longs, outside: npt.NDArray[np.bool_], result: str) -> None:
    if outside.any():
        number = numbers[np.flatnonzero(outside)[0]]
        raise InvalidInput(f"Cannot apply transform {transform} to {number}: the result does not fit {result}.")


def _units(type_: Type, array: Any) -> Longs:
    """The integers of a date or time array, in the unit of the Iceberg type."""
    return integers(_cast(array, _TIME_UNITS[type(type_)](array.type)))


def _utc(unit: Any) -> Callable[[Any], Any]:
    return lambda given: pa.timestamp(unit, getattr(given, "tz", None))


_TIME_UNITS: Final[dict[type[Type], Callable[[Any], Any]]] = {
    DateType: lambda given: pa.date32(),
    TimeType: lambda given: pa.time64("us"),
    TimestampType: _utc("us"),
    TimestamptzType: _utc("us"),
    TimestampNsType: _utc("ns"),
    TimestamptzNsType: _utc("ns"),
}


def _cast(array: Any, arrow_type: Any) -> Any:
    if array.type == arrow_type:
        return array
    try:
        return array.cast(arrow_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInput(f"Invalid array for {arrow_type}: got {array.type}: {error}.") from error


def _days(type_: Type, array: Any) -> Longs:
    units = _units(type_, array)
    return units if isinstance(type_, DateType) else units // (units_per_hour(type_) * HOURS_PER_DAY)


def _bucket(type_: Type, array: Any, num_buckets: int) -> Any:
    if (unit := _TIME_UNITS.get(type(type_))) is not None:
        array = _cast(array, unit(array.type))
    hashes = hash_array(type_, array)
    buckets = (integers(hashes) & 0x7FFFFFFF) % num_buckets
    return _with_nulls(buckets, hashes, pa.int32())


def _truncate(type_: Type, array: Any, width: int) -> Any:
    match type_:
        case IntType() | LongType():
            return _truncate_integers(type_, array, width)
        case DecimalType():
            return _truncate_decimals(type_, array, width)
        case StringType():
            return pc.utf8_slice_codeunits(_plain(array, pa.string()), 0, width)
        case _:
            return pc.binary_slice(_plain(array, pa.binary()), 0, width)


def _plain(array: Any, arrow_type: Any) -> Any:
    """Slicing kernels know the plain and large layouts only, not views."""
    is_view = pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type)
    return array.cast(arrow_type) if is_view else array


def _truncate_integers(type_: Type, array: Any, width: int) -> Any:
    numbers = integers(array)
    result = numbers - numbers % width
    outside = result > numbers  # below the smallest long it wraps around
    if isinstance(type_, IntType):
        outside |= result < _INT_MIN
    _check_fits(TruncateTransform(width), numbers, outside, str(type_))
    return _with_nulls(result, array, pa.int32() if isinstance(type_, IntType) else pa.int64())


def _truncate_decimals(type_: DecimalType, array: Any, width: int) -> Any:
    arrow_type = pa.decimal128(type_.precision, type_.scale)
    array = _cast(array, arrow_type)
    if width >= 2**31:
        result = _truncate_decimals_slowly(type_, array, width, arrow_type)
    else:
        high, low = decimal_limbs(array)
        # The value is high * 2**64 + low; all products stay below 2**62.
        step = np.uint64(width)
        carried = (high % np.int64(width)).astype(np.uint64) * np.uint64(2**64 % width) % step
        remainder = (carried + low % step) % step
        words = np.empty((len(array), 2), dtype=np.uint64)
        words[:, 0] = low - remainder
        words[:, 1] = (high - (remainder > low)).view(np.uint64)
        result = pa.Array.from_buffers(arrow_type, len(array), [_validity(array), pa.py_buffer(words.tobytes())])
    try:
        result.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"Cannot apply transform truncate[{width}]: a result does not fit {type_}: {error}."
        ) from error
    return result


def _validity(array: Any) -> Any:
    """The validity bitmap of an array from its first bit on, or None when nothing is null."""
    if not array.null_count:
        return None
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())


def _truncate_decimals_slowly(type_: DecimalType, array: Any, width: int, arrow_type: Any) -> Any:
    """For widths whose products exceed 64 bits."""
    results = []
    for value in array.to_pylist():
        number = None if value is None else unscaled(value, type_.scale)
        results.append(None if number is None else from_unscaled(number - number % width, type_.scale))
    try:
        return pa.array(results, type=arrow_type)
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"Cannot apply transform truncate[{width}]: a result does not fit {type_}: {error}."
        ) from error
