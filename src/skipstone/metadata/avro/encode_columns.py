"""Arrow columns laid out by an Avro schema: the tree that both encoders walk.

Each node holds dense values in the form Avro writes them (integers, raw bytes, byte strings, item offsets); nulls live
only in `Optional` nodes, whose child has one element per non-null value. So the encoders need no null handling and no
knowledge of Arrow types. A column that does not fit the schema is refused here, before a byte is written.

Avro: "Schema Declaration", "Logical Types".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.avro.encode_leaves import (
    Column,
    bytes_of,
    decimal_bytes,
    enum_ordinals,
    fixed_bytes,
    floats_of,
    integers_of,
)

Ints: TypeAlias = npt.NDArray[np.int64]
RawBytes: TypeAlias = npt.NDArray[np.uint8]

_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
# Deeper schemas are refused rather than recursed into.
DEPTH_MAX: Final = 64


@dataclass(slots=True, eq=False)
class NullNode:
    """Values that take no bytes."""

    length: int


@dataclass(slots=True, eq=False)
class VarintNode:
    """Zig-zag variable-length integers: int, long, enum and what is stored as them."""

    values: Ints


@dataclass(slots=True, eq=False)
class RawNode:
    """Values of one width, written as they are: boolean, float, double, fixed."""

    data: RawBytes
    width: int
    length: int


@dataclass(slots=True, eq=False)
class BytesNode:
    """Byte strings with a length in front: bytes and string. `offsets` has one element more than there are values."""

    offsets: Ints
    data: RawBytes


@dataclass(slots=True, eq=False)
class OptionalNode:
    """A union of null and one other type. `child` has one element per valid position.

    `valid` is None when every position is valid; `child` is None when no position is.
    """

    length: int
    valid: npt.NDArray[np.bool_] | None
    null_tag: int
    child: Node | None


@dataclass(slots=True, eq=False)
class RecordNode:
    children: tuple[Node, ...]
    length: int


@dataclass(slots=True, eq=False)
class ArrayNode:
    """Items of all rows one after another; row i owns items offsets[i] to offsets[i + 1], starting at zero."""

    offsets: Ints
    child: Node


Node: TypeAlias = NullNode | VarintNode | RawNode | BytesNode | OptionalNode | RecordNode | ArrayNode


def lay_out(schema: Mapping[str, Any], batch: pa.RecordBatch) -> RecordNode:
    """The node tree of a batch whose columns are named like the record's fields."""
    if schema.get("type") != "record":
        raise InvalidInput(f"Cannot encode rows as Avro: expected a record schema, got {schema.get('type')!r}.")
    columns = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
    names: dict[str, Any] = {}
    return _record(schema, columns, batch.num_rows, "", names, 0)


def _record(
    schema: Mapping[str, Any],
    columns: Mapping[str, Column],
    length: int,
    place: str,
    names: dict[str, Any],
    depth: int,
) -> RecordNode:
    names[schema["name"]] = schema
    left = set(columns)
    children: list[Node] = []
    for f in schema["fields"]:
        name = f.get("iceberg-field-name", f["name"])
        column = columns.get(name)
        if column is None:
            name = f["name"]
            column = columns.get(name)
        if column is None:
            column = pa.nulls(length)
        else:
            left.discard(name)
        children.append(_node(f["type"], column, f"{place}.{name}" if place else name, names, depth + 1))
    if left:
        raise InvalidInput(
            f"Cannot encode '{place or 'the table'}' as Avro record {schema['name']}: expected the columns "
            f"{', '.join(f['name'] for f in schema['fields'])}, got also {', '.join(sorted(left))}."
        )
    return RecordNode(tuple(children), length)


