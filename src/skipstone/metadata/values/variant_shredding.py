"""Shredded variants of Parquet files put together again.

A shredded variant keeps in `typed_value` what fits the type of that column, and in `value` what does not; of an object,
the fields that have columns of their own are in the first, the rest in the second. Laws: both empty means that a field
is missing, and a variant null where there has to be a value; a field in both is taken from its own column; a row with
nothing in `typed_value` keeps its bytes as they are.

Source: Apache Parquet, "Variant Shredding".
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.values.variant import (
    VariantArray,
    VariantKind,
    VariantObject,
    VariantPrimitive,
    VariantValue,
    parse_variant,
    serialize_variant,
)

_NULL: Final = VariantPrimitive(VariantKind.NULL)
_NULL_BYTES: Final = b"\x00"
# Types whose values are integers for us, with the type they are counted in.
_INTEGERS: Final[dict[Any, tuple[VariantKind, Any]]] = {
    pa.int8(): (VariantKind.INT8, None),
    pa.int16(): (VariantKind.INT16, None),
    pa.int32(): (VariantKind.INT32, None),
    pa.int64(): (VariantKind.INT64, None),
    pa.date32(): (VariantKind.DATE, pa.int32()),
    pa.time64("us"): (VariantKind.TIME, pa.int64()),
}
_PLAIN: Final[dict[Any, VariantKind]] = {
    pa.float32(): VariantKind.FLOAT,
    pa.float64(): VariantKind.DOUBLE,
    pa.binary(): VariantKind.BINARY,
    pa.large_binary(): VariantKind.BINARY,
    pa.string(): VariantKind.STRING,
    pa.large_string(): VariantKind.STRING,
}


def unshredded(array: Any, *, where: str) -> tuple[list[bytes | None], list[bytes | None]]:
    """Metadata and value bytes of each row of a struct of `metadata`, perhaps `value`, and `typed_value`."""
    metadata = _field(array, "metadata", where).to_pylist()
    is_valid = array.is_valid().to_pylist()
    if any(valid and m is None for valid, m in zip(is_valid, metadata, strict=True)):
        raise FormatViolation(f"Invalid values in {where}: expected variant metadata, got null.")
    stored = _stored(array)
    typed = _typed(_plain(_field(array, "typed_value", where)), metadata, where)
    made_metadata: list[bytes | None] = []
    made_values: list[bytes | None] = []
    for valid, names, value, part in zip(is_valid, metadata, stored, typed, strict=True):
        if not valid:
            pair: tuple[bytes | None, bytes | None] = (None, None)
        elif part is None:
            pair = (names, _NULL_BYTES if value is None else value)
        else:
            pair = serialize_variant(_joined(part, _parsed(names, value, where), where))
        made_metadata.append(pair[0])
        made_values.append(pair[1])
    return made_metadata, made_values


def _values(array: Any, metadata: Sequence[Any], where: str) -> list[VariantValue | None]:
    """The values of a group of `value` and `typed_value`; None where missing."""
    stored = [_parsed(m, v, where) for m, v in zip(metadata, _stored(array), strict=True)]
    if array.type.get_field_index("typed_value") < 0:
        return stored
    typed = _typed(_plain(_field(array, "typed_value", where)), metadata, where)
    is_valid = array.is_valid().to_pylist()
    return [
        (v if t is None else _joined(t, v, where)) if valid else None
        for valid, t, v in zip(is_valid, typed, stored, strict=True)
    ]


def _joined(typed: VariantValue, stored: VariantValue | None, where: str) -> VariantValue:
    if stored is None:
        return typed
    if not isinstance(typed, VariantObject) or not isinstance(stored, VariantObject):
        raise FormatViolation(
            f"Invalid values in {where}: expected only objects in both value and typed_value, got "
            f"{type(stored).__name__} and {type(typed).__name__}."
        )
    return VariantObject(tuple((dict(stored.fields) | dict(typed.fields)).items()))


def _typed(array: Any, metadata: Sequence[Any], where: str) -> list[VariantValue | None]:
    """The values of a `typed_value` column; None where it is null."""
    if pa.types.is_struct(array.type):
        return _objects(array, metadata, where)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _arrays(array, metadata, where)
    kind, values = _primitives(array, where)
    if kind is None:  # booleans are two kinds
        kinds = {True: VariantKind.TRUE, False: VariantKind.FALSE}
        return [None if v is None else VariantPrimitive(kinds[v], v) for v in values]
    return [None if v is None else VariantPrimitive(kind, v) for v in values]


def _objects(array: Any, metadata: Sequence[Any], where: str) -> list[VariantValue | None]:
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    columns = []
    for name, part in zip(names, array.flatten(), strict=True):
        child = _plain(part)
        if not pa.types.is_struct(child.type):
            raise FormatViolation(
                f"Invalid values in {where}: expected a group of value and typed_value for field {name!r}, "
                f"got {child.type}."
            )
        columns.append(_values(child, metadata, where))
    found: list[VariantValue | None] = []
    try:
        for row, valid in enumerate(array.is_valid().to_pylist()):
            fields = ((n, c[row]) for n, c in zip(names, columns, strict=True))
            found.append(VariantObject(tuple((n, v) for n, v in fields if v is not None)) if valid else None)
    except InvalidInput as error:
        raise FormatViolation(f"Invalid values in {where}: {error}") from error
    return found


def _arrays(array: Any, metadata: Sequence[Any], where: str) -> list[VariantValue | None]:
    lengths = np.asarray(array.value_lengths().fill_null(0))
    elements = _plain(array.flatten())
    if not pa.types.is_struct(elements.type):
        raise FormatViolation(
            f"Invalid values in {where}: expected a group of value and typed_value for elements, got {elements.type}."
        )
    owners = np.repeat(np.arange(len(array)), lengths).tolist()
    values = [_NULL if v is None else v for v in _values(elements, [metadata[o] for o in owners], where)]
    ends = np.cumsum(lengths).tolist()
    return [
        VariantArray(tuple(values[end - length : end])) if valid else None
        for valid, length, end in zip(array.is_valid().to_pylist(), lengths.tolist(), ends, strict=True)
    ]


def _primitives(array: Any, where: str) -> tuple[VariantKind | None, list[Any]]:
    """The kind of a column, None for booleans, and its values."""
    type_ = array.type
    if pa.types.is_boolean(type_):
        return None, array.to_pylist()
    if type_ in _PLAIN:
        return _PLAIN[type_], array.to_pylist()
    if type_ in _INTEGERS:
        kind, counted_in = _INTEGERS[type_]
        return kind, (array if counted_in is None else array.view(counted_in)).to_pylist()
    if pa.types.is_decimal(type_) and type_.precision <= 38:
        small = VariantKind.DECIMAL4 if type_.precision <= 9 else VariantKind.DECIMAL8
        return VariantKind.DECIMAL16 if type_.precision > 18 else small, array.to_pylist()
    if pa.types.is_fixed_size_binary(type_) and type_.byte_width == 16:
        return VariantKind.UUID, [None if v is None else uuid.UUID(bytes=v) for v in array.to_pylist()]
    if pa.types.is_timestamp(type_) and type_.unit in ("us", "ns"):
        micros = VariantKind.TIMESTAMP if type_.tz is None else VariantKind.TIMESTAMPTZ
        nanos = VariantKind.TIMESTAMP_NS if type_.tz is None else VariantKind.TIMESTAMPTZ_NS
        return micros if type_.unit == "us" else nanos, array.view(pa.int64()).to_pylist()
    raise FormatViolation(f"Invalid values in {where}: expected a type that variants are shredded to, got {type_}.")


def _stored(array: Any) -> list[Any]:
    """The bytes in `value`; a perfectly shredded group has no such column."""
    if array.type.get_field_index("value") < 0:
        return [None] * len(array)
    values: list[Any] = _field(array, "value", "").to_pylist()
    return values


def _parsed(metadata: bytes | None, value: bytes | None, where: str) -> VariantValue | None:
    return None if value is None or metadata is None else parse_variant(metadata, value, source=where)


def _field(array: Any, name: str, where: str) -> Any:
    """A field of a struct, null where the struct is; what lies beneath a null means nothing."""
    index = array.type.get_field_index(name)
    if index < 0:
        raise FormatViolation(f"Invalid values in {where}: expected a variant with {name}, got {array.type}.")
    return array.flatten()[index]


def _plain(array: Any) -> Any:
    while isinstance(array, pa.ExtensionArray | pa.DictionaryArray):
        array = array.storage if isinstance(array, pa.ExtensionArray) else array.dictionary_decode()
    return array
