"""Single LZ4 and Zstandard frames: inflated under a cap, and checked against the size they announce.

Law: memory stays below `bytes_max` whatever a frame claims or holds.

Puffin spec: "Compression codecs".
"""

from __future__ import annotations

from typing import Final, Literal, cast

import pyarrow as pa

from skipstone.errors import FormatViolation, InvalidInput

CODECS: Final = ("lz4", "zstd")
# pyarrow writes LZ4 frames without their content size, which the format asks for: lz4 is read only.
WRITABLE_CODECS: Final = ("zstd",)

_LZ4_MAGIC: Final = bytes.fromhex("04224d18")
_ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")
_CHUNK_BYTES: Final = 4 * 1024 * 1024


def compress(codec: str, data: bytes) -> bytes:
    """One frame that holds `data` and announces its size."""
    if codec not in WRITABLE_CODECS:
        raise InvalidInput(
            f"Cannot compress with codec {codec!r}: expected {' or '.join(WRITABLE_CODECS)} or none. Choose one."
        )
    return pa.Codec("zstd").compress(data, asbytes=True)


def decompress(codec: str, data: bytes, *, bytes_max: int, where: str) -> bytes:
    """The content of one frame. `where` opens the message when the frame is damaged or too large."""
    announced = _announced_bytes(codec, data, where)
    if announced is not None and announced > bytes_max:
        raise FormatViolation(
            f"Invalid {where}: expected at most {bytes_max} bytes inflated, got {announced} announced."
        )
    content = _inflate(codec, data, bytes_max if announced is None else announced, where)
    if announced is not None and len(content) != announced:
        raise FormatViolation(f"Invalid {where}: expected {announced} bytes inflated, got {len(content)}.")
    return content


def _inflate(codec: str, data: bytes, bytes_max: int, where: str) -> bytes:
    """Chunk by chunk, so that a frame that lies about its size is stopped one chunk past the limit."""
    chunks: list[bytes] = []
    total = 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), cast(Literal["lz4", "zstd"], codec)) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                total += len(chunk)
                if total > bytes_max:
                    raise FormatViolation(f"Invalid {where}: expected at most {bytes_max} bytes inflated, got more.")
                chunks.append(chunk)
    except (pa.ArrowException, OSError) as e:
        raise FormatViolation(f"Invalid {where}: expected one {codec} frame, got: {e}.") from e
    return b"".join(chunks)


def _announced_bytes(codec: str, data: bytes, where: str) -> int | None:
    """The content size in the frame's header. The format wants it there; frames without it are read all the same."""
    match codec:
        case "lz4":
            return _lz4_content_bytes(data, where)
        case "zstd":
            return _zstd_content_bytes(data, where)
        case _:
            raise FormatViolation(f"Invalid {where}: expected codec {' or '.join(CODECS)}, got {codec!r}.")


def _lz4_content_bytes(data: bytes, where: str) -> int | None:
    _check_frame(data, _LZ4_MAGIC, 7, "lz4", where)
    has_content_size = data[4] & 0x08
    if not has_content_size:
        return None
    _check_frame(data, _LZ4_MAGIC, 15, "lz4", where)
    return int.from_bytes(data[6:14], "little")


def _zstd_content_bytes(data: bytes, where: str) -> int | None:
    _check_frame(data, _ZSTD_MAGIC, 6, "zstd", where)
    descriptor = data[4]
    is_single_segment = bool(descriptor & 0x20)
    width = (1 if is_single_segment else 0, 2, 4, 8)[descriptor >> 6]
    if width == 0:
        return None
    start = 5 + (0 if is_single_segment else 1) + (0, 1, 2, 4)[descriptor & 3]
    _check_frame(data, _ZSTD_MAGIC, start + width, "zstd", where)
    size = int.from_bytes(data[start : start + width], "little")
    return size + 256 if width == 2 else size


def _check_frame(data: bytes, magic: bytes, bytes_min: int, codec: str, where: str) -> None:
    if data[:4] != magic or len(data) < bytes_min:
        raise FormatViolation(
            f"Invalid {where}: expected one {codec} frame, got {len(data)} bytes that start with {data[:8].hex()!r}."
        )
