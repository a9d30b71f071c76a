"""Deletion vectors: which row positions of one data file are deleted, as a Roaring bitmap in a Puffin blob.

Laws: a blob is trusted only when its length, magic, checksum, bitmap and cardinality all agree; at most one vector
per data file; what is written equals, byte for byte, what the reference implementation writes for the same positions
below 2^32.

Spec: "Deletion Vectors". Puffin spec: "deletion-vector-v1 blob type".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from pyroaring import BitMap64

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.blobs.puffin import DELETION_VECTOR_V1, BlobMetadata, PuffinFile, PuffinWriter
from skipstone.metadata.blobs.roaring import check_roaring64
from skipstone.metadata.reserved import POS

MAGIC: Final = bytes.fromhex("d1d33964")
POSITION_MAX: Final = 2**63 - 1
REFERENCED_DATA_FILE: Final = "referenced-data-file"
CARDINALITY: Final = "cardinality"

_LENGTH_BYTES: Final = 4
_CHECKSUM_BYTES: Final = 4
_BLOB_BYTES_MIN: Final = _LENGTH_BYTES + len(MAGIC) + 8 + _CHECKSUM_BYTES
_LENGTH_MAX: Final = 2**31 - 1
# A few bytes of runs stand for millions of positions: `positions_of` says no rather than fill the memory.
POSITIONS_MAX: Final = 256 * 1024 * 1024

PositionArray: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"
Positions: TypeAlias = "BitMap64 | np.ndarray[Any, np.dtype[np.integer[Any]]] | Iterable[int]"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDeletionVector:
    """Where one vector lies in a Puffin file, in the words of the manifest entry that tracks it."""

    referenced_data_file: str
    content_offset: int
    content_size_in_bytes: int
    cardinality: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorFile:
    """A Puffin file of deletion vectors, ready to be stored."""

    file: PuffinFile
    vectors: tuple[StoredDeletionVector, ...]

    @property
    def data(self) -> bytes:
        return self.file.data


def encode(positions: Positions) -> bytes:
    """The blob for these positions."""
    bitmap = bitmap_of(positions).copy()
    bitmap.run_optimize()
    body = MAGIC + bitmap.serialize()
    if len(body) > _LENGTH_MAX:
        raise InvalidInput(
            f"Cannot encode a deletion vector of {len(bitmap)} positions: expected at most {_LENGTH_MAX} bytes, "
            f"got {len(body)}. Rewrite the data file without the deleted rows."
        )
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body + zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "big")


def decode(blob: bytes, *, source: str = "deletion vector", cardinality: int | None = None) -> BitMap64:
    """The positions in a blob. `cardinality` is what metadata says it holds, and is checked when given."""
    where = f"deletion vector in {source}"
    body = _body(blob, where)
    found = check_roaring64(body[len(MAGIC) :], where=where)
    if cardinality is not None and found != cardinality:
        raise FormatViolation(f"Invalid {where}: cardinality: expected {cardinality} positions, got {found}.")
    try:
        return BitMap64.deserialize(body[len(MAGIC) :])
    except ValueError as e:
        raise FormatViolation(f"Invalid {where}: expected a Roaring bitmap, got: {e}.") from e


def load(
    fetch: Callable[[int, int], bytes],
    *,
    content_offset: int,
    content_size_in_bytes: int,
    cardinality: int | None,
    source: str,
) -> BitMap64:
    """One vector by the offset and size in its manifest entry, without reading the Puffin footer."""
    place = f"{source} at {content_offset}"
    blob = fetch(content_offset, content_size_in_bytes)
    if len(blob) != content_size_in_bytes:
        raise FormatViolation(
            f"Invalid deletion vector in {place}: expected {content_size_in_bytes} bytes, got {len(blob)}."
        )
    return decode(blob, source=place, cardinality=cardinality)


def bitmap_of(positions: Positions) -> BitMap64:
    """Positions in any form as a bitmap; a bitmap is passed through."""
    if isinstance(positions, BitMap64):
        bitmap = positions
    elif isinstance(positions, np.ndarray):
        bitmap = _bitmap_of_array(positions)
    else:
        bitmap = _bitmap_of_ints(list(positions))
    if bitmap and bitmap.max() > POSITION_MAX:
        raise InvalidInput(f"Invalid row position {bitmap.max()}: expected 0 to {POSITION_MAX}.")
    return bitmap


def positions_of(bitmap: BitMap64, *, positions_max: int = POSITIONS_MAX) -> PositionArray:
    """The positions as an ascending array."""
    if len(bitmap) > positions_max:
        raise InvalidInput(
            f"Cannot list {len(bitmap)} deleted positions: expected at most {positions_max}. Use the bitmap itself."
        )
    return np.frombuffer(bitmap.to_array(), dtype=np.uint64)


def write_deletion_vectors(
    positions_by_file: Mapping[str, Positions], *, properties: Mapping[str, str] | None = None
) -> DeletionVectorFile:
    """One Puffin file with a vector per data file, keyed by the data file's location in the table metadata."""
    writer = PuffinWriter(properties=properties)
    vectors: list[StoredDeletionVector] = []
    for data_file, positions in positions_by_file.items():
        bitmap = bitmap_of(positions)
        blob = writer.add(
            type=DELETION_VECTOR_V1,
            fields=(POS.id,),
            # Not known yet when the file is written; the format wants -1 for both.
            snapshot_id=-1,
            sequence_number=-1,
            data=encode(bitmap),
            properties={REFERENCED_DATA_FILE: data_file, CARDINALITY: str(len(bitmap))},
        )
        vectors.append(_stored(blob, data_file, len(bitmap)))
    return DeletionVectorFile(file=writer.finish(), vectors=tuple(vectors))


