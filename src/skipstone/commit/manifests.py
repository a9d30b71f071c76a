"""Manifests of a snapshot, and the entries in them, as a commit needs them.

Manifest lists and manifests never change. The lists of recent snapshots are kept in memory, above all those this
process wrote itself: the next commit then reads nothing to append.

Spec: "Manifest Lists", "Manifests", "Snapshots".
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from skipstone.errors import Unsupported
from skipstone.metadata.manifest import EntryStatus, ManifestFile
from skipstone.metadata.manifest_list import embedded_manifests, read_manifest_list
from skipstone.metadata.manifest_read import read_manifest, read_manifest_header
from skipstone.metadata.partitioning import PartitionSpec
from skipstone.metadata.snapshots import Snapshot
from skipstone.metadata.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.storage.protocol import Storage

_KEPT_MANIFESTS_MAX: Final = 100_000
_COUNTS: Final = (
    "added_files_count",
    "existing_files_count",
    "deleted_files_count",
    "added_rows_count",
    "existing_rows_count",
    "deleted_rows_count",
)


class _ManifestLists:
    """The least recently used lists go first when there are too many manifests in all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[ManifestFile, ...]] = OrderedDict()
        self._count = 0

    def find(self, location: str) -> tuple[ManifestFile, ...] | None:
        with self._lock:
            found = self._kept.get(location)
            if found is not None:
                self._kept.move_to_end(location)
            return found

    def keep(self, location: str, manifests: tuple[ManifestFile, ...]) -> None:
        with self._lock:
            if location in self._kept:
                return
            self._kept[location] = manifests
            self._count += len(manifests) + 1
            while self._count > _KEPT_MANIFESTS_MAX and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._count -= len(dropped) + 1


_lists = _ManifestLists()


def remember_manifests(manifest_list: str, manifests: tuple[ManifestFile, ...]) -> None:
    """Keep what a list holds that was just written under a location of its own."""
    _lists.keep(manifest_list, manifests)


def manifests_of(storage: Storage, metadata: TableMetadata, snapshot: Snapshot | None) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot, in the order of its list."""
    if snapshot is None:
        return ()
    if snapshot.key_id is not None:
        raise Unsupported(
            f"Cannot read the manifest list of snapshot {snapshot.snapshot_id}: it is encrypted with key "
            f"{snapshot.key_id!r}, and encrypted tables cannot be changed by this version."
        )
    location = snapshot.manifest_list
    if location is None:
        return _embedded(storage, snapshot)
    found = _lists.find(location)
    if found is None:
        data = storage.read(location)
        found = tuple(read_manifest_list(data, source=location, format_version=metadata.format_version))
        _lists.keep(location, found)
    return found


def _embedded(storage: Storage, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
    """The manifests of a v1 snapshot without a list; each tells its own spec."""
    listed = []
    for location in snapshot.manifests or ():
        data = storage.read(location)
        spec_id = read_manifest_header(data, source=location).spec_id or 0
        listed += embedded_manifests(
            [location], [len(data)], snapshot_id=snapshot.snapshot_id, partition_spec_id=spec_id
        )
    return tuple(listed)


def partition_type_of(metadata: TableMetadata, spec: PartitionSpec) -> StructType:
    """The type of a spec's partition tuples; columns that were dropped since are looked up in older schemas."""
    return spec.partition_type(metadata.current_schema, schemas=metadata.schemas)


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
    """The entries of a manifest, with inherited values written out."""
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
