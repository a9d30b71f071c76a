"""Rows as a caller brings them, turned into exactly the columns of a table.

Laws: columns match by name; a column that is missing takes its write-default or null, and is refused where it must
have a value; a column that the table does not have is refused; a value is never changed, so a cast that would lose
anything is refused with the column and the row. All of this happens before a file is written.

Spec: "Default values", "Schemas and Data Types".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.formats.arrow_convert import decoded
from skipstone.metadata.formats.arrow_types import (
    VARIANT_STORAGE,
    constant_array,
    nested_array,
    struct_array,
    to_arrow_type,
)
from skipstone.metadata.schemas.defaults import MISSING, merge_missing
from skipstone.metadata.types import (
    DateType,
    DecimalType,
    DoubleType,
    Field,
    FixedType,
    FloatType,
    IntType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    VariantType,
    walk,
)
from skipstone.write.reshape import list_parts, present

_compute: Any = pc
_WITH_ZONE: Final = (TimestamptzType, TimestamptzNsType)
_BYTES: Final = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
_TEXT: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_UUID_TEXT: Final = r"\A[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\z"


def conform_batch(batch: pa.RecordBatch, fields: Sequence[Field], target: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly these columns; `target` is their Arrow schema."""
    names = batch.schema.names
    _check_names(names, fields)
    places = {name: i for i, name in enumerate(names)}
    columns: list[Any] = []
    for i, f in enumerate(fields):
        place = places.get(f.name)
        if place is None:
            columns.append(_missing(f, batch.num_rows, f.name))
            continue
        column: Any = batch.column(place)
        is_right = (
            f.type.is_primitive and column.type == target.field(i).type and not (f.required and column.null_count)
        )
        columns.append(column if is_right else _conform(column, f, f.name))
    return pa.RecordBatch.from_arrays(columns, schema=target)


def check_columns(schema: pa.Schema, fields: Sequence[Field]) -> None:
    """Refuse, from the schema alone, rows whose columns can never fit: called before the first row is read."""
    _check_names(schema.names, fields)
    given = set(schema.names)
    for f in fields:
        if f.name not in given:
            merge_missing(f, MISSING, "write", where=f.name)


def _check_names(names: Sequence[str], fields: Sequence[Field]) -> None:
    known = [f.name for f in fields]
    extra = set(names).difference(known)
    if extra:
        first = next(n for n in names if n in extra)
        raise InvalidInput(
            f"Cannot write column {first!r}: the table does not have it. {what_exists('Columns', first, known)} "
            f"Add it to the schema first, or leave it out."
        )
    if len(set(names)) != len(names):
        twice = next(n for i, n in enumerate(names) if n in names[:i])
        raise InvalidInput(f"Cannot write column {twice!r}: expected it once, got it twice. Rename one.")


def _missing(f: Field, length: int, where: str) -> Any:
    value = merge_missing(f, MISSING, "write", where=where)
    if value is None:
        return _nulls(length, to_arrow_type(f.type))
    return constant_array(f.type, value, length)


def _conform(array: Any, f: Field, where: str) -> Any:
    """The array in the column's Arrow type, null only where the column may be."""
    _check_present(array, f, where)
    if f.type.is_nested and _lacks_offsets(array):
        array = array.take(pa.array(range(len(array)), pa.int64()))
    target = to_arrow_type(f.type)
    if array.type == target and not (f.type.is_nested and _has_required(f.type)):
        return array
    plain = decoded(array) if not isinstance(f.type, UuidType) or array.type != target else array
    if pa.types.is_null(plain.type):
        return _nulls(len(plain), target)
    match f.type:
        case StructType(fields):
            return _struct(plain, fields, target, where)
        case ListType():
            return _list(plain, f.type, target, where)
        case MapType():
            return _map(plain, f.type, target, where)
        case _:
            return plain if plain.type == target else _leaf(plain, f, target, where)


def _lacks_offsets(array: Any) -> bool:
    """Whether a list in it has no offsets: Java writes none where there are no lists, and Arrow looks for the first."""
    t = array.type
    if pa.types.is_struct(t):
        return any(_lacks_offsets(array.field(i)) for i in range(t.num_fields))
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_map(t):
        offsets = array.buffers()[1]
        return offsets is None or offsets.size == 0 or _lacks_offsets(array.values)
    return False


def _check_present(array: Any, f: Field, where: str) -> None:
    if f.required and array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise InvalidInput(
            f"Cannot write column '{where}' (id {f.id}): it is required, expected a value in every row, got null in "
            f"row {row}."
        )


