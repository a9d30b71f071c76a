"""Manifests of a snapshot, and the entries in them, as a commit needs them.

Manifest lists and manifests never change. Lists of recent snapshots and small manifests that this process wrote itself
are kept in memory: the next commit then reads nothing to append, and little to merge.

Spec: "Manifest Lists", "Manifests", "Snapshots".
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa

from skipstone.errors import Unsupported
from skipstone.metadata.manifests.inheritance import inherit
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, METRIC_COLUMNS, EntryStatus, ManifestFile
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.snapshot_manifests import manifests_of as stored_manifests
from skipstone.plan.snapshot_manifests import partition_type_of
from skipstone.storage.protocol import Storage

_KEPT_MANIFESTS_MAX: Final = 100_000
_KEPT_ENTRIES_MAX: Final = 20_000
_SMALL_ENTRIES: Final = 100
_COUNTS: Final = (
    "added_files_count",
    "existing_files_count",
    "deleted_files_count",
    "added_rows_count",
    "existing_rows_count",
    "deleted_rows_count",
)


T = TypeVar("T")


class _Kept(Generic[T]):
    """What immutable files hold, by location. The least recently used go first when there is too much in all."""

    def __init__(self, weight_max: int) -> None:
        self._weight_max = weight_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._weight = 0

    def find(self, location: str) -> T | None:
        with self._lock:
            found = self._kept.get(location)
            if found is None:
                return None
            self._kept.move_to_end(location)
            return found[0]

    def keep(self, location: str, value: T, weight: int) -> None:
        with self._lock:
            if location in self._kept:
                return
            self._kept[location] = (value, weight)
            self._weight += weight
            while self._weight > self._weight_max and len(self._kept) > 1:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._weight -= dropped


_lists: Final[_Kept[tuple[ManifestFile, ...]]] = _Kept(_KEPT_MANIFESTS_MAX)
_small: Final[_Kept[pa.Table]] = _Kept(_KEPT_ENTRIES_MAX)


def remember_manifests(manifest_list: str, manifests: tuple[ManifestFile, ...]) -> None:
    """Keep what a list holds that was just written under a location of its own."""
    _lists.keep(manifest_list, manifests, len(manifests) + 1)


def remember_entries(manifest_path: str, entries: pa.Table) -> None:
    """Keep the entries of a small manifest that was just written, as they were written: nothing inherited yet."""
    is_as_read = all(arrow is None or entries.schema.field(n).type == arrow for n, arrow in ENTRY_COLUMNS.items())
    if entries.num_rows <= _SMALL_ENTRIES and is_as_read:
        _small.keep(manifest_path, entries, entries.num_rows)


def manifests_of(storage: Storage, metadata: TableMetadata, snapshot: Snapshot | None) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot, in the order of its list."""
    if snapshot is None:
        return ()
    if snapshot.key_id is not None:
        raise Unsupported(
            f"Cannot change {metadata.location}: snapshot {snapshot.snapshot_id} is encrypted with key "
            f"{snapshot.key_id!r}, and encrypted tables are read here, not written."
        )
    location = snapshot.manifest_list
    found = None if location is None else _lists.find(location)
    if found is None:
        found = stored_manifests(snapshot, metadata, storage)
        if location is not None:
            remember_manifests(location, found)
    return found


def entries_of(
    storage: Storage,
    metadata: TableMetadata,
    manifest: ManifestFile,
    *,
    columns: Collection[str] | None = None,
    maps: bool = False,
    metrics: Collection[int] | None = None,
    data: bytes | None = None,
) -> pa.Table:
    """The entries of a manifest, with inherited values written out. `data` is its content if it was read already."""
    kept = _remembered(metadata, manifest) if not metrics else None
    if kept is not None:
        inherited = inherit(kept, manifest)
        names = set(ENTRY_COLUMNS if columns is None else columns)
        if not maps:
            names -= METRIC_COLUMNS.keys() - set(columns or ())
        return inherited.select([name for name in ENTRY_COLUMNS if name in names])
    return read_manifest(
        storage.read(manifest.manifest_path) if data is None else data,
        source=manifest.manifest_path,
        schema=metadata.current_schema,
        spec=metadata.spec(manifest.partition_spec_id),
        columns=columns,
        maps=maps,
        metrics=metrics,
        on_bad_bound="unknown",
        inherit_from=manifest,
    )


def _remembered(metadata: TableMetadata, manifest: ManifestFile) -> pa.Table | None:
    """The kept entries, unless the type of partition values was promoted since."""
    kept = _small.find(manifest.manifest_path)
    if kept is None:
        return None
    wanted = partition_arrow_type(partition_type_of(metadata.spec(manifest.partition_spec_id), metadata))
    return kept if kept.schema.field("partition").type == wanted else None


def is_remembered(manifest: ManifestFile) -> bool:
    """Whether the entries are in memory."""
    return _small.find(manifest.manifest_path) is not None


def counted(storage: Storage, metadata: TableMetadata, manifest: ManifestFile) -> ManifestFile:
    """The manifest with all its counts, which v1 lists may leave out and later ones may not."""
    if all(getattr(manifest, name) is not None for name in _COUNTS):
        return manifest
    table = entries_of(storage, metadata, manifest, columns=("status", "record_count"))
    status, rows = integers(table, "status"), integers(table, "record_count")
    chosen = {
        "added": status == EntryStatus.ADDED,
        "existing": status == EntryStatus.EXISTING,
        "deleted": status == EntryStatus.DELETED,
    }
    counts: dict[str, Any] = {}
    for word, mask in chosen.items():
        counts |= {f"{word}_files_count": int(mask.sum()), f"{word}_rows_count": int(rows[mask].sum())}
    return replace(manifest, **counts)


def integers(table: pa.Table, name: str) -> Any:
    """An integer column as NumPy, 0 for null."""
    column: Any = table.column(name)
    return column.fill_null(0).to_numpy()


def is_live(table: pa.Table) -> Any:
    """Which entries are part of the snapshot, as a NumPy mask."""
    return integers(table, "status") != EntryStatus.DELETED


def rows_at(table: pa.Table, mask: Any) -> pa.Table:
    """The rows a NumPy mask selects."""
    return table.take(np.flatnonzero(mask))
