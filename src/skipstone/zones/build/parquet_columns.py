"""Where the values of each column of a table come from in one Parquet file: a stored column, or a constant.

A stored value is turned into a value of the table exactly as a reader turns it, promotion and units included; that
keeps the order of values, so the bounds of the stored values become the bounds of the table's.

Spec: "Column Projection", "Appendix A: Format-specific Requirements", Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.arrow_convert import convert_array
from skipstone.metadata.schemas.projection import (
    DefaultValue,
    FileColumn,
    NullValue,
    PartitionConstant,
    Projection,
    Source,
    StructColumn,
)
from skipstone.metadata.types import (
    Field,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StructType,
    UnknownType,
    Value,
    VariantType,
)
from skipstone.metadata.values import bound_type
from skipstone.zones.arrow import Array, pa, pc

_LISTS: Final = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.MapType)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredColumn:
    """A leaf of the file: its place among the file's leaves, how it is stored, and the type the table gives it."""

    field_id: int
    type: PrimitiveType
    index: int
    physical: str
    length: int
    arrow_type: Any
    logical: str
    is_nested: bool

    @property
    def has_ordered_values(self) -> bool:
        """Whether the format's order of stored values is the order of the table's values."""
        if self.physical == "INT96" or isinstance(self.type, VariantType | GeometryType | GeographyType):
            return False
        return self.logical != "Interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantColumn:
    """One value in every row that has the structs around it: a default, a partition value, or null."""

    field_id: int
    type: PrimitiveType
    value: Value
    is_nested: bool


ParquetColumn: TypeAlias = StoredColumn | ConstantColumn


def parquet_columns(schema: Any, projection: Projection) -> dict[int, ParquetColumn]:
    """Every primitive column of the projection outside lists and maps, by field id.

    `schema` is pyarrow's schema of the file (`FileMetaData.schema`), which `projection` was resolved against.
    """
    arrow = schema.to_arrow_schema()
    starts = _leaf_starts([arrow.field(i).type for i in range(len(arrow))], 0)
    found: dict[int, ParquetColumn] = {}
    for source in projection.fields:
        for column in _columns(source, starts, schema, is_nested=False):
            found[column.field_id] = column
    return found


@dataclass(frozen=True, slots=True)
class _Leaves:
    """An Arrow type of the file and the number of its first leaf."""

    arrow_type: Any
    first: int

    def children(self) -> list[_Leaves]:
        return _leaf_starts([self.arrow_type.field(i).type for i in range(self.arrow_type.num_fields)], self.first)


def _leaf_starts(types: Sequence[Any], first: int) -> list[_Leaves]:
    placed = []
    for t in types:
        placed.append(_Leaves(t, first))
        first += _num_leaves(t)
    return placed


def _num_leaves(t: Any) -> int:
    if isinstance(t, pa.StructType):
        return sum(_num_leaves(t.field(i).type) for i in range(t.num_fields))
    if isinstance(t, pa.MapType):
        return _num_leaves(t.key_type) + _num_leaves(t.item_type)
    return _num_leaves(t.value_type) if isinstance(t, _LISTS) else 1


def _columns(source: Source, siblings: list[_Leaves], schema: Any, *, is_nested: bool) -> Iterator[ParquetColumn]:
    match source:
        case FileColumn(field=field, index=index):
            place = siblings[index]
            if _is_judged(field.type) and not isinstance(place.arrow_type, pa.StructType):
                yield _stored(field, place, schema.column(place.first), is_nested=is_nested)
        case StructColumn(index=index, fields=fields):
            inside = siblings[index].children()
            for child in fields:
                yield from _columns(child, inside, schema, is_nested=True)
        case PartitionConstant(field=field, value=value) | DefaultValue(field=field, value=value):
            yield from constant_columns(field, value, is_nested=is_nested)
        case NullValue(field=field):
            yield from constant_columns(field, None, is_nested=is_nested)
        case _:
            return


def constant_columns(field: Field, value: Value, *, is_nested: bool) -> Iterator[ConstantColumn]:
    """The primitive columns in a field that the file does not store."""
    if isinstance(field.type, StructType):
        for child in field.type.fields:
            yield from constant_columns(child, None if value is None else value.get(child.id), is_nested=is_nested)
    elif _is_judged(field.type):
        assert isinstance(field.type, PrimitiveType)
        yield ConstantColumn(field_id=field.id, type=field.type, value=value, is_nested=is_nested)


def _is_judged(type_: Any) -> bool:
    return isinstance(type_, PrimitiveType) and not isinstance(type_, UnknownType)


