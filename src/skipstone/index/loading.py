"""Index files found and opened. They never change, so what was opened is kept, up to a limit.

A file that is missing is nothing to speak of; one that is damaged is noted with the reason, and passed over.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from skipstone.errors import NotFound, SkipstoneError
from skipstone.index.places import rollup_path, sidecar_path
from skipstone.index.rollup import Rollup, parse_rollup
from skipstone.index.sidecar_read import Sidecar, open_sidecar
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage

_KEPT_BYTES_MAX: Final = 64 * 1024 * 1024
_ANCESTORS_MAX: Final = 4


class _Kept:
    """Opened files by storage and path; the least recently used go first."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, str], tuple[Any, Any, int]] = OrderedDict()
        self._bytes = 0

    def find(self, storage: Storage, path: str) -> Any | None:
        with self._lock:
            found = self._kept.get((id(storage), path))
            if found is None:
                return None
            self._kept.move_to_end((id(storage), path))
            return found[0]

    def keep(self, storage: Storage, path: str, value: Any, size: int) -> None:
        with self._lock:
            if (id(storage), path) in self._kept:
                return
            # The storage is kept too, so that its id is not given to another.
            self._kept[id(storage), path] = (value, storage, size)
            self._bytes += size
            while self._bytes > self._bytes_max and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1][2]

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


_kept: Final = _Kept(_KEPT_BYTES_MAX)


def forget_opened() -> None:
    """Open index files anew from now on."""
    _kept.clear()


def find_rollup(storage: Storage, path: str, notes: list[str]) -> Rollup | None:
    """The roll-up at a path, if there is one that can be trusted."""
    known = _kept.find(storage, path)
    if known is not None:
        return known  # type: ignore[no-any-return]
    data = _quietly(lambda: storage.read(path), notes)
    return None if data is None else _quietly(lambda: remember_rollup(storage, data, path), notes)


def remember_rollup(storage: Storage, data: bytes, path: str) -> Rollup:
    rollup = parse_rollup(data, path)
    _kept.keep(storage, path, rollup, 3 * len(data))
    return rollup


def rollups_of(
    snapshot: Snapshot, metadata: TableMetadata, storage: Storage, directory: str, notes: list[str]
) -> tuple[Rollup, ...]:
    """The roll-up of a snapshot and its base; of the next ancestor that has one where another engine committed."""
    for candidate in _ancestors(snapshot, metadata):
        if candidate.manifest_list is None:
            continue
        first = find_rollup(storage, rollup_path(directory, candidate.manifest_list), notes)
        if first is not None:
            base = None if first.header.base is None else find_rollup(storage, first.header.base, notes)
            return (first,) if base is None else (first, base)
    return ()


def _ancestors(snapshot: Snapshot, metadata: TableMetadata) -> Iterator[Snapshot]:
    current: Snapshot | None = snapshot
    for _ in range(_ANCESTORS_MAX):
        if current is None:
            return
        yield current
        parent = current.parent_snapshot_id
        current = None if parent is None else metadata.snapshots_by_id.get(parent)


def find_sidecar(storage: Storage, directory: str, manifest: ManifestFile, notes: list[str]) -> Sidecar | None:
    """The sidecar of a manifest, if there is one that can be trusted."""
    path = sidecar_path(directory, manifest.manifest_path)
    known = _kept.find(storage, path)
    if known is not None and known.header.identity.why_not(manifest) is None:
        return known  # type: ignore[no-any-return]
    sidecar = _quietly(lambda: open_sidecar(storage, path, manifest), notes)
    if sidecar is not None:
        _kept.keep(storage, path, sidecar, 4 * len(sidecar.footer))
    return sidecar


def _quietly(work: Any, notes: list[str]) -> Any | None:
    """What `work` gives; None, with a note, where an index file is damaged or cannot be reached."""
    try:
        return work()
    except SkipstoneError as error:
        if not isinstance(error, NotFound):
            notes.append(str(error))
    except OSError as error:
        notes.append(f"Cannot read an index file: {error}")
    return None
