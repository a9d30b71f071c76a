"""Index files found and opened. They never change, so what was opened is kept, up to a limit.

A file that is missing is nothing to speak of; one that is damaged is noted with the reason, and passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from skipstone.errors import NotFound, SkipstoneError
from skipstone.index.opened import forget_opened, opened
from skipstone.index.places import rollup_path, sidecar_path
from skipstone.index.rollup import Rollup, parse_rollup
from skipstone.index.sidecar_read import Sidecar, open_sidecar
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage

_ANCESTORS_MAX: Final = 1_000
_TRIED_FIRST: Final = 3

__all__ = ["find_rollup", "find_sidecar", "forget_opened", "remember_rollup", "rollups_of"]


def find_rollup(storage: Storage, path: str, notes: list[str]) -> Rollup | None:
    """The roll-up at a path, if there is one that can be trusted."""
    known = opened.find(storage, path)
    if known is not None:
        return known  # type: ignore[no-any-return]
    data = _quietly(lambda: storage.read(path), notes)
    if data is None:
        return None
    found = _quietly(lambda: parse_rollup(data, path), notes)
    return None if found is None else remember_rollup(storage, found, len(data))


def remember_rollup(storage: Storage, rollup: Rollup, size_in_bytes: int) -> Rollup:
    """Keep a roll-up that was read or just written."""
    opened.keep(storage, rollup.path, rollup, 4 * size_in_bytes)
    return rollup


def rollups_of(
    snapshot: Snapshot, metadata: TableMetadata, storage: Storage, directory: str, notes: list[str]
) -> tuple[Rollup, ...]:
    """The roll-up of a snapshot and its base; of the next ancestor that has one where another engine committed."""
    stored: set[str] | None = None
    for place, manifest_list in enumerate(_lists_of_ancestors(snapshot, metadata)):
        path = rollup_path(directory, manifest_list)
        if place == _TRIED_FIRST and stored is None:
            # Many foreign commits: one listing tells which ancestors have one.
            stored = {_name(info.path) for info in _quietly(lambda: list(storage.list(directory)), notes) or ()}
        first = None if stored is not None and _name(path) not in stored else find_rollup(storage, path, notes)
        if first is not None:
            base = None if first.header.base is None else find_rollup(storage, first.header.base, notes)
            return (first,) if base is None else (first, base)
    return ()


def _lists_of_ancestors(snapshot: Snapshot, metadata: TableMetadata) -> Iterator[str]:
    """The manifest lists of a snapshot and those before it, nearest first."""
    current: Snapshot | None = snapshot
    for _ in range(_ANCESTORS_MAX):
        if current is None:
            return
        if current.manifest_list is not None:
            yield current.manifest_list
        parent = current.parent_snapshot_id
        current = None if parent is None else metadata.snapshots_by_id.get(parent)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def find_sidecar(storage: Storage, directory: str, manifest: ManifestFile, notes: list[str]) -> Sidecar | None:
    """The sidecar of a manifest, if there is one that can be trusted."""
    path = sidecar_path(directory, manifest.manifest_path)
    known = opened.find(storage, path)
    if known is not None and known.header.identity.why_not(manifest) is None:
        return known  # type: ignore[no-any-return]
    sidecar = _quietly(lambda: open_sidecar(storage, path, manifest), notes)
    if sidecar is not None:
        opened.keep(storage, path, sidecar, sidecar.size_in_memory)
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
