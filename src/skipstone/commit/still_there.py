"""Files that a change names are in the table, or are not: those to remove, those to add, and the one deletion vector
that a data file may have.

Where nobody committed meanwhile, a file that is not there is the caller's mistake; otherwise it is a conflict.

Spec: "Commit Conflict Resolution and Retry", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute

from skipstone.commit.conflicts import Conflicts
from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, is_live
from skipstone.commit.removal import Remaining, Removal, missing_of, paths_of
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.paths import key_of, keys_of

pc: Any = pyarrow.compute

_VECTOR_COLUMNS = ("status", "referenced_data_file", "content_offset")


def check_all_removed(removal: Removal, remaining: Remaining, conflicts: Conflicts) -> None:
    """Every file that shall go was there."""
    if removal.data_paths:
        missing = missing_of(removal.data_paths, remaining.paths(ManifestContent.DATA))
        if missing:
            raise conflicts.absent(f"data file {missing[0]}", others=len(missing) - 1)
    if removal.delete_files:
        gone = sorted(removal.delete_files - remaining.delete_keys(), key=str)
        if gone:
            raise conflicts.absent(f"delete file {gone[0][0]}", others=len(gone) - 1)


def check_not_there(files: pa.Table, remaining: Remaining, *, metadata: TableMetadata, context: CommitContext) -> None:
    """None of the new data files is there, however its path is spelled."""
    new = {key_of(path): path for path in paths_of(files)}
    for manifest in remaining.manifests:
        if manifest.content == ManifestContent.DATA and not manifest.has_no_live_files:
            there = context.staging.once(
                ("paths", manifest.manifest_path),
                lambda m=manifest: _live_paths(m, metadata, context),  # type: ignore[misc]
            )
            known = pc.filter(there, pc.is_in(there, pa.array(list(new), pa.string())))
            for path in known.to_pylist():
                raise InvalidInput(
                    f"Cannot add file {new[path]}: it is in the table already, and its rows would be there twice. "
                    "Leave it out."
                )


def _live_paths(manifest: ManifestFile, metadata: TableMetadata, context: CommitContext) -> Any:
    table: Any = entries_of(context.storage, metadata, manifest, columns=("status", "file_path"))
    return keys_of(table.filter(is_live(table)).column("file_path"))


def check_one_vector_each(
    vectors: Collection[str],
    remaining: Remaining,
    conflicts: Conflicts,
    *,
    metadata: TableMetadata,
    context: CommitContext,
) -> None:
    """No data file that gets a deletion vector keeps another one."""
    if not vectors:
        return
    conflicts.no_new_vectors_for(vectors)
    for manifest in remaining.manifests:
        if manifest.content == ManifestContent.DELETES and not manifest.has_no_live_files:
            # A retry meets most of the manifests again.
            targets = context.staging.once(
                ("vector targets", manifest.manifest_path),
                lambda m=manifest: _vector_targets(m, metadata, context),  # type: ignore[misc]
            )
            for path in targets:
                if path in vectors:
                    raise InvalidInput(
                        f"Cannot add a deletion vector to data file {path}: expected it to take in and remove the one "
                        f"that is there, got both. Merge them and name the old one to be removed."
                    )


def _vector_targets(manifest: ManifestFile, metadata: TableMetadata, context: CommitContext) -> list[str]:
    table = entries_of(context.storage, metadata, manifest, columns=_VECTOR_COLUMNS)
    offsets: Any = table.column("content_offset")
    mask = is_live(table) & offsets.is_valid().to_numpy()
    named: Any = table.column("referenced_data_file")
    return [path for path, is_vector in zip(named.to_pylist(), mask, strict=True) if is_vector]
