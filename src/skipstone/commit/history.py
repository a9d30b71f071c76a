"""What others have committed to a branch since the work on a change began.

Only manifests that the snapshots in between have added are read. A history that cannot be told (a rollback, an expired
snapshot) is a conflict: nothing proves that nothing contradicts the change.

Spec: "Commit Conflict Resolution and Retry", "Snapshots".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from skipstone.commit.added import FileGroup
from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, integers, manifests_of, rows_at
from skipstone.errors import NotFound
from skipstone.metadata.history import snapshots_between
from skipstone.metadata.manifest import EntryStatus, ManifestContent
from skipstone.metadata.refs import MAIN
from skipstone.metadata.snapshots import Operation, Snapshot
from skipstone.metadata.table_metadata import TableMetadata


def parent_of(metadata: TableMetadata, ref: str) -> Snapshot | None:
    """The snapshot that a commit to a branch builds on. A branch that is not there starts at the current snapshot."""
    if ref == MAIN or ref not in metadata.refs:
        return metadata.current_snapshot
    return metadata.ref_snapshot(ref)


class History:
    """The snapshots of others, from what the caller saw to what is published now."""

    def __init__(self, base: TableMetadata, context: CommitContext, *, ref: str, operation: str) -> None:
        self.metadata = context.start
        self._context = context
        self._operation = operation
        self._before = parent_of(base, ref)
        self._after = parent_of(context.start, ref)

    @property
    def is_unchanged(self) -> bool:
        before, after = self._before, self._after
        return (before.snapshot_id if before else None) == (after.snapshot_id if after else None)

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """Oldest first."""
        if self.is_unchanged:
            return []
        if self._after is None:
            raise self._context.conflict(self._operation, "the branch was reset to hold nothing")
        before_id = self._before.snapshot_id if self._before else None
        try:
            return snapshots_between(self.metadata, after_id=before_id, up_to_id=self._after.snapshot_id)
        except NotFound as error:
            raise self._context.conflict(
                self._operation, f"snapshot {self._after.snapshot_id} does not follow from snapshot {before_id}"
            ) from error

    def added_data(self) -> list[FileGroup]:
        """Data files with new rows. Replaced files hold rows that were there before."""
        return list(self._entries(ManifestContent.DATA, EntryStatus.ADDED, lambda s: s.operation != Operation.REPLACE))

    def added_deletes(self) -> list[FileGroup]:
        return list(self._entries(ManifestContent.DELETES, EntryStatus.ADDED, lambda s: True))

    def removed_data(self) -> list[FileGroup]:
        return list(self._entries(ManifestContent.DATA, EntryStatus.DELETED, lambda s: s.operation != Operation.APPEND))

    def _entries(
        self, content: ManifestContent, status: EntryStatus, is_wanted: Callable[[Snapshot], bool]
    ) -> Iterator[FileGroup]:
        """What each snapshot did, from the manifests that it added itself."""
        for snapshot in self.snapshots:
            if not is_wanted(snapshot):
                continue
            for manifest in manifests_of(self._context.storage, self.metadata, snapshot):
                count = manifest.added_files_count if status == EntryStatus.ADDED else manifest.deleted_files_count
                if manifest.content != content or manifest.added_snapshot_id != snapshot.snapshot_id or count == 0:
                    continue
                # A retry meets the same manifests again.
                table: pa.Table = self._context.staging.once(
                    ("history", manifest),
                    lambda m=manifest: entries_of(self._context.storage, self.metadata, m, maps=True),  # type: ignore[misc]
                )
                ids: Any = integers(table, "snapshot_id")
                mask = (integers(table, "status") == status) & (ids == snapshot.snapshot_id)
                if np.any(mask):
                    spec = self.metadata.spec(manifest.partition_spec_id)
                    yield FileGroup(spec=spec, content=content, entries=rows_at(table, mask))
