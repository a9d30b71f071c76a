"""Puffin files: blobs with a footer that says what they are. Read the footer, read one blob, write a file.

Laws: a blob never needs more of the file than its own bytes and the footer; nothing is inflated beyond a stated
cap; a file that contradicts the format is one `FormatViolation`.

Puffin spec: "File structure", "Footer structure", "Footer Payload", "Compression codecs".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.blobs.frames import CODECS, compress, decompress

MAGIC: Final = b"PFA1"
TRAILER_BYTES: Final = 12  # payload size, flags, magic
FOOTER_BYTES_MIN: Final = len(MAGIC) + TRAILER_BYTES
FLAG_PAYLOAD_COMPRESSED: Final = 1
# Caps on what one file may make us hold: the footer's JSON, and one blob after inflating.
PAYLOAD_BYTES_MAX: Final = 64 * 1024 * 1024
BLOB_BYTES_MAX: Final = 1024 * 1024 * 1024

THETA_V1: Final = "apache-datasketches-theta-v1"
DELETION_VECTOR_V1: Final = "deletion-vector-v1"
CREATED_BY: Final = "created-by"

FetchRange = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobMetadata:
    """What the footer says about one blob. `compression_codec` None means stored as it is."""

    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    offset: int
    length: int
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PuffinFooter:
    """The footer's content, and how many bytes the footer takes at the end of the file."""

    blobs: tuple[BlobMetadata, ...]
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    footer_size_in_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PuffinFile:
    """A file ready to be stored. The three sizes are what table metadata records about it."""

    data: bytes = field(repr=False)
    footer: PuffinFooter

    @property
    def file_size_in_bytes(self) -> int:
        return len(self.data)

    @property
    def file_footer_size_in_bytes(self) -> int:
        return self.footer.footer_size_in_bytes

    @property
    def blobs(self) -> tuple[BlobMetadata, ...]:
        return self.footer.blobs


_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_FieldId = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Extent = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _BlobJson(msgspec.Struct, rename="kebab", omit_defaults=True):
    type: str
    fields: list[_FieldId]
    snapshot_id: _Long
    sequence_number: _Long
    offset: _Extent
    length: _Extent
    compression_codec: str | None = None
    properties: dict[str, str] | None = None


class _FooterJson(msgspec.Struct, rename="kebab", omit_defaults=True):
    blobs: list[_BlobJson]
    properties: dict[str, str] | None = None


def footer_size(tail: bytes, *, file_size: int, source: str = "puffin") -> int:
    """How many bytes at the end of the file the footer takes, from at least the last 12 bytes of the file.

    A reader that does not know the size reads a tail of its choice, calls this, and fetches the rest if needed.
    """
    if file_size < len(MAGIC) + FOOTER_BYTES_MIN:
        raise FormatViolation(
            f"Invalid Puffin file {source}: expected at least {len(MAGIC) + FOOTER_BYTES_MIN} bytes, got {file_size}."
        )
    if len(tail) < TRAILER_BYTES:
        raise FormatViolation(
            f"Invalid Puffin file {source}: expected a tail of at least {TRAILER_BYTES} bytes, got {len(tail)}."
        )
    payload_bytes = int.from_bytes(tail[-TRAILER_BYTES:-8], "little", signed=True)
    _check_magic(tail[-4:], "at the end", source)
    room = file_size - len(MAGIC) - FOOTER_BYTES_MIN
    if not 0 <= payload_bytes <= room:
        raise FormatViolation(
            f"Invalid Puffin file {source}: footer payload size: expected 0 to {room} bytes, got {payload_bytes}."
        )
    if payload_bytes > PAYLOAD_BYTES_MAX:
        raise FormatViolation(
            f"Invalid Puffin file {source}: footer payload size: expected at most {PAYLOAD_BYTES_MAX} bytes, "
            f"got {payload_bytes}."
        )
    return FOOTER_BYTES_MIN + payload_bytes


