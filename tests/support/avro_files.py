"""Avro files made by hand, so that tests can write what no library writes: sized and split list blocks, and damage.

A schema is Avro's JSON. Values are what the bytes say: an int for a date, bytes for a decimal.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

SYNC: Final = bytes(range(16))
# How lists are cut into blocks: one block, one that says its size, or one for each item with sizes in turn.
PLAIN: Final = "plain"
SIZED: Final = "sized"
SPLIT: Final = "split"


def zigzag(value: int) -> bytes:
    raw = ((value << 1) ^ (value >> 63)) & (2**64 - 1)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def sized(data: bytes) -> bytes:
    return zigzag(len(data)) + data


def encode_value(schema: Any, value: Any, lists: str = PLAIN) -> bytes:
    """One value; a union value is None or the other branch's."""
    if isinstance(schema, list):
        index = schema.index("null") if value is None else next(i for i, b in enumerate(schema) if b != "null")
        return zigzag(index) + encode_value(schema[index], value, lists)
    kind = schema["type"] if isinstance(schema, dict) else schema
    match kind:
        case "null":
            return b""
        case "boolean":
            return bytes([value])
        case "int" | "long":
            return zigzag(value)
        case "float":
            return struct.pack("<f", value)
        case "double":
            return struct.pack("<d", value)
        case "string":
            return sized(value.encode())
        case "bytes":
            return sized(value)
        case "fixed":
            return bytes(value)
        case "enum":
            return zigzag(schema["symbols"].index(value))
        case "array":
            return _list([encode_value(schema["items"], v, lists) for v in value], lists)
        case "map":
            return _list([sized(k.encode()) + encode_value(schema["values"], v, lists) for k, v in value], lists)
        case "record":
            return b"".join(encode_value(f["type"], value[f["name"]], lists) for f in schema["fields"])
    raise AssertionError(f"no such type: {kind}")


def _list(items: Sequence[bytes], lists: str) -> bytes:
    if not items:
        return zigzag(0)
    if lists == PLAIN:
        return zigzag(len(items)) + b"".join(items) + zigzag(0)
    if lists == SIZED:
        return zigzag(-len(items)) + sized(b"".join(items)) + zigzag(0)
    blocks = [zigzag(-1) + sized(item) if i % 2 else zigzag(1) + item for i, item in enumerate(items)]
    return b"".join(blocks) + zigzag(0)


def deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


def container(
    schema: Any,
    blocks: Iterable[tuple[int, bytes]],
    *,
    codec: str = "null",
    metadata: Mapping[str, bytes] | None = None,
) -> bytes:
    """A file of blocks given as record count and uncompressed bytes; only `null` and `deflate` compress here."""
    pairs = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode(), **(metadata or {})}
    head = zigzag(len(pairs)) + b"".join(sized(k.encode()) + sized(v) for k, v in pairs.items()) + zigzag(0)
    out = [b"Obj\x01", head, SYNC]
    for count, data in blocks:
        out += [zigzag(count), sized(deflate(data) if codec == "deflate" else data), SYNC]
    return b"".join(out)


def avro_file(
    schema: Any,
    records: Sequence[Any],
    *,
    lists: str = PLAIN,
    block_records: int = 100,
    codec: str = "null",
    metadata: Mapping[str, bytes] | None = None,
) -> bytes:
    blocks = []
    for start in range(0, len(records), block_records):
        part = records[start : start + block_records]
        blocks.append((len(part), b"".join(encode_value(schema, r, lists) for r in part)))
    return container(schema, blocks, codec=codec, metadata=metadata)
