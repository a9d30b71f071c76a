"""Sidecars read: of chosen blocks the columns asked for, in the shape a manifest is read in.

Law: what comes out is what reading the manifest would give, or FormatViolation. A footer that is not sealed, a chunk
whose checksum does not hold or a header about another manifest all raise, and the caller reads the manifest instead.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet

from skipstone.errors import FormatViolation
from skipstone.index.seals import check_seal
from skipstone.index.sidecar_write import CHUNKS_KEY, HEADER_KEY, VERSION, Header, footer_start, parse_chunks
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pq: Any = pyarrow.parquet

_FOOTER_GUESS_BYTES: Final = 128 * 1024
_TAIL_BYTES: Final = 8
_GAP_MAX_BYTES: Final = 32 * 1024  # a gap that is cheaper to read than to leave out


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """An opened sidecar: its footer is read and checked, nothing else."""

    path: str
    size_in_bytes: int
    header: Header
    metadata: Any
    chunks: npt.NDArray[Any]
    footer: bytes
    arrow_types: dict[str, Any]

    def read(self, storage: Storage, names: Sequence[str], blocks: Sequence[int]) -> Any:
        """Stored columns of some blocks, in the order of the index; `names` must be stored ones."""
        places = sorted(self.header.leaves.index(n) for n in names)
        chunks = self.chunks[np.asarray(blocks)[:, None], np.asarray(places)].ravel()
        buffer = np.empty(self.size_in_bytes, np.uint8)  # memory that is never touched costs nothing
        buffer[self.size_in_bytes - len(self.footer) :] = np.frombuffer(self.footer, np.uint8)
        with storage.open(self.path) as opened:
            source: Any = opened
            for start, end in _ranges(chunks):
                data = source.read_at(end - start, start)
                if len(data) != end - start:
                    raise FormatViolation(f"Invalid sidecar {self.path}: expected {end - start} bytes at {start}.")
                buffer[start:end] = np.frombuffer(data, np.uint8)
        self._check(buffer, chunks)
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(buffer)), metadata=self.metadata)
        return file.read_row_groups(list(blocks), columns=[self.header.leaves[p] for p in places], use_threads=False)

    def _check(self, buffer: Any, chunks: Any) -> None:
        view = memoryview(buffer)
        for offset, length, checksum in chunks.tolist():
            if zlib.crc32(view[offset : offset + length]) != checksum:
                raise FormatViolation(f"Invalid sidecar {self.path}: the checksum of a column does not hold.")


def _ranges(chunks: Any) -> list[tuple[int, int]]:
    """Byte ranges that cover the chunks, near ones joined."""
    flat = chunks[np.argsort(chunks["offset"])]
    starts = flat["offset"].astype(np.int64)
    ends = starts + flat["length"]
    if not len(starts):
        return []
    opens = np.flatnonzero(np.append(True, starts[1:] - ends[:-1] > _GAP_MAX_BYTES))
    closes = np.append(opens[1:] - 1, len(starts) - 1)
    return list(zip(starts[opens].tolist(), ends[closes].tolist(), strict=True))


def open_sidecar(storage: Storage, path: str, manifest: ManifestFile) -> Sidecar:
    """The sidecar of a manifest. NotFound if there is none, FormatViolation if it cannot be trusted."""
    size = storage.size(path)
    tail = storage.read_range(path, max(0, size - _FOOTER_GUESS_BYTES), min(size, _FOOTER_GUESS_BYTES))
    needed = int.from_bytes(tail[-_TAIL_BYTES:-4], "little") + _TAIL_BYTES
    if needed > size:
        raise FormatViolation(f"Invalid sidecar {path}: expected a footer, got a file of {size} bytes.")
    if needed > len(tail):
        tail = storage.read_range(path, size - needed, needed)
    footer = tail[footer_start(tail) :]
    check_seal(footer, path)
    try:
        return _opened(path, size, footer, manifest)
    except (msgspec.MsgspecError, pa.ArrowException, KeyError, ValueError) as error:
        raise FormatViolation(f"Invalid sidecar {path}: {error}. Build the index again.") from error


def _opened(path: str, size: int, footer: bytes, manifest: ManifestFile) -> Sidecar:
    buffer = np.empty(size, np.uint8)
    buffer[size - len(footer) :] = np.frombuffer(footer, np.uint8)
    metadata = pq.read_metadata(pa.BufferReader(pa.py_buffer(buffer)))
    header = msgspec.json.decode(metadata.metadata[HEADER_KEY], type=Header)
    if header.version != VERSION:
        raise FormatViolation(f"Invalid sidecar {path}: expected version {VERSION}, got {header.version}.")
    why = header.identity.why_not(manifest)
    if why is not None:
        raise FormatViolation(f"Invalid sidecar {path}: {why}.")
    types = {f.name: f.type for f in metadata.schema.to_arrow_schema()}
    chunks = parse_chunks(metadata.metadata[CHUNKS_KEY], len(header.block_files), len(header.leaves))
    return Sidecar(
        path=path, size_in_bytes=size, header=header, metadata=metadata, chunks=chunks, footer=footer, arrow_types=types
    )