def parse_footer(tail: bytes, *, file_size: int | None = None, source: str = "puffin") -> PuffinFooter:
    """The footer from the end of a file: the whole file, or a tail that holds the footer with `file_size` given."""
    size = len(tail) if file_size is None else file_size
    taken = footer_size(tail, file_size=size, source=source)
    if len(tail) < taken:
        raise FormatViolation(
            f"Invalid Puffin file {source}: footer: expected {taken} bytes, got a tail of {len(tail)}."
        )
    if len(tail) == size:
        _check_magic(tail[:4], "at the start", source)
    footer = tail[len(tail) - taken :]
    _check_magic(footer[:4], "at the start of the footer", source)
    payload = _payload(footer[4:-TRAILER_BYTES], footer[-8:-4], source)
    return _footer_from_json(payload, taken, blobs_end=size - taken, source=source)


def load_footer(fetch: FetchRange, *, file_size: int, tail_bytes: int = 8192, source: str = "puffin") -> PuffinFooter:
    """The footer through range reads: one of `tail_bytes`, and a second one only when the footer is longer."""
    tail_bytes = min(max(tail_bytes, FOOTER_BYTES_MIN), file_size)
    tail = _fetch(fetch, file_size - tail_bytes, tail_bytes, "tail", source)
    taken = footer_size(tail, file_size=file_size, source=source)
    if taken > len(tail):
        tail = _fetch(fetch, file_size - taken, taken, "footer", source)
    return parse_footer(tail, file_size=file_size, source=source)


def read_blob(
    fetch: FetchRange | bytes, blob: BlobMetadata, *, source: str = "puffin", bytes_max: int = BLOB_BYTES_MAX
) -> bytes:
    """The content of one blob, inflated. `fetch` is the file's bytes, or a function of offset and length."""
    if blob.length > bytes_max:
        raise FormatViolation(
            f"Invalid Puffin file {source}: blob {blob.type} at {blob.offset}: expected at most {bytes_max} bytes, "
            f"got length {blob.length}."
        )
    if isinstance(fetch, bytes):
        stored = fetch[blob.offset : blob.offset + blob.length]
        _check_length(stored, blob.length, blob.offset, f"blob {blob.type}", source)
    else:
        stored = _fetch(fetch, blob.offset, blob.length, f"blob {blob.type}", source)
    if blob.compression_codec is None:
        return stored
    where = f"Puffin file {source}: blob {blob.type} at {blob.offset}"
    return decompress(blob.compression_codec, stored, bytes_max=bytes_max, where=where)