def _stored(field: Field, place: _Leaves, column: Any, *, is_nested: bool) -> StoredColumn:
    assert isinstance(field.type, PrimitiveType)
    arrow_type = place.arrow_type
    while isinstance(arrow_type, pa.BaseExtensionType):
        arrow_type = arrow_type.storage_type
    return StoredColumn(
        field_id=field.id,
        type=field.type,
        index=place.first,
        physical=column.physical_type,
        length=column.length,
        arrow_type=arrow_type,
        logical=str(json.loads(column.logical_type.to_json()).get("Type")),
        is_nested=is_nested,
    )


# -- stored values


def table_values(column: StoredColumn, raw: Sequence[Any], *, where: str = "column") -> Array:
    """Physical values (numbers, bytes, None) as an array of the table's bounds; None where one cannot be read."""
    try:
        return _as_bounds(column, stored_array(column, raw), where)
    except (FormatViolation, pa.ArrowException, ValueError, OverflowError, TypeError):
        return pa.concat_arrays([_one(column, value, where) for value in raw] or [_nothing(column)[:0]])


def read_values(column: StoredColumn, raw: Sequence[Any], *, where: str) -> Array:
    """The same for values, not bounds: NaN is kept, and a value that cannot be read is a violation."""
    try:
        return _as_values(column, stored_array(column, raw), where)
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        if isinstance(error, FormatViolation):
            raise
        raise FormatViolation(f"Invalid {where}: expected values of {column.type}, got: {error}.") from error


def _one(column: StoredColumn, value: Any, where: str) -> Array:
    try:
        return _as_bounds(column, stored_array(column, [value]), where)
    except (FormatViolation, pa.ArrowException, ValueError, OverflowError, TypeError):
        return _nothing(column)


def _nothing(column: StoredColumn) -> Array:
    return pa.nulls(1, bound_type(column.type))


def stored_array(column: StoredColumn, raw: Sequence[Any]) -> Array:
    """Physical values as an array of the file's own Arrow type."""
    t = column.arrow_type
    match column.physical:
        case "BOOLEAN":
            return pa.array(raw, pa.bool_())
        case "INT32" | "INT64":
            return _from_integers(raw, t, 32 if column.physical == "INT32" else 64)
        case "FLOAT":
            return pa.array(raw, pa.float32())
        case "DOUBLE":
            return pa.array(raw, pa.float64())
        case "BYTE_ARRAY" | "FIXED_LEN_BYTE_ARRAY":
            return _from_bytes(raw, t, column.length)
        case other:
            raise FormatViolation(f"Cannot read statistics of physical type {other}.")


def _from_integers(raw: Sequence[Any], t: Any, bits: int) -> Array:
    signed, unsigned = (pa.int32(), pa.uint32()) if bits == 32 else (pa.int64(), pa.uint64())
    if pa.types.is_decimal(t):
        return _decimals(raw, t)
    array = pa.array(raw, signed)
    if pa.types.is_unsigned_integer(t):
        return array.view(unsigned).cast(t)
    if pa.types.is_integer(t):
        return array.cast(t)
    return array.view(t) if t.bit_width == bits else array.cast(t)


def _from_bytes(raw: Sequence[Any], t: Any, length: int) -> Array:
    if pa.types.is_decimal(t):
        return _decimals([None if v is None else int.from_bytes(v, "big", signed=True) for v in raw], t)
    if pa.types.is_float16(t):
        values = np.frombuffer(b"".join(v if v is not None else b"\0\0" for v in raw), "<f2")
        return pa.array(values, mask=np.array([v is None for v in raw], dtype=np.bool_))
    if pa.types.is_fixed_size_binary(t):
        return pa.array(raw, pa.binary(length))
    return pa.array(raw, pa.binary()).cast(t)


def _decimals(unscaled: Sequence[int | None], t: Any) -> Array:
    width = t.bit_width // 8
    data = b"".join((0 if v is None else v).to_bytes(width, "little", signed=True) for v in unscaled)
    valid = np.packbits([v is not None for v in unscaled], bitorder="little").tobytes()
    limit = 10**t.precision
    if any(v is not None and not -limit < v < limit for v in unscaled):
        raise FormatViolation(f"Invalid decimal: expected at most {t.precision} digits.")
    return pa.Array.from_buffers(t, len(unscaled), [pa.py_buffer(valid), pa.py_buffer(data)])


def _as_bounds(column: StoredColumn, array: Array, where: str) -> Array:
    bounds = _as_values(column, array, where)
    return pc.if_else(pc.is_nan(bounds), pa.scalar(None, bounds.type), bounds) if _is_float(bounds) else bounds


def _is_float(array: Array) -> bool:
    return bool(pa.types.is_floating(array.type))


def _as_values(column: StoredColumn, array: Array, where: str) -> Array:
    converted = convert_array(array, column.type, where=where)
    if isinstance(converted, pa.ExtensionArray):
        converted = converted.storage
    wanted = bound_type(column.type)
    return converted if converted.type == wanted else pc.cast(converted, wanted)
