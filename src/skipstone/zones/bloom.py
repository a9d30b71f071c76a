"""Split-block Bloom filters of Parquet column chunks: proof that none of some values is there.

A filter never forgets a value, so "not there" is a proof and "there" is none. It proves nothing about null and NaN.
Literals are hashed as the file stores the value: in its physical type, unit and width. A literal that no stored value
equals is not there either; one that many stored values equal proves nothing.

Source: Apache Parquet's `BloomFilter.md`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation
from skipstone.metadata.types import UuidType, Value
from skipstone.predicate.nodes import Column, Compare, In, Leaf, Op
from skipstone.zones.arrow import pa
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.parquet_columns import StoredColumn
from skipstone.zones.build.parquet_structures import Span, parse_bloom_header
from skipstone.zones.build.plain_values import FIXED_WIDTH
from skipstone.zones.xxhash64 import xxh64

_BLOCK_BYTES: Final = 32
_HEADER_BYTES: Final = 64
_SALT: Final = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], dtype=np.uint32
)
# A filter up to this size is read whole; of a larger one only the blocks that are asked for, if they are few.
_WHOLE_BYTES_MAX: Final = 1 << 20
_BLOCKS_READ_MAX: Final = 32
_DAY: Final = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_EXACT: Final = Context(prec=100)  # more digits than any decimal of the format has
_NANOS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def proves_absent(file: FileBytes, span: Span, hashes: npt.NDArray[np.uint64], *, strict: bool = False) -> bool:
    """Whether the filter at a place proves that no value with one of these hashes is in the column chunk.

    A damaged filter proves nothing; with `strict` it is a FormatViolation.
    """
    try:
        return _proves_absent(file, span, hashes)
    except FormatViolation:
        if strict:
            raise
        return False


def _proves_absent(file: FileBytes, span: Span, hashes: npt.NDArray[np.uint64]) -> bool:
    source = f"Bloom filter in {file.source}"
    told = span.length if 0 < span.length <= _WHOLE_BYTES_MAX else _HEADER_BYTES
    data = file.piece(span.offset, min(told, max(file.size - span.offset, 0)), source)
    header = parse_bloom_header(data, source=source)
    if not header.is_split_block_xxhash:
        return False  # some other kind of filter, made by a later version of the format
    if header.num_bytes < _BLOCK_BYTES or header.num_bytes % _BLOCK_BYTES:
        raise FormatViolation(f"Invalid {source}: expected blocks of {_BLOCK_BYTES} bytes, got {header.num_bytes}.")
    start = span.offset + header.body_offset
    if start + header.num_bytes > file.size:
        raise FormatViolation(f"Invalid {source}: expected {header.num_bytes} bytes within the file.")
    chosen = block_numbers(hashes, header.num_bytes // _BLOCK_BYTES)
    if header.num_bytes <= _WHOLE_BYTES_MAX:
        body = data[header.body_offset : header.body_offset + header.num_bytes]
        if len(body) < header.num_bytes:
            body = file.piece(start, header.num_bytes, source)
        blocks = np.frombuffer(body, "<u4").reshape(-1, 8)[chosen]
    elif len(hashes) <= _BLOCKS_READ_MAX:
        pieces = [file.piece(start + int(b) * _BLOCK_BYTES, _BLOCK_BYTES, source) for b in chosen]
        blocks = np.frombuffer(b"".join(pieces), "<u4").reshape(-1, 8)
    else:
        return False
    return not bool(_found(blocks, hashes).any())


def block_numbers(hashes: npt.NDArray[np.uint64], num_blocks: int) -> npt.NDArray[np.int64]:
    """The one block each hash belongs to: its upper half, scaled to the number of blocks."""
    numbers: npt.NDArray[np.int64] = (((hashes >> np.uint64(32)) * np.uint64(num_blocks)) >> np.uint64(32)).astype(
        np.int64
    )
    return numbers


def _found(blocks: npt.NDArray[Any], hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """A value may be there if its bit is set in each of the eight words of its block."""
    keys = (hashes & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    masks = np.uint32(1) << ((keys[:, None] * _SALT[None, :]) >> np.uint32(27))
    return np.asarray(((blocks & masks) == masks).all(axis=1))


def literal_hashes(leaf: Leaf, column: StoredColumn) -> npt.NDArray[np.uint64] | None:
    """Hashes of everything the file may store for rows that match; None if a filter cannot decide the leaf.

    An empty result means that no stored value matches at all.
    """
    match leaf:
        case Compare(Op.EQ, Column(), value):
            literals: Iterable[Value] = (value,)
        case In(Column(), values):
            literals = values
        case _:
            return None
    stored: list[bytes] = []
    for literal in literals:
        forms = stored_forms(column, literal)
        if forms is None:
            return None
        stored.extend(forms)
    return np.array([xxh64(form) for form in stored], dtype=np.uint64)


def stored_forms(column: StoredColumn, literal: Value) -> list[bytes] | None:
    """The plain encoding of every stored value that reads as the literal; None where that is too many, or unsure."""
    t, physical = column.arrow_type, column.physical
    if isinstance(literal, float):
        return _float_forms(literal, physical)
    if isinstance(literal, Decimal):
        return _decimal_forms(literal, column)
    if isinstance(literal, str | bytes):
        return _byte_forms(literal.encode() if isinstance(literal, str) else literal, column)
    if isinstance(column.type, UuidType):
        return _byte_forms(literal.bytes, column)
    if isinstance(literal, bool) or physical not in ("INT32", "INT64"):
        return None
    number = _integer_as_stored(literal, column)
    if number is None:
        return None
    layout = FIXED_WIDTH[physical]
    bits = layout.size * 8
    low, high = (0, 2**bits) if pa.types.is_unsigned_integer(t) else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return [layout.pack(n - 2**bits if n >= 2 ** (bits - 1) else n) for n in number if low <= n < high]


def _integer_as_stored(literal: int, column: StoredColumn) -> list[int] | None:
    """The stored numbers that read as an integer, date, time or timestamp."""
    t, wanted = column.arrow_type, column.type
    if pa.types.is_integer(t) or pa.types.is_date32(t):
        if pa.types.is_date32(t) and str(wanted).startswith("timestamp"):
            day = _DAY["ns" if str(wanted).endswith("_ns") else "us"]
            return [literal // day] if literal % day == 0 else []
        return [literal]
    if pa.types.is_timestamp(t) or pa.types.is_time(t):
        have, want = _NANOS[t.unit], 1 if str(wanted).endswith("_ns") else 1_000
        if have < want:
            return None  # many stored moments read as this one
        factor = have // want
        return [literal // factor] if literal % factor == 0 else []
    return None


def _float_forms(literal: float, physical: str) -> list[bytes] | None:
    if math.isnan(literal) or physical not in ("FLOAT", "DOUBLE"):
        return None
    if literal == 0:
        return [FIXED_WIDTH[physical].pack(zero) for zero in (0.0, -0.0)]
    if physical == "FLOAT":
        try:
            packed = struct.pack("<f", literal)
        except OverflowError:
            return []
        return [packed] if struct.unpack("<f", packed)[0] == literal else []
    return [struct.pack("<d", literal)]


def _decimal_forms(literal: Decimal, column: StoredColumn) -> list[bytes] | None:
    if not pa.types.is_decimal(column.arrow_type):
        return None
    scaled = literal.scaleb(column.arrow_type.scale, context=_EXACT)
    unscaled = int(scaled)
    if unscaled != scaled:
        return []
    if column.physical in FIXED_WIDTH:
        layout = FIXED_WIDTH[column.physical]
        limit = 2 ** (layout.size * 8 - 1)
        return [layout.pack(unscaled)] if -limit <= unscaled < limit else []
    if column.physical == "FIXED_LEN_BYTE_ARRAY":
        limit = 2 ** (column.length * 8 - 1)
        return [unscaled.to_bytes(column.length, "big", signed=True)] if -limit <= unscaled < limit else []
    return None  # bytes of any width can hold the same number


def _byte_forms(literal: bytes, column: StoredColumn) -> list[bytes] | None:
    if pa.types.is_decimal(column.arrow_type) or pa.types.is_float16(column.arrow_type):
        return None
    if column.physical == "FIXED_LEN_BYTE_ARRAY":
        return [literal] if len(literal) == column.length else []
    return [literal] if column.physical == "BYTE_ARRAY" else None
