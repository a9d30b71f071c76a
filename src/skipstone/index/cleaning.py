"""Index files that nothing needs any more.

Law: a file that a kept snapshot can use stays, and so does a roll-up that a kept one builds on.
"""

from __future__ import annotations

from collections.abc import Iterable

from skipstone.index.loading import find_rollup
from skipstone.index.places import index_directory, is_index_file, rollup_path, sidecar_path
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import FileInfo, Storage


def index_files(metadata: TableMetadata, storage: Storage) -> list[FileInfo]:
    """All files of a table's index; none where it cannot be reached."""
    directory = index_directory(metadata)
    return [] if directory is None else [info for info in storage.list(directory) if is_index_file(info.path)]


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def needed_index_files(
    metadata: TableMetadata, storage: Storage, manifests: Iterable[str], manifest_lists: Iterable[str]
) -> set[str]:
    """The paths, there or not, of the index files that serve these manifests and manifest lists."""
    directory = index_directory(metadata)
    if directory is None:
        return set()
    stored = {name_of(info.path) for info in index_files(metadata, storage)}
    needed = {sidecar_path(directory, path) for path in manifests}
    for manifest_list in manifest_lists:
        path = rollup_path(directory, manifest_list)
        needed.add(path)
        rollup = find_rollup(storage, path, []) if name_of(path) in stored else None
        if rollup is not None and rollup.header.base is not None:
            needed.add(rollup.header.base)
    return needed


def unused_index_files(
    metadata: TableMetadata,
    storage: Storage,
    *,
    kept: tuple[Iterable[str], Iterable[str]],
    gone: tuple[Iterable[str], Iterable[str]],
) -> list[str]:
    """The index files of manifests and manifest lists that are gone, and not needed by what is kept."""
    directory = index_directory(metadata)
    stored = {name_of(info.path): info.path for info in index_files(metadata, storage)}
    if directory is None or not stored:
        return []
    # A base may have outlived its snapshot: it goes with the last roll-up that names it.
    candidates, needed = (
        {name_of(path) for path in needed_index_files(metadata, storage, *which)} for which in (gone, kept)
    )
    return sorted(path for name, path in stored.items() if name in candidates - needed)
