"""Which files a table needs: all that its metadata, its snapshots and their manifests name.

Law: what cannot be read is never taken for unused. A missing file of a snapshot that the table has raises; only files
of snapshots that are gone may be missing, because their clean-up may have begun before.

Paths are compared in one spelling (`/a`, `file:/a` and `file:///a` are the same file), and used as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from skipstone.commit.manifests import entries_of, is_live, manifests_of
from skipstone.errors import NotFound
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel
from skipstone.storage.paths import key_of
from skipstone.storage.protocol import Storage

_COLUMNS: Final = ("status", "content", "file_path")


def manifests_by_path(
    snapshots: Sequence[Snapshot], metadata: TableMetadata, storage: Storage, *, may_be_missing: bool = False
) -> dict[str, ManifestFile]:
    """The manifests of snapshots, each once."""

    def listed(snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        try:
            return manifests_of(storage, metadata, snapshot)
        except NotFound:
            if may_be_missing:
                return ()
            raise

    return {key_of(m.manifest_path): m for found in in_parallel(listed, snapshots) for m in found}


def live_files(
    manifests: Iterable[ManifestFile], metadata: TableMetadata, storage: Storage, *, may_be_missing: bool = False
) -> dict[str, tuple[str, int]]:
    """The live files of manifests: path as written and content, by the path's one spelling."""

    def read(manifest: ManifestFile) -> list[tuple[str, int]]:
        try:
            table: Any = entries_of(storage, metadata, manifest, columns=_COLUMNS)
        except NotFound:
            if may_be_missing:
                return []
            raise
        live = table.filter(is_live(table))
        return list(zip(live.column("file_path").to_pylist(), live.column("content").to_pylist(), strict=True))

    return {key_of(path): (path, content) for found in in_parallel(read, list(manifests)) for path, content in found}


def list_paths(snapshots: Iterable[Snapshot]) -> Mapping[str, str]:
    """The manifest lists of snapshots, by the one spelling."""
    return {key_of(s.manifest_list): s.manifest_list for s in snapshots if s.manifest_list is not None}


def statistics_paths(metadata: TableMetadata) -> Mapping[str, str]:
    """Registered statistics files, of tables and of partitions."""
    return {key_of(path): path for path in _statistics(metadata)}


def _statistics(metadata: TableMetadata) -> Iterator[str]:
    yield from (s.statistics_path for s in metadata.statistics)
    yield from (s.statistics_path for s in metadata.partition_statistics)