def _node(schema: Any, column: Column, place: str, names: dict[str, Any], depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise Unsupported(f"Cannot encode '{place}' as Avro: expected at most {DEPTH_MAX} levels of nesting.")
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if isinstance(schema, list):
        return _optional(schema, column, place, names, depth)
    if isinstance(schema, str) and schema not in _PRIMITIVES:
        if schema not in names:
            raise InvalidInput(f"Invalid Avro schema at '{place}': expected a known type, got {schema!r}.")
        schema = names[schema]
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "null":
        return NullNode(len(column))
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InvalidInput(f"Cannot encode '{place}' as Avro {kind}: expected a value everywhere, got null at {row}.")
    if not isinstance(schema, str):
        match kind:
            case "record":
                _expect(pa.types.is_struct(column.type), place, "a struct", column)
                children = dict(zip((f.name for f in column.type), column.flatten(), strict=True))
                return _record(schema, children, len(column), place, names, depth)
            case "array" | "map":
                return _array(schema, column, place, names, depth)
            case _:
                pass
    return _leaf(kind, schema if isinstance(schema, dict) else {}, column, place, names)


def _optional(schema: list[Any], column: Column, place: str, names: dict[str, Any], depth: int) -> Node:
    if len(schema) != 2 or "null" not in schema:
        raise Unsupported(f"Cannot encode '{place}' as Avro: expected a union of null and one type, got {schema}.")
    null_tag = schema.index("null")
    nulls = column.null_count
    if nulls == len(column):
        # The type may be declared here and named later.
        _declare(schema[1 - null_tag], names)
        return OptionalNode(len(column), np.zeros(len(column), dtype=np.bool_), null_tag, None)
    if nulls:
        valid = column.is_valid()
        child = _node(schema[1 - null_tag], column.filter(valid), place, names, depth + 1)
        return OptionalNode(len(column), valid.to_numpy(zero_copy_only=False), null_tag, child)
    child = _node(schema[1 - null_tag], column, place, names, depth + 1)
    return OptionalNode(len(column), None, null_tag, child)


def _declare(schema: Any, names: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _declare(branch, names)
    elif isinstance(schema, dict):
        if "name" in schema:
            names[schema["name"]] = schema
        for f in schema.get("fields", ()):
            _declare(f["type"], names)
        _declare(schema.get("items"), names)
        _declare(schema.get("values"), names)


def _array(schema: Mapping[str, Any], column: Column, place: str, names: dict[str, Any], depth: int) -> Node:
    if isinstance(column, pa.FixedSizeListArray):
        column = column.cast(pa.list_(column.type.value_field))
    is_map = pa.types.is_map(column.type)
    is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    _expect(is_map or (is_list and schema["type"] == "array"), place, "a list or map", column)
    absolute = column.offsets.to_numpy().astype(np.int64)
    start, stop = int(absolute[0]), int(absolute[-1])
    offsets = absolute - start
    if not is_map:
        items = _node(schema["items"], column.values.slice(start, stop - start), f"{place}[]", names, depth + 1)
        return ArrayNode(offsets, items)
    keys, values = column.keys.slice(start, stop - start), column.items.slice(start, stop - start)
    if schema["type"] == "map":
        entry: Mapping[str, Any] = {
            "name": f"{place}{{}}",
            "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": schema["values"]}],
        }
    else:
        entry = schema["items"]
        if not isinstance(entry, dict) or [f["name"] for f in entry.get("fields", ())] != ["key", "value"]:
            raise InvalidInput(f"Cannot encode map '{place}' as Avro: expected an array of (key, value) records.")
    return ArrayNode(
        offsets, _record(entry, {"key": keys, "value": values}, stop - start, f"{place}[]", names, depth + 1)
    )


def _leaf(kind: str, schema: Mapping[str, Any], column: Column, place: str, names: dict[str, Any]) -> Node:
    logical = schema.get("logicalType")
    match kind:
        case "boolean":
            _expect(pa.types.is_boolean(column.type), place, "a boolean", column)
            return RawNode(column.cast(pa.uint8()).to_numpy(), 1, len(column))
        case "int" | "long":
            return VarintNode(integers_of(column, logical, 32 if kind == "int" else 64, place))
        case "float" | "double":
            width = 4 if kind == "float" else 8
            return RawNode(floats_of(column, width, place), width, len(column))
        case "bytes" if logical == "decimal":
            offsets, data = decimal_bytes(column, schema, None, place)
            return BytesNode(offsets, data)
        case "bytes" | "string":
            return BytesNode(*bytes_of(column, kind, place))
        case "fixed":
            names[schema["name"]] = schema
            width = schema["size"]
            if logical == "decimal":
                return RawNode(decimal_bytes(column, schema, width, place)[1], width, len(column))
            return RawNode(fixed_bytes(column, width, place), width, len(column))
        case "enum":
            names[schema["name"]] = schema
            return VarintNode(enum_ordinals(column, schema["symbols"], place))
        case _:
            raise Unsupported(f"Cannot encode '{place}' as Avro: expected a type of the Avro spec, got {kind!r}.")


def _expect(holds: bool, place: str, expected: str, column: Column) -> None:
    if not holds:
        raise InvalidInput(f"Cannot encode '{place}' as Avro: expected {expected} column, got {column.type}.")


__all__ = [
    "ArrayNode", "BytesNode", "Node", "NullNode", "OptionalNode", "RawNode", "RecordNode", "VarintNode", "lay_out",
]  # fmt: skip