def _has_required(type_: Type) -> bool:
    return any(f.required and not _is_map_key(type_, f) for f in walk(type_))


def _is_map_key(type_: Type, f: Field) -> bool:
    # Arrow itself keeps map keys from being null.
    return isinstance(type_, MapType) and f.id == type_.key_id and f.type.is_primitive


def _struct(array: Any, fields: tuple[Field, ...], target: pa.DataType, where: str) -> Any:
    if not pa.types.is_struct(array.type):
        raise _refused(array, where, "a struct")
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    extra = set(names).difference(f.name for f in fields)
    if extra:
        first = next(n for n in names if n in extra)
        raise InvalidInput(
            f"Cannot write column '{where}.{first}': the table does not have it. "
            f"{what_exists('Fields', first, [f.name for f in fields])} Add it to the schema first, or leave it out."
        )
    if len(set(names)) != len(names):
        raise InvalidInput(f"Cannot write column '{where}': expected each field once, got {', '.join(names)}.")
    nulls = array.is_null()
    # Null where the parent is null, so that what Arrow keeps under a null parent is never taken for a value.
    flat = array.flatten()
    children: list[Any] = []
    for f in fields:
        path = f"{where}.{f.name}"
        if f.name not in names:
            children.append(_missing(f, len(array), path))
            continue
        child = flat[names.index(f.name)]
        if f.required and array.null_count:
            # Null where the parent is null, and only there.
            _check_present(child.filter(array.is_valid()), f, path)
            f = replace(f, required=False)
        children.append(_conform(child, f, path))
    return struct_array(target, children, nulls)


def _list(array: Any, type_: ListType, target: pa.DataType, where: str) -> Any:
    t = array.type
    if pa.types.is_fixed_size_list(t):
        array = array.cast(pa.list_(t.value_field))
    elif pa.types.is_large_list(t) or pa.types.is_list_view(t) or pa.types.is_large_list_view(t):
        array = _cast(array, pa.list_(t.value_field), where, type_)
    elif not pa.types.is_list(t) or pa.types.is_map(t):
        raise _refused(array, where, "a list")
    offsets, (values,) = list_parts(array)
    element = _conform(values, type_.element_field, f"{where}.element")
    return nested_array(target, offsets, [element], array.is_null())


def _map(array: Any, type_: MapType, target: pa.DataType, where: str) -> Any:
    if not pa.types.is_map(array.type):
        raise _refused(array, where, "a map")
    offsets, (keys, items) = list_parts(array)
    key = _conform(keys, type_.key_field, f"{where}.key")
    value = _conform(items, type_.value_field, f"{where}.value")
    return nested_array(target, offsets, [key, value], array.is_null())


def _leaf(array: Any, f: Field, target: Any, where: str) -> Any:
    t = array.type
    match f.type:
        case UnknownType():
            if array.null_count == len(array):
                return _nulls(len(array), target)
            raise InvalidInput(f"Cannot write column '{where}': its type is unknown, expected only nulls, got {t}.")
        case IntType() | LongType():
            _expect(pa.types.is_integer(t), array, where, "integers")
        case FloatType() | DoubleType():
            return _float(array, f.type, target, where)
        case DecimalType():
            _expect(pa.types.is_decimal(t), array, where, "decimals")
        case StringType():
            _expect(_is_any(t, _TEXT), array, where, "text")
        case DateType():
            _expect(pa.types.is_date(t), array, where, "dates")
        case TimeType():
            _expect(pa.types.is_time(t), array, where, "times")
        case TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return _timestamp(array, f.type, target, where)
        case UuidType():
            if _is_any(t, _TEXT):
                # Engines without a type of their own for it hand UUIDs over as text.
                return pa.ExtensionArray.from_storage(target, _uuids_of_text(array, where))
            _expect(_is_any(t, _BYTES), array, where, "16 bytes, or UUIDs as text")
            stored = _fixed(array, 16, where, f.type)
            return pa.ExtensionArray.from_storage(target, stored)
        case FixedType(length):
            _expect(_is_any(t, _BYTES), array, where, f"{length} bytes")
            return _fixed(array, length, where, f.type)
        case VariantType():
            return _variant(array, where)
        case _:
            wanted = "booleans" if pa.types.is_boolean(target) else "bytes"
            is_same = pa.types.is_boolean(t) if wanted == "booleans" else _is_any(t, _BYTES)
            _expect(is_same, array, where, wanted)
    return _cast(array, target, where, f.type)


