"""The same values in another Arrow type of the same shape, as a file format wants them.

Memory holds columns as `to_arrow_schema` says; a file may want other names inside structs, leave unknown columns out,
announce geometries, or hold times as plain longs. No value changes here: only how it is held.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import Unsupported
from skipstone.metadata.formats.arrow_types import nested_array, struct_array
from skipstone.metadata.types import Field, ListType, MapType, StructType, Type, UnknownType, walk

_compute: Any = pc


def check_stored(struct: StructType, format_name: str) -> None:
    """Refuse structs of which nothing is stored, because the format has none that are empty."""
    for f in (Field(id=0, name="", type=struct), *walk(struct)):
        if isinstance(f.type, StructType) and all(isinstance(c.type, UnknownType) for c in f.type.fields):
            what = f"column '{f.name}' (id {f.id})" if f.name else "rows"
            raise Unsupported(
                f"Cannot write {what} to {format_name}: all fields are of type unknown, and a struct needs one that is "
                f"stored. Write Avro, or give a field another type first."
            )


def reshape_table(table: pa.Table, fields: tuple[Field, ...], target: pa.Schema) -> pa.Table:
    """The table with the columns of `target`: those of `fields` that are not unknown, in order."""
    if table.schema.equals(target, check_metadata=True) and not any(has_required_child(f.type) for f in fields):
        return table
    columns: list[Any] = []
    for i, f in enumerate(fields):
        if isinstance(f.type, UnknownType):
            continue
        column: Any = table.column(i)
        wanted = target.field(len(columns)).type
        if column.type != wanted or has_required_child(f.type):
            column = pa.chunked_array([reshape(chunk, f.type, wanted) for chunk in column.chunks], wanted)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=target)


def reshape(array: Any, type_: Type, target: pa.DataType) -> Any:
    """An array of `to_arrow_type(type_)` as an array of `target`."""
    if array.type == target and not has_required_child(type_):
        return array
    wanted: Any = target
    match type_:
        case StructType(fields):
            children = struct_children(array)
            stored = [(c, f) for c, f in zip(children, fields, strict=True) if not isinstance(f.type, UnknownType)]
            made = [reshape(c, f.type, wanted.field(i).type) for i, (c, f) in enumerate(stored)]
            made = [present(c) if f.required and c.null_count else c for c, (_, f) in zip(made, stored, strict=True)]
            return struct_array(wanted, made, array.is_null())
        case ListType():
            offsets, (values,) = list_parts(array)
            element = reshape(values, type_.element, wanted.value_type)
            return nested_array(wanted, offsets, [element], array.is_null())
        case MapType():
            offsets, (keys, items) = list_parts(array)
            key = reshape(keys, type_.key, wanted.key_type)
            value = reshape(items, type_.value, wanted.item_type)
            return nested_array(wanted, offsets, [key, value], array.is_null())
        case _:
            return _leaf(array, wanted)


def has_required_child(type_: Type) -> bool:
    """Whether a struct anywhere in the type has a field that must have a value."""
    return type_.is_nested and any(
        isinstance(f.type, StructType) and any(c.required for c in f.type.fields)
        for f in (Field(id=0, name="", type=type_), *walk(type_))
    )


def present(array: Any) -> Any:
    """The array with nothing marked null.

    A required field is null only where its struct is null. Files say so at the struct, and writers want the field
    itself without nulls; what then stands in its place is never read.
    """
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(array.type, present(array.storage))
    if pa.types.is_struct(array.type):
        made: Any = pa.StructArray.from_arrays
        return made(struct_children(array), fields=list(array.type))
    if pa.types.is_list(array.type) or pa.types.is_map(array.type):
        offsets, parts = list_parts(array)
        build: Any = pa.MapArray if pa.types.is_map(array.type) else pa.ListArray
        return build.from_arrays(offsets, *parts, type=array.type)
    buffers = array.buffers()
    return pa.Array.from_buffers(array.type, len(array), [None, *buffers[1:]], null_count=0, offset=array.offset)


def struct_children(array: Any) -> list[Any]:
    """The children of a struct array, each only as long as the array, with their own nulls."""
    return [array.field(i) for i in range(array.type.num_fields)]


def list_parts(array: Any) -> tuple[Any, list[Any]]:
    """Offsets from zero, and the values they point into: one child of a list, key and item of a map.

    A null list owns no values afterwards, whatever the array kept under it.
    """
    if array.null_count:
        # Arrow may keep values under a null; a copy through `take` drops them.
        array = array.take(pa.array(range(len(array)), pa.int64())) if _has_hidden_values(array) else array
    offsets = array.offsets.to_numpy(zero_copy_only=False)
    start, stop = int(offsets[0]), int(offsets[-1])
    moved = pa.array(offsets - start, array.offsets.type).cast(pa.int32())
    children = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
    return moved, [child.slice(start, stop - start) for child in children]


def _has_hidden_values(array: Any) -> bool:
    offsets = array.offsets.to_numpy(zero_copy_only=False)
    lengths = offsets[1:] - offsets[:-1]
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    return bool(lengths[nulls].any())


def _leaf(array: Any, target: Any) -> Any:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, array)
    if pa.types.is_time64(array.type) and pa.types.is_int64(target):
        return array.view(target)
    return _compute.cast(array, target)