class PuffinWriter:
    """Collects blobs and lays them out as one file. A fresh writer per file.

    Without properties of its own a file says who created it, as the format recommends.
    """

    def __init__(self, *, properties: Mapping[str, str] | None = None) -> None:
        self._data = bytearray(MAGIC)
        self._blobs: list[BlobMetadata] = []
        self._properties = {CREATED_BY: "Skipstone"} if properties is None else dict(properties)

    def add(
        self,
        *,
        type: str,
        fields: Sequence[int],
        snapshot_id: int,
        sequence_number: int,
        data: bytes,
        compression_codec: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        """Append a blob; what is returned is what the footer will say about it."""
        stored = data if compression_codec is None else compress(compression_codec, data)
        blob = BlobMetadata(
            type=type,
            fields=tuple(fields),
            snapshot_id=snapshot_id,
            sequence_number=sequence_number,
            offset=len(self._data),
            length=len(stored),
            compression_codec=compression_codec,
            properties=dict(properties or {}),
        )
        self._data += stored
        self._blobs.append(blob)
        return blob

    def finish(self) -> PuffinFile:
        """The file's bytes and footer."""
        payload = _footer_to_json(self._blobs, self._properties)
        if len(payload) > PAYLOAD_BYTES_MAX:
            raise InvalidInput(
                f"Cannot write a Puffin file of {len(self._blobs)} blobs: expected a footer payload of at most "
                f"{PAYLOAD_BYTES_MAX} bytes, got {len(payload)}. Split the blobs over several files."
            )
        footer = MAGIC + payload + struct.pack("<i", len(payload)) + bytes(4) + MAGIC
        return PuffinFile(
            data=bytes(self._data) + footer,
            footer=PuffinFooter(
                blobs=tuple(self._blobs), properties=self._properties, footer_size_in_bytes=len(footer)
            ),
        )


def _footer_to_json(blobs: Sequence[BlobMetadata], properties: Mapping[str, str]) -> bytes:
    return msgspec.json.encode(
        _FooterJson(
            blobs=[
                _BlobJson(
                    type=b.type,
                    fields=list(b.fields),
                    snapshot_id=b.snapshot_id,
                    sequence_number=b.sequence_number,
                    offset=b.offset,
                    length=b.length,
                    compression_codec=b.compression_codec,
                    properties=dict(b.properties) or None,
                )
                for b in blobs
            ],
            properties=dict(properties) or None,
        )
    )


def _payload(stored: bytes, flags: bytes, source: str) -> bytes:
    set_flags = int.from_bytes(flags, "little")
    if set_flags & ~FLAG_PAYLOAD_COMPRESSED:
        raise FormatViolation(
            f"Invalid Puffin file {source}: footer flags: expected only bit 0 to be set, got 0x{flags.hex()}."
        )
    if set_flags == 0:
        return stored
    return decompress("lz4", stored, bytes_max=PAYLOAD_BYTES_MAX, where=f"Puffin file {source}: footer payload")


def _footer_from_json(payload: bytes, taken: int, *, blobs_end: int, source: str) -> PuffinFooter:
    try:
        parsed = msgspec.json.decode(payload, type=_FooterJson)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise FormatViolation(
            f"Invalid Puffin file {source}: footer payload: expected JSON of file metadata, got: {e}."
        ) from e
    blobs = tuple(_blob_from_json(b, i, blobs_end, source) for i, b in enumerate(parsed.blobs))
    return PuffinFooter(blobs=blobs, properties=parsed.properties or {}, footer_size_in_bytes=taken)


def _blob_from_json(b: _BlobJson, ordinal: int, blobs_end: int, source: str) -> BlobMetadata:
    if b.offset < len(MAGIC) or b.offset + b.length > blobs_end:
        raise FormatViolation(
            f"Invalid Puffin file {source}: blobs[{ordinal}]: expected bytes between {len(MAGIC)} and {blobs_end}, "
            f"got offset {b.offset} and length {b.length}."
        )
    if b.compression_codec is not None and b.compression_codec not in CODECS:
        raise FormatViolation(
            f"Invalid Puffin file {source}: blobs[{ordinal}].compression-codec: expected {' or '.join(CODECS)}, "
            f"got {b.compression_codec!r}."
        )
    return BlobMetadata(
        type=b.type,
        fields=tuple(b.fields),
        snapshot_id=b.snapshot_id,
        sequence_number=b.sequence_number,
        offset=b.offset,
        length=b.length,
        compression_codec=b.compression_codec,
        properties=b.properties or {},
    )


def _fetch(fetch: FetchRange, offset: int, length: int, what: str, source: str) -> bytes:
    got = fetch(offset, length)
    _check_length(got, length, offset, what, source)
    return got


def _check_length(got: bytes, length: int, offset: int, what: str, source: str) -> None:
    if len(got) != length:
        raise FormatViolation(
            f"Invalid Puffin file {source}: {what} at {offset}: expected {length} bytes, got {len(got)}."
        )


def _check_magic(got: bytes, place: str, source: str) -> None:
    if got != MAGIC:
        raise FormatViolation(f"Invalid Puffin file {source}: magic {place}: expected {MAGIC!r}, got {got!r}.")
