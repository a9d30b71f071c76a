"""Parquet footers in small: what one says about its columns, and a new one around column chunks from several files.

Chunks without a dictionary are nothing but pages, so those of many row groups, laid end to end, are one chunk of one
row group. A footer about a few of them is written in microseconds, where that of a whole file takes a thousand times as
long to parse.

Source: Apache Parquet's `parquet.thrift` and Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

MAGIC: Final = b"PAR1"
PHYSICAL_TYPES: Final = (
    "BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY",
)  # fmt: skip
_TRUE, _FALSE, _BYTE, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12
_STOP: Final = b"\0"
_PLAIN, _RLE = 0, 3
_LZ4_RAW: Final = 7
_LONG_LIST: Final = 15  # from this length on, the length has bytes of its own
_SCHEMA, _NUM_CHILDREN = 2, 5  # field ids in FileMetaData and in SchemaElement


class Leaf(msgspec.Struct, kw_only=True, frozen=True):
    """A stored column: its schema elements as a footer has them, one after the other."""

    name: str
    path: tuple[str, ...]
    physical_type: int
    elements: bytes
    num_elements: int


def small_file(leaves: Sequence[Leaf], chunks: Sequence[Sequence[Any]], values: Sequence[int], num_rows: int) -> bytes:
    """A Parquet file of one row group: for each leaf the bytes of its chunks, and how many values they hold."""
    sizes = [sum(map(len, of_leaf)) for of_leaf in chunks]
    footer = _footer(leaves, sizes, values, num_rows)
    end = len(footer).to_bytes(4, "little") + MAGIC
    return b"".join([MAGIC, *(chunk for of_leaf in chunks for chunk in of_leaf), footer, end])


def _footer(leaves: Sequence[Leaf], sizes: Sequence[int], values: Sequence[int], num_rows: int) -> bytes:
    columns, offset = [], len(MAGIC)
    for leaf, size, count in zip(leaves, sizes, values, strict=True):
        columns.append(_column_chunk(leaf, offset, size, count))
        offset += size
    root = _text(4, b"schema") + _int(1, _I32, len(leaves)) + _STOP
    num_elements = 1 + sum(leaf.num_elements for leaf in leaves)
    group = _list(1, _STRUCT, columns) + _int(1, _I64, offset) + _int(1, _I64, num_rows) + _STOP
    return b"".join(
        [
            _int(1, _I32, 2),
            *(_list_head(1, _STRUCT, num_elements), root, *(leaf.elements for leaf in leaves)),
            _int(1, _I64, num_rows),
            _list(1, _STRUCT, [group]),
            _STOP,
        ]
    )


def _column_chunk(leaf: Leaf, offset: int, size: int, num_values: int) -> bytes:
    about = b"".join(
        [
            _int(1, _I32, leaf.physical_type),
            _list(1, _I32, [_zigzag(_PLAIN), _zigzag(_RLE)]),
            _list(1, _BINARY, [_counted(part.encode()) for part in leaf.path]),
            _int(1, _I32, _LZ4_RAW),
            _int(1, _I64, num_values),
            *(_int(1, _I64, size), _int(1, _I64, size)),  # the size before compression is of no use to a reader
            _int(2, _I64, offset),
            _STOP,
        ]
    )
    return _int(2, _I64, offset) + bytes([1 << 4 | _STRUCT]) + about + _STOP


def _int(step: int, type_: int, value: int) -> bytes:
    return bytes([step << 4 | type_]) + _zigzag(value)


def _text(step: int, value: bytes) -> bytes:
    return bytes([step << 4 | _BINARY]) + _counted(value)


def _list(step: int, type_: int, items: Sequence[bytes]) -> bytes:
    return _list_head(step, type_, len(items)) + b"".join(items)


def _list_head(step: int, type_: int, size: int) -> bytes:
    if size < _LONG_LIST:
        return bytes([step << 4 | _LIST, size << 4 | type_])
    return bytes([step << 4 | _LIST, _LONG_LIST << 4 | type_]) + _varint(size)


def _counted(value: bytes) -> bytes:
    return _varint(len(value)) + value


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def column_elements(footer: bytes) -> list[tuple[bytes, int]]:
    """For each top-level column of a footer the bytes of its schema elements, and how many there are."""
    at, field_id = 0, 0
    while True:
        type_, field_id, at = _field(footer, at, field_id)
        if field_id == _SCHEMA:
            break
        at = _skip(footer, at, type_)
    num_elements, _, at = _list_size(footer, at)
    ends, children = [], []
    for _ in range(num_elements):
        start, at = at, _skip(footer, at, _STRUCT)
        ends.append(at)
        children.append(_num_children(footer, start))
    found, place = [], 1
    while place < num_elements:
        last = place
        left = children[place]
        while left:
            last += 1
            left += children[last] - 1
        found.append((footer[ends[place - 1] : ends[last]], last - place + 1))
        place = last + 1
    return found


def _num_children(data: bytes, at: int) -> int:
    field_id = 0
    while True:
        type_, field_id, at = _field(data, at, field_id)
        if type_ == 0:
            return 0
        if field_id == _NUM_CHILDREN:
            return _unsigned(data, at)[0] >> 1
        at = _skip(data, at, type_)


def _field(data: bytes, at: int, before: int) -> tuple[int, int, int]:
    """Type, id and start of the next field of a struct; type 0 ends it."""
    head = data[at]
    at += 1
    if head >> 4 or not head:
        return head & 15, before + (head >> 4), at
    number, at = _unsigned(data, at)
    return head & 15, number >> 1, at


def _skip(data: bytes, at: int, type_: int) -> int:
    """Where a value ends."""
    match type_:
        case 1 | 2:  # a field's type tells which
            return at
        case 3:
            return at + 1
        case 4 | 5 | 6:
            return _unsigned(data, at)[1]
        case 7:
            return at + 8
        case 8:
            size, at = _unsigned(data, at)
            return at + size
        case 9 | 10:
            size, item, at = _list_size(data, at)
            for _ in range(size):
                at = _skip(data, at, 3 if item <= _FALSE else item)
            return at
        case 12:
            field_id = 0
            while True:
                inner, field_id, at = _field(data, at, field_id)
                if inner == 0:
                    return at
                at = _skip(data, at, inner)
        case _:
            raise ValueError(f"no schema element has a value of type {type_}")


def _list_size(data: bytes, at: int) -> tuple[int, int, int]:
    head = data[at]
    if head >> 4 == _LONG_LIST:
        size, at = _unsigned(data, at + 1)
        return size, head & 15, at
    return head >> 4, head & 15, at + 1


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
