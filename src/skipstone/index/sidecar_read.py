"""Sidecars opened, and the bytes of chosen columns and blocks fetched from them.

Law: what comes out is what was written, or FormatViolation. A directory that is not sealed, a chunk whose checksum
does not hold or a header about another manifest all raise, and the caller reads the manifest instead.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation
from skipstone.index.parquet_parts import Leaf
from skipstone.index.places import is_near
from skipstone.index.seals import check_seal
from skipstone.index.sidecar_write import VERSION, Header, chunks_of, directory_start, parse_directory
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.storage.protocol import Storage

_DIRECTORY_GUESS_BYTES: Final = 128 * 1024
_TAIL_BYTES: Final = 8
# A gap that is cheaper to read than to leave out, by whether the file is on this machine.
_GAP_MAX_BYTES: Final = {True: 2 * 1024, False: 32 * 1024}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """An opened sidecar: its directory is read and checked, nothing else. `key` tells it from one made anew."""

    path: str
    key: tuple[str, int]
    header: Header
    chunks: bytes
    places: Mapping[str, int]

    @property
    def size_in_memory(self) -> int:
        return len(self.chunks) + 512 * len(self.places)

    def leaf(self, name: str) -> Leaf | None:
        """How a column is stored; None if it is not."""
        place = self.places.get(name)
        return None if place is None else self.header.leaves[place]

    def fetch(self, storage: Storage, names: Sequence[str], blocks: Sequence[int]) -> list[list[bytes]]:
        """For each of some stored columns its chunks in some blocks, checked."""
        chunks = chunks_of(self.chunks, blocks, len(self.header.leaves))[:, [self.places[n] for n in names]]
        starts, ends = _ranges(chunks.ravel(), _GAP_MAX_BYTES[is_near(self.path)])
        read = self._read(storage, starts.tolist(), ends.tolist())
        where = np.searchsorted(starts, chunks["offset"], side="right") - 1
        begins = (chunks["offset"] - starts[where]).T.tolist()
        found = []
        for of_leaf, lengths, checksums, sources in zip(
            begins, chunks["length"].T.tolist(), chunks["checksum"].T.tolist(), where.T.tolist(), strict=True
        ):
            pieces = [read[s][b : b + n] for s, b, n in zip(sources, of_leaf, lengths, strict=True)]
            if list(map(zlib.crc32, pieces)) != checksums:
                raise FormatViolation(f"Invalid sidecar {self.path}: the checksum of a column does not hold.")
            found.append(pieces)
        return found

    def _read(self, storage: Storage, starts: Sequence[int], ends: Sequence[int]) -> list[bytes]:
        found = []
        with storage.open(self.path) as opened:
            source: Any = opened
            for start, end in zip(starts, ends, strict=True):
                data: bytes = source.read_at(end - start, start)
                if len(data) != end - start:
                    raise FormatViolation(f"Invalid sidecar {self.path}: expected {end - start} bytes at {start}.")
                found.append(data)
        return found


def _ranges(chunks: Any, gap_max_bytes: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Byte ranges that cover the chunks, near ones joined: where they start and end."""
    flat = chunks[np.argsort(chunks["offset"])]
    starts = flat["offset"].astype(np.int64)
    ends = starts + flat["length"]
    if not len(starts):
        return starts, ends
    opens = np.flatnonzero(np.append(True, starts[1:] - ends[:-1] > gap_max_bytes))
    closes = np.append(opens[1:] - 1, len(starts) - 1)
    return starts[opens], ends[closes]


def open_sidecar(storage: Storage, path: str, manifest: ManifestFile) -> Sidecar:
    """The sidecar of a manifest. NotFound if there is none, FormatViolation if it cannot be trusted."""
    try:
        directory = _directory(storage, path)
        check_seal(directory, path)
        return _opened(path, directory, manifest)
    except (msgspec.MsgspecError, ValueError) as error:
        raise FormatViolation(f"Invalid sidecar {path}: {error}. Build the index again.") from error


def _directory(storage: Storage, path: str) -> bytes:
    """The last bytes of a sidecar, which tell what is in it."""
    size = storage.size(path)
    tail = storage.read_range(path, max(0, size - _DIRECTORY_GUESS_BYTES), min(size, _DIRECTORY_GUESS_BYTES))
    start = directory_start(tail)
    if start is None:
        footer = int.from_bytes(tail[-_TAIL_BYTES:-4], "little") + _TAIL_BYTES
        if len(tail) < footer <= size:
            tail = storage.read_range(path, size - footer, footer)
            start = directory_start(tail)
    if start is None:
        raise FormatViolation(f"Invalid sidecar {path}: there is no directory in its {size} bytes.")
    return tail[start:]


def _opened(path: str, directory: bytes, manifest: ManifestFile) -> Sidecar:
    header, chunks = parse_directory(directory)
    if header.version != VERSION:
        raise FormatViolation(f"Invalid sidecar {path}: expected version {VERSION}, got {header.version}.")
    why = header.identity.why_not(manifest)
    if why is not None:
        raise FormatViolation(f"Invalid sidecar {path}: {why}.")
    return Sidecar(
        path=path,
        key=(path, zlib.crc32(directory)),
        header=header,
        chunks=chunks,
        places={leaf.name: place for place, leaf in enumerate(header.leaves)},
    )
