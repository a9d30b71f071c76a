"""Inflating one block of an Avro container.

Law: no more than `room` bytes are ever produced; a block that holds more is refused as a decompression bomb.

Spec (Apache Avro): "Object Container Files", required and optional codecs.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from skipstone.metadata.avro.varint import Damage

_LZMA_MEMORY_BYTES_MAX: Final = 128 * 1024 * 1024
_CRC_BYTES: Final = 4
_ADLER_BYTES: Final = 4
_SNAPPY_LENGTH_BYTES_MAX: Final = 5


def _null(data: memoryview, room: int) -> bytes:
    _check_room(len(data), room)
    return bytes(data)


def _deflate(data: memoryview, room: int) -> bytes:
    inflater = zlib.decompressobj(-15)
    out = inflater.decompress(data, room + 1)
    # PyIceberg cuts raw deflate out of a zlib stream and leaves most of its checksum behind.
    rest = inflater.unused_data
    return _finished(out, inflater.eof, rest[_ADLER_BYTES:], room)


def _bzip2(data: memoryview, room: int) -> bytes:
    inflater = bz2.BZ2Decompressor()
    out = inflater.decompress(data, room + 1)
    return _finished(out, inflater.eof, inflater.unused_data, room)


def _xz(data: memoryview, room: int) -> bytes:
    inflater = lzma.LZMADecompressor(memlimit=_LZMA_MEMORY_BYTES_MAX)
    out = inflater.decompress(data, room + 1)
    return _finished(out, inflater.eof, inflater.unused_data, room)


def _zstandard(data: memoryview, room: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), "zstd") as stream:
        out: bytes = stream.read(room + 1)
    _check_room(len(out), room)
    return out


def _snappy(data: memoryview, room: int) -> bytes:
    if len(data) < _CRC_BYTES:
        raise Damage(f"expected a snappy block that ends in a CRC-32, got {len(data)} bytes")
    body, expected = data[:-_CRC_BYTES], int.from_bytes(data[-_CRC_BYTES:], "big")
    length = _snappy_length(body)
    _check_room(length, room)
    out: bytes = pa.Codec("snappy").decompress(body, decompressed_size=length, asbytes=True)
    if (got := zlib.crc32(out)) != expected:
        raise Damage(f"expected CRC-32 {expected:08x} of the inflated block, got {got:08x}")
    return out


def _snappy_length(body: memoryview) -> int:
    """Snappy opens with the inflated length as a plain varint."""
    length = 0
    for i in range(min(_SNAPPY_LENGTH_BYTES_MAX, len(body))):
        length |= (body[i] & 0x7F) << (7 * i)
        if body[i] < 0x80:
            return length
    raise Damage("expected a snappy length of at most 32 bits, got a longer or cut one")


def _finished(out: bytes, at_end: bool, unused: bytes, room: int) -> bytes:
    _check_room(len(out), room)
    if not at_end:
        raise Damage("expected a complete compressed block, got a cut one")
    if unused:
        raise Damage(f"expected the compressed block to end with its stream, got {len(unused)} bytes after it")
    return out


def _check_room(size: int, room: int) -> None:
    if size > room:
        raise Damage(f"expected at most {room} more inflated bytes, got more (a decompression bomb?)")


CODECS: Final[dict[str, Callable[[memoryview, int], bytes]]] = {
    "null": _null,
    "deflate": _deflate,
    "zstandard": _zstandard,
    "snappy": _snappy,
    "bzip2": _bzip2,
    "xz": _xz,
}


def inflate(codec: str, data: memoryview, room: int) -> bytes:
    """The block's bytes; raises Damage when they are broken or more than `room`."""
    try:
        return CODECS[codec](data, room)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, pa.ArrowException) as error:
        raise Damage(f"expected a block compressed with {codec}, got broken bytes ({error})") from error
