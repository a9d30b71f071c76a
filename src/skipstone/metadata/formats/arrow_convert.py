"""Arrow arrays as files hold them, turned into the Arrow type of a table's column.

Law: a conversion never changes what a value says, only how it is held; one that would (text that is not UTF-8, a date
beyond the range of timestamps, bytes of another length) is a violation that names the column. Nanoseconds become
microseconds by rounding down, also before 1970.

Spec: "Schema Evolution" (promotions), "Appendix A: Format-specific Requirements".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.arrow_types import VARIANT_STORAGE, struct_array, to_arrow_type
from skipstone.metadata.types import (
    FixedType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
    VariantType,
)
from skipstone.metadata.values.variant_shredding import unshredded

_NANOS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_compute: Any = pc


def convert_array(array: pa.Array[Any], type_: PrimitiveType, *, where: str) -> pa.Array[Any]:
    """The same values as `to_arrow_type(type_)`."""
    target = to_arrow_type(type_)
    if array.type == target:
        return array
    plain = decoded(array)
    try:
        return _converted(plain, type_, target, where)
    except (pa.ArrowException, TypeError) as e:
        raise FormatViolation(
            f"Invalid values in {where}: expected values that {type_} can hold, got {array.type}: {e}."
        ) from e


def decoded(array: pa.Array[Any]) -> pa.Array[Any]:
    """The array without extension, dictionary and run-end encoding."""
    found: Any = array
    while True:
        if isinstance(found, pa.ExtensionArray):
            found = found.storage
        elif isinstance(found, pa.DictionaryArray):
            found = found.dictionary_decode()
        elif pa.types.is_run_end_encoded(found.type):
            found = _compute.run_end_decode(found)
        else:
            return found  # type: ignore[no-any-return]


def _converted(array: pa.Array[Any], type_: PrimitiveType, target: pa.DataType, where: str) -> pa.Array[Any]:
    if pa.types.is_null(array.type) or pa.types.is_null(target):
        return _nulls(len(array), target)
    match type_:
        case UuidType():
            stored = _fixed(array, 16, where)
            return pa.ExtensionArray.from_storage(target, stored)  # type: ignore[arg-type]
        case FixedType(length):
            return _fixed(array, length, where)
        case VariantType():
            return _variant(array, where)
        case TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return _timestamp(array, target, where)
        case TimeType() if array.type == pa.time64("ns"):
            return _from_int64(_floor_divided(_int64(array), 1_000), target)
        case TimeType() if pa.types.is_int64(array.type):
            return _from_int64(array, target)
        case _:
            return _cast(array, target)


def _timestamp(array: pa.Array[Any], target: pa.DataType, where: str) -> pa.Array[Any]:
    """Only the unit changes: a zone in the type says how to print an instant, not which instant it is."""
    if not isinstance(array.type, pa.TimestampType):
        return _cast(array, target)
    have, want = _NANOS[array.type.unit], _NANOS[target.unit]  # type: ignore[attr-defined]
    stored = _int64(array)
    if have > want:
        stored = _compute.multiply_checked(stored, have // want)
    elif have < want:
        stored = _floor_divided(stored, want // have)
    return _from_int64(stored, target)


def _floor_divided(array: pa.Array[Any], divisor: int) -> pa.Array[Any]:
    """Arrow divides toward zero; values before 1970 must round down like all others."""
    values = _compute.fill_null(array, 0).to_numpy(zero_copy_only=False)
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(np.floor_divide(values, divisor), pa.int64(), mask=nulls)


def _fixed(array: pa.Array[Any], length: int, where: str) -> pa.Array[Any]:
    if not pa.types.is_fixed_size_binary(array.type):
        lengths = _compute.binary_length(array)
        wrong = _compute.filter(lengths, _compute.not_equal(lengths, length))
        if len(wrong):
            raise FormatViolation(f"Invalid values in {where}: expected {length} bytes, got {wrong[0].as_py()}.")
    return _cast(array, pa.binary(length))


def _variant(array: pa.Array[Any], where: str) -> pa.Array[Any]:
    struct: Any = array
    names = [struct.type.field(i).name for i in range(struct.type.num_fields)]
    if "typed_value" in names:
        made = unshredded(struct, where=where)
        whole: list[Any] = [pa.array(p, pa.binary()) for p in made]
        return struct_array(VARIANT_STORAGE, whole, array.is_null())
    parts = [_cast(struct.field(names.index(n)), pa.binary()) for n in ("metadata", "value")]
    return struct_array(VARIANT_STORAGE, parts, array.is_null())


def _cast(array: pa.Array[Any], target: pa.DataType) -> pa.Array[Any]:
    return _compute.cast(array, target)  # type: ignore[no-any-return]


def _int64(array: pa.Array[Any]) -> pa.Array[Any]:
    return array.view(pa.int64())


def _from_int64(array: pa.Array[Any], target: pa.DataType) -> pa.Array[Any]:
    return array.view(target)


def _nulls(length: int, target: pa.DataType) -> pa.Array[Any]:
    made: Any = pa.nulls
    array: pa.Array[Any] = made(length, target)
    return array
