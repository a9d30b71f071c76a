"""The frame of an Avro file: magic, key-value metadata, and blocks of records between sync markers.

Law: the whole frame is checked before any record is decoded, and nothing is inflated until it is asked for.

Spec (Apache Avro): "Object Container Files".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from skipstone.errors import FormatViolation
from skipstone.metadata.avro.caps import Caps
from skipstone.metadata.avro.codecs import CODECS, inflate
from skipstone.metadata.avro.varint import Damage, read_length, read_long

MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16


class Block(NamedTuple):
    """Where one block's compressed bytes lie, and how many records it claims to hold."""

    offset: int
    length: int
    record_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroContainer:
    """A checked frame. `kind` and `source` name the file in messages, `row_word` one of its records."""

    schema: Any
    schema_text: bytes
    metadata: dict[str, bytes]
    codec: str
    sync: bytes
    blocks: tuple[Block, ...]
    data: memoryview = field(repr=False)
    source: str
    kind: str
    row_word: str
    caps: Caps

    @property
    def record_count(self) -> int:
        return sum(block.record_count for block in self.blocks)

    def inflated(self) -> Iterator[tuple[bytes, int]]:
        """Each block's bytes and record count, in order."""
        room = self.caps.inflated_bytes_max
        for number, block in enumerate(self.blocks):
            try:
                data = inflate(self.codec, self.data[block.offset : block.offset + block.length], room)
            except Damage as damage:
                self.fail(f"block {number}: {damage}")
            room -= len(data)
            yield data, block.record_count

    def fail(self, text: str) -> NoReturn:
        raise FormatViolation(f"Invalid {self.kind} {self.source}: {text}.")


def parse_container(
    data: bytes | memoryview,
    *,
    source: str,
    caps: Caps = Caps(),  # noqa: B008 (frozen)
    kind: str = "Avro file",
    row_word: str = "record",
) -> AvroContainer:
    """Check the frame of an Avro file: magic, metadata map, codec, schema text, every sync marker."""
    view = memoryview(data).cast("B") if isinstance(data, memoryview) else memoryview(data)
    what = f"Invalid {kind} {source}"
    if bytes(view[:4]) != MAGIC:
        raise FormatViolation(f"{what}: expected the Avro magic {MAGIC!r}, got {bytes(view[:4])!r}.")
    try:
        metadata, pos = _read_metadata(view, len(MAGIC), caps)
        sync, pos = _take_sync(view, pos)
        blocks = _read_blocks(view, pos, sync)
    except Damage as damage:
        raise FormatViolation(f"{what}: {damage}.") from None
    codec = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
    if codec not in CODECS:
        raise FormatViolation(f"{what}: expected a codec of {', '.join(CODECS)}, got {codec!r}.")
    if "avro.schema" not in metadata:
        raise FormatViolation(f"{what}: expected the metadata key avro.schema, got {', '.join(sorted(metadata))}.")
    return AvroContainer(
        schema=_parse_schema_text(metadata["avro.schema"], what),
        schema_text=metadata["avro.schema"],
        metadata=metadata,
        codec=codec,
        sync=sync,
        blocks=blocks,
        data=view,
        source=source,
        kind=kind,
        row_word=row_word,
        caps=caps,
    )


def _parse_schema_text(text: bytes, what: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatViolation(f"{what}: metadata avro.schema: expected JSON, got {error}.") from None


def _read_metadata(view: memoryview, pos: int, caps: Caps) -> tuple[dict[str, bytes], int]:
    """An Avro map of bytes, which may come in several blocks."""
    metadata: dict[str, bytes] = {}
    end = min(len(view), pos + caps.metadata_bytes_max)
    try:
        while True:
            count, pos = read_long(view, pos, end)
            if count == 0:
                return metadata, pos
            if count < 0:
                count = -count
                _, pos = read_length(view, pos, end)
            # Each pair takes at least two bytes, so a lying count ends at `end`, not after hours.
            for _ in range(count):
                key, pos = _read_bytes(view, pos, end)
                name = _metadata_key(key)
                if name in metadata:
                    raise Damage(f"expected unique keys, got {name!r} twice")
                metadata[name], pos = _read_bytes(view, pos, end)
    except Damage as damage:
        cut = f" (capped at {caps.metadata_bytes_max} bytes)" if end < len(view) else ""
        raise Damage(f"file metadata: {damage}{cut}") from None


def _metadata_key(key: bytes) -> str:
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        raise Damage(f"expected a UTF-8 key, got {key[:40]!r}") from None


def _read_bytes(view: memoryview, pos: int, end: int) -> tuple[bytes, int]:
    length, pos = read_length(view, pos, end)
    return bytes(view[pos : pos + length]), pos + length


def _take_sync(view: memoryview, pos: int) -> tuple[bytes, int]:
    sync = bytes(view[pos : pos + SYNC_BYTES])
    if len(sync) != SYNC_BYTES:
        raise Damage(f"sync marker: expected {SYNC_BYTES} bytes, got {len(sync)}")
    return sync, pos + SYNC_BYTES


def _read_blocks(view: memoryview, pos: int, sync: bytes) -> tuple[Block, ...]:
    blocks: list[Block] = []
    end = len(view)
    while pos < end:
        start = pos
        try:
            count, pos = read_long(view, pos, end)
            if count < 0:
                raise Damage(f"expected a record count of 0 or more, got {count}")
            length, pos = read_length(view, pos, end)
            block = Block(pos, length, count)
            found, pos = _take_sync(view, pos + length)
            if found != sync:
                raise Damage(f"expected the sync marker {sync.hex()}, got {found.hex()}")
        except Damage as damage:
            raise Damage(f"block {len(blocks)} at byte {start}: {damage}") from None
        blocks.append(block)
    return tuple(blocks)
