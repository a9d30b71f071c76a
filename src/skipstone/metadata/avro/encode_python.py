"""The reference encoder: nodes to Avro bytes in plain Python, one value at a time.

It serves small tables, where starting the compiled encoder would cost more than it saves, and it defines what
`encode_numba` must produce byte for byte.

Avro: "Binary encoding".
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, assert_never

from skipstone.metadata.avro.encode_columns import (
    ArrayNode,
    BytesNode,
    Node,
    NullNode,
    OptionalNode,
    RawNode,
    RecordNode,
    VarintNode,
)

_END_OF_ITEMS: Final = b"\x00"
_ONE_BYTE: Final = tuple(bytes((i,)) for i in range(128))


def varint(value: int) -> bytes:
    """A 64-bit integer in zig-zag variable-length form."""
    rest = (value << 1) ^ (value >> 63)
    if rest < 128:
        return _ONE_BYTE[rest]
    if rest < 16384:
        return bytes((rest & 127 | 128, rest >> 7))
    out = bytearray()
    while rest >= 128:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def with_length(data: bytes) -> bytes:
    return varint(len(data)) + data


def encode_rows(node: Node) -> list[bytes]:
    """The encoded form of every element of a node."""
    match node:
        case NullNode():
            return [b""] * node.length
        case VarintNode():
            return [varint(v) for v in node.values.tolist()]
        case RawNode():
            data, width = node.data.tobytes(), node.width
            return [data[i * width : (i + 1) * width] for i in range(node.length)]
        case BytesNode():
            offsets = node.offsets.tolist()
            start = offsets[0]
            data = node.data[start : offsets[-1]].tobytes()
            return [with_length(data[a - start : b - start]) for a, b in pairwise(offsets)]
        case OptionalNode():
            return _optional(node)
        case RecordNode():
            parts = [encode_rows(child) for child in node.children]
            return [b"".join(row) for row in zip(*parts)] if parts else [b""] * node.length
        case ArrayNode():
            items, offsets = encode_rows(node.child), node.offsets.tolist()
            return [_items(items[a:b]) for a, b in pairwise(offsets)]
        case _:
            assert_never(node)


def _optional(node: OptionalNode) -> list[bytes]:
    null, tag = varint(node.null_tag), varint(1 - node.null_tag)
    if node.child is None:
        return [null] * node.length
    if node.valid is None:
        return [tag + value for value in encode_rows(node.child)]
    values = iter(encode_rows(node.child))
    return [tag + next(values) if valid else null for valid in node.valid.tolist()]


def _items(items: list[bytes]) -> bytes:
    return varint(len(items)) + b"".join(items) + _END_OF_ITEMS if items else _END_OF_ITEMS