def stored_vector(blob: BlobMetadata, *, source: str = "puffin") -> StoredDeletionVector:
    """What a Puffin footer says about a deletion vector, checked against the rules for such blobs."""
    where = f"Puffin file {source}: deletion vector at {blob.offset}"
    if blob.type != DELETION_VECTOR_V1:
        raise FormatViolation(f"Invalid {where}: expected blob type {DELETION_VECTOR_V1}, got {blob.type!r}.")
    if blob.compression_codec is not None:
        raise FormatViolation(f"Invalid {where}: expected no compression, got {blob.compression_codec!r}.")
    data_file = blob.properties.get(REFERENCED_DATA_FILE)
    if data_file is None:
        raise FormatViolation(f"Invalid {where}: expected property {REFERENCED_DATA_FILE}, got none.")
    cardinality = blob.properties.get(CARDINALITY, "")
    if not (cardinality.isascii() and cardinality.isdigit() and len(cardinality) <= 19):
        raise FormatViolation(
            f"Invalid {where}: expected property {CARDINALITY} to be a number, got {cardinality[:40]!r}."
        )
    return _stored(blob, data_file, int(cardinality))


def _stored(blob: BlobMetadata, data_file: str, cardinality: int) -> StoredDeletionVector:
    return StoredDeletionVector(
        referenced_data_file=data_file,
        content_offset=blob.offset,
        content_size_in_bytes=blob.length,
        cardinality=cardinality,
    )


def _body(blob: bytes, where: str) -> bytes:
    """Magic and bitmap, after the checks that need no knowledge of bitmaps."""
    if len(blob) < _BLOB_BYTES_MIN:
        raise FormatViolation(f"Invalid {where}: expected at least {_BLOB_BYTES_MIN} bytes, got {len(blob)}.")
    body = blob[_LENGTH_BYTES:-_CHECKSUM_BYTES]
    length = int.from_bytes(blob[:_LENGTH_BYTES], "big", signed=True)
    if length != len(body):
        raise FormatViolation(f"Invalid {where}: length: expected {len(body)}, got {length}.")
    if body[: len(MAGIC)] != MAGIC:
        raise FormatViolation(f"Invalid {where}: magic: expected {MAGIC.hex()}, got {body[: len(MAGIC)].hex()}.")
    stored, computed = int.from_bytes(blob[-_CHECKSUM_BYTES:], "big"), zlib.crc32(body)
    if stored != computed:
        raise FormatViolation(f"Invalid {where}: checksum: expected {computed:08x}, got {stored:08x}.")
    return body


def _bitmap_of_array(positions: np.ndarray[Any, np.dtype[np.integer[Any]]]) -> BitMap64:
    if not np.issubdtype(positions.dtype, np.integer):
        raise InvalidInput(f"Invalid row positions: expected an array of integers, got {positions.dtype}.")
    if positions.size and int(positions.min()) < 0:
        raise InvalidInput(f"Invalid row position {int(positions.min())}: expected 0 to {POSITION_MAX}.")
    return BitMap64(np.ascontiguousarray(positions.reshape(-1), dtype=np.uint64))


def _bitmap_of_ints(positions: list[Any]) -> BitMap64:
    for p in positions:
        if not isinstance(p, int) or not 0 <= p <= POSITION_MAX:
            raise InvalidInput(f"Invalid row position {p!r}: expected an integer from 0 to {POSITION_MAX}.")
    return BitMap64(positions)
