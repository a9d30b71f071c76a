"""The tail of an ORC file: types, stripes, and the statistics of each stripe, which pyarrow does not show.

Laws: structures are read with caps; one that contradicts the format is one FormatViolation.

Source: the ORC specification, "File Tail", and `orc_proto.proto`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from skipstone.errors import FormatViolation
from skipstone.zones.build.file_bytes import STRUCTURE_BYTES_MAX, FileBytes
from skipstone.zones.build.inflate import inflate
from skipstone.zones.build.protobuf import Message, parse_message, parse_packed

_POSTSCRIPT_BYTES_MAX: Final = 256
_MAGIC: Final = b"ORC"
_CODECS: Final = {1: "deflate", 2: "snappy", 4: "lz4_raw", 5: "zstd", 6: "brotli"}
KINDS: Final = (
    "boolean", "byte", "short", "int", "long", "float", "double", "string", "binary", "timestamp", "list", "map",
    "struct", "union", "decimal", "date", "varchar", "char", "timestamp_instant",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcTypeNode:
    """A type of the file; its number is that of its column, its children are numbers of types.

    Precision and scale are those of a decimal.
    """

    kind: str
    children: tuple[int, ...]
    precision: int
    scale: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcStripe:
    """Where a stripe lies: index and data streams, then its footer."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcTail:
    writer_version: int
    is_julian: bool
    codec: int
    block_size: int
    types: tuple[OrcTypeNode, ...]
    stripes: tuple[OrcStripe, ...]
    stripe_rows: tuple[int, ...]
    stripe_statistics: tuple[tuple[Message, ...], ...]  # of each stripe, by column; empty where the file has none


def read_orc_tail(file: FileBytes) -> OrcTail:
    source = f"ORC tail of {file.source}"
    end = file.piece(max(0, file.size - _POSTSCRIPT_BYTES_MAX), min(file.size, _POSTSCRIPT_BYTES_MAX), source)
    if not end or end[-1] + 1 > len(end):
        raise FormatViolation(f"Invalid {source}: expected a postscript, got {len(end)} bytes.")
    postscript = parse_message(end[len(end) - 1 - end[-1] : -1], source=source)
    if _first(postscript, 8000) != _MAGIC:
        raise FormatViolation(f"Invalid {source}: expected the magic ORC, got {_first(postscript, 8000)!r}.")
    codec, block_size = _number(postscript, 2), _number(postscript, 3) or 256 << 10
    footer_length, metadata_length = _number(postscript, 1), _number(postscript, 5)
    footer_end = file.size - 1 - end[-1]
    footer_at = footer_end - footer_length
    footer, metadata = (
        parse_message(inflated(file.piece(at, length, source), codec, block_size, source), source=source)
        for at, length in ((footer_at, footer_length), (footer_at - metadata_length, metadata_length))
    )
    stripes = [parse_message(_bytes(s, source), source=source) for s in footer.get(3, [])]
    return OrcTail(
        writer_version=_number(postscript, 6),
        is_julian=_number(footer, 11) == 1,
        codec=codec,
        block_size=block_size,
        types=tuple(_type(_bytes(t, source), source) for t in footer.get(4, [])),
        stripes=tuple(_stripe(s) for s in stripes),
        stripe_rows=tuple(_number(s, 5) for s in stripes),
        stripe_statistics=tuple(_statistics(_bytes(s, source), source) for s in metadata.get(1, [])),
    )


def _type(data: bytes, source: str) -> OrcTypeNode:
    message = parse_message(data, source=source)
    kind = _number(message, 1)
    return OrcTypeNode(
        kind=KINDS[kind] if kind < len(KINDS) else "other",
        children=tuple(parse_packed(message.get(2, []), source=source)),
        precision=_number(message, 5),
        scale=_number(message, 6),
    )


def _statistics(data: bytes, source: str) -> tuple[Message, ...]:
    columns = parse_message(data, source=source).get(1, [])
    return tuple(parse_message(_bytes(c, source), source=source) for c in columns)


def _stripe(message: Message) -> OrcStripe:
    return OrcStripe(
        offset=_number(message, 1),
        index_length=_number(message, 2),
        data_length=_number(message, 3),
        footer_length=_number(message, 4),
    )


def inflated(data: bytes, codec: int, block_size: int, source: str, *, size_max: int = STRUCTURE_BYTES_MAX) -> bytes:
    """The content of a compressed stream: blocks with a header of three bytes, each compressed or as it is."""
    if codec == 0:
        return data
    if codec not in _CODECS or block_size > STRUCTURE_BYTES_MAX:
        raise FormatViolation(f"Cannot read {source}: compression {codec} with blocks of {block_size} bytes.")
    parts: list[bytes] = []
    position = total = 0
    while position < len(data):
        if position + 3 > len(data):
            raise FormatViolation(f"Invalid {source}: expected a block header, got the end.")
        header = int.from_bytes(data[position : position + 3], "little")
        length, is_original = header >> 1, header & 1
        block = data[position + 3 : position + 3 + length]
        if len(block) != length:
            raise FormatViolation(f"Invalid {source}: expected a block of {length} bytes, got {len(block)}.")
        parts.append(block if is_original else inflate(_CODECS[codec], block, size_max=block_size, source=source))
        position += 3 + length
        total += len(parts[-1])
        if total > size_max:
            raise FormatViolation(f"Invalid {source}: expected at most {size_max} bytes when inflated.")
    return b"".join(parts)


def _first(message: Message, number: int) -> Any:
    return message[number][0] if number in message else None


def _number(message: Message, number: int) -> int:
    value = _first(message, number)
    return value if isinstance(value, int) else 0


def _bytes(value: Any, source: str) -> bytes:
    if not isinstance(value, bytes):
        raise FormatViolation(f"Invalid {source}: expected a message, got a number.")
    return value
