"""Files that expired snapshots needed and no other does, and their removal.

Laws: a file that a kept snapshot reaches is never part of it. It is all known before the first file is deleted. Files
that cannot be deleted are left and told: they are orphans, no more.

Spec: "Snapshot Retention Policy", "Table Statistics".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from skipstone.errors import SkipstoneError
from skipstone.index.cleaning import unused_index_files
from skipstone.maintenance.reachable import list_paths, live_files, manifests_by_path, statistics_paths
from skipstone.metadata.manifests.manifest import FileContent, ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.cleaning import unused_analysis_files
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """Paths by kind, in the order in which they are deleted: what is named before what names it."""

    data_files: tuple[str, ...] = ()
    delete_files: tuple[str, ...] = ()
    statistics_files: tuple[str, ...] = ()
    index_files: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    manifest_lists: tuple[str, ...] = ()

    def by_kind(self) -> dict[str, tuple[str, ...]]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def paths(self) -> list[str]:
        return [path for paths in self.by_kind().values() for path in paths]


def garbage_of(before: TableMetadata, after: TableMetadata, storage: Storage) -> Garbage:
    """What the snapshots that are in `before` and not in `after` leave behind."""
    gone = [s for s in before.snapshots if s.snapshot_id not in after.snapshots_by_id]
    if not gone:
        return Garbage(statistics_files=_unused_statistics(before, after, storage))
    kept_manifests = manifests_by_path(after.snapshots, after, storage)
    old_manifests = manifests_by_path(gone, before, storage, may_be_missing=True)
    dead = {key: m for key, m in old_manifests.items() if key not in kept_manifests}
    # A file that is live in a manifest which is kept is live in a kept snapshot; all others are in dead manifests.
    candidates = live_files(dead.values(), before, storage, may_be_missing=True)
    if candidates:
        needed = live_files(kept_manifests.values(), after, storage)
        candidates = {key: found for key, found in candidates.items() if key not in needed}
    kept_lists = list_paths(after.snapshots)
    return Garbage(
        data_files=tuple(p for p, content in candidates.values() if content == FileContent.DATA),
        delete_files=tuple(p for p, content in candidates.values() if content != FileContent.DATA),
        statistics_files=_unused_statistics(before, after, storage),
        index_files=_unused_index(before, kept_manifests, kept_lists, dead, list_paths(gone), storage),
        manifests=tuple(m.manifest_path for m in dead.values()),
        manifest_lists=tuple(path for key, path in list_paths(gone).items() if key not in kept_lists),
    )


def _unused_index(
    before: TableMetadata,
    kept_manifests: Mapping[str, ManifestFile],
    kept_lists: Mapping[str, str],
    dead: Mapping[str, ManifestFile],
    gone_lists: Mapping[str, str],
    storage: Storage,
) -> tuple[str, ...]:
    kept = [m.manifest_path for m in kept_manifests.values()], kept_lists.values()
    gone = [m.manifest_path for m in dead.values()], [p for key, p in gone_lists.items() if key not in kept_lists]
    return tuple(unused_index_files(before, storage, kept=kept, gone=gone))


def _unused_statistics(before: TableMetadata, after: TableMetadata, storage: Storage) -> tuple[str, ...]:
    needed = statistics_paths(after)
    registered = (path for key, path in statistics_paths(before).items() if key not in needed)
    return (*registered, *unused_analysis_files(before, after, storage))


def delete_garbage(garbage: Garbage, storage: Storage) -> tuple[str, ...]:
    """Delete the files; the messages of what could not be deleted."""
    failures = []
    for kind, paths in garbage.by_kind().items():
        try:
            if paths:
                storage.delete_many(paths)
        except (SkipstoneError, OSError) as error:
            failures.append(f"Cannot delete {kind.replace('_', ' ')}: {error} Remove orphan files later.")
    return tuple(failures)
