"""Compressed blocks of Parquet and ORC files inflated, with a cap.

Law: the result has exactly the bytes that the block holds. Arrow's codecs fill a buffer of the size they are told, and
leave the rest as it was when the block holds less; so the size is taken from the block itself.
"""

from __future__ import annotations

import zlib
from typing import Any

from skipstone.errors import FormatViolation
from skipstone.zones.arrow import pa

_RAW_DEFLATE = -15
_GZIP_OR_ZLIB = 47


def inflate(codec: str, data: bytes, *, size_max: int, source: str) -> bytes:
    """The content of one block of `deflate` (without header), gzip, snappy, lz4_raw, zstd or brotli."""
    try:
        match codec:
            case "deflate":
                return _zlib(data, _RAW_DEFLATE, size_max)
            case "gzip":
                return _zlib(data, _GZIP_OR_ZLIB, size_max)
            case "snappy":
                return _sized(codec, data, _snappy_size(data), size_max)
            case "lz4_raw":
                return _sized(codec, data, _lz4_size(data, size_max), size_max)
            case _:
                return _stream(codec, data, size_max)
    except (pa.ArrowException, OSError, ValueError, IndexError, zlib.error) as error:
        if isinstance(error, FormatViolation):
            raise
        raise FormatViolation(f"Invalid {source}: expected a block of {codec}, got: {error}.") from error


def _zlib(data: bytes, window: int, size_max: int) -> bytes:
    inflater = zlib.decompressobj(window)
    found = inflater.decompress(data, size_max + 1)  # zero would mean without limit
    if not inflater.eof or len(found) > size_max:
        raise ValueError(f"more than {size_max} bytes, or a block without end")
    return found


def _sized(codec: str, data: bytes, size: int, size_max: int) -> bytes:
    if size > size_max:
        raise ValueError(f"{size} bytes where at most {size_max} are allowed")
    if size == 0:
        return b""
    found: bytes = pa.Codec(codec).decompress(data, decompressed_size=size, asbytes=True)
    return found


def _stream(codec: str, data: bytes, size_max: int) -> bytes:
    stream: Any
    with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
        found: bytes = stream.read(size_max + 1)
    if len(found) > size_max:
        raise ValueError(f"more than {size_max} bytes")
    return found


def _snappy_size(data: bytes) -> int:
    """The block begins with its inflated size."""
    size = 0
    for place in range(5):
        size |= (data[place] & 0x7F) << (7 * place)
        if data[place] < 0x80:
            return size
    raise ValueError("a size of more than 32 bits")


def _lz4_size(data: bytes, size_max: int) -> int:
    """The inflated size of an LZ4 block, by walking its sequences of literals and matches."""
    position = size = 0
    while position < len(data) and size <= size_max:
        token = data[position]
        position += 1
        literals, position = _lz4_length(data, position, token >> 4)
        position += literals
        size += literals
        if position >= len(data):
            break
        match, position = _lz4_length(data, position + 2, token & 0x0F)
        size += match + 4
    return size


def _lz4_length(data: bytes, position: int, length: int) -> tuple[int, int]:
    if length == 15:
        while True:
            more = data[position]
            position += 1
            length += more
            if more != 255:
                break
    return length, position