def _float(array: Any, type_: Type, target: Any, where: str) -> Any:
    if pa.types.is_integer(array.type):
        # Arrow refuses integers that a float cannot hold exactly.
        return _cast(array, target, where, type_)
    _expect(pa.types.is_floating(array.type), array, where, "floating-point numbers")
    made = _cast(array, target, where, type_)
    if array.type.bit_width > target.bit_width:
        back = made.cast(array.type)
        same = _compute.or_(_compute.equal(back, array), _compute.is_nan(array))
        if _compute.all(same, min_count=0).as_py() is False:
            row = int(np.flatnonzero(~same.fill_null(True).to_numpy(zero_copy_only=False))[0])
            raise InvalidInput(
                f"Cannot write column '{where}': {array[row].as_py()!r} in row {row} is no {type_} without rounding. "
                f"Cast to {target} first if that is meant."
            )
    return made


def _timestamp(array: Any, type_: Type, target: Any, where: str) -> Any:
    t = array.type
    _expect(pa.types.is_timestamp(t), array, where, "timestamps")
    if (t.tz is not None) != isinstance(type_, _WITH_ZONE):
        wanted = "with" if isinstance(type_, _WITH_ZONE) else "without"
        raise InvalidInput(
            f"Cannot write column '{where}': its type is {type_}, expected timestamps {wanted} a time zone, got {t}."
        )
    # The zone says how to print an instant, not which instant it is: only the unit may need a cast.
    return _cast(array.view(pa.timestamp(t.unit, target.tz)), target, where, type_)


def _uuids_of_text(array: Any, where: str) -> Any:
    is_uuid = _compute.match_substring_regex(array.cast(pa.large_string()), _UUID_TEXT)
    if _compute.all(is_uuid, min_count=0).as_py() is False:
        row = int(np.flatnonzero(~is_uuid.fill_null(True).to_numpy(zero_copy_only=False))[0])
        raise InvalidInput(
            f"Cannot write column '{where}': its type is uuid, expected text like "
            f"'f79c3e09-677c-4bbd-a479-3f349cb785e7' in every row, got {array[row].as_py()!r} in row {row}."
        )
    stored = [None if text is None else bytes.fromhex(text.replace("-", "")) for text in array.to_pylist()]
    return pa.array(stored, pa.binary(16))


def _fixed(array: Any, length: int, where: str, type_: Type) -> Any:
    if pa.types.is_binary_view(array.type):
        # Arrow cannot tell the lengths of views.
        array = _cast(array, pa.large_binary(), where, type_)
    if not pa.types.is_fixed_size_binary(array.type):
        lengths = _compute.binary_length(array)
        wrong = _compute.fill_null(_compute.not_equal(lengths, length), False)
        if _compute.any(wrong).as_py():
            row = int(np.flatnonzero(wrong.to_numpy(zero_copy_only=False))[0])
            raise InvalidInput(
                f"Cannot write column '{where}': its type is {type_}, expected {length} bytes in every row, got "
                f"{lengths[row].as_py()} in row {row}."
            )
    elif array.type.byte_width != length:
        raise _refused(array, where, f"{length} bytes")
    return _cast(array, pa.binary(length), where, type_)


def _variant(array: Any, where: str) -> Any:
    names = [f.name for f in array.type] if pa.types.is_struct(array.type) else []
    if sorted(names) != ["metadata", "value"]:
        raise _refused(array, where, "a struct of metadata and value")
    parts = [_cast(array.field(names.index(n)), pa.binary(), where, VariantType()) for n in ("metadata", "value")]
    for name, part in zip(("metadata", "value"), parts, strict=True):
        if part.filter(array.is_valid()).null_count:
            raise InvalidInput(f"Cannot write column '{where}': expected {name} in every variant, got null.")
    return struct_array(VARIANT_STORAGE, [present(p) for p in parts], array.is_null())


def _cast(array: Any, target: Any, where: str, type_: Type) -> Any:
    if array.type == target:
        return array
    try:
        return _compute.cast(array, target)
    except pa.ArrowException as e:
        raise InvalidInput(
            f"Cannot write column '{where}': expected values that {type_} holds without loss, got {array.type}: {e}."
        ) from e


def _expect(fits: bool, array: Any, where: str, wanted: str) -> None:
    if not fits:
        raise _refused(array, where, wanted)


def _refused(array: Any, where: str, wanted: str) -> InvalidInput:
    return InvalidInput(f"Cannot write column '{where}': expected {wanted}, got {array.type}. Cast the column first.")


def _is_any(t: pa.DataType, tests: Sequence[Any]) -> bool:
    return any(test(t) for test in tests)


def _nulls(length: int, target: pa.DataType) -> Any:
    made: Any = pa.nulls
    return made(length, target)
