"""What others have committed to a branch since the work on a change began.

Only manifests that the snapshots in between have added are read. A history that cannot be told (a rollback, an expired
snapshot) is a conflict: nothing proves that nothing contradicts the change.

Spec: "Commit Conflict Resolution and Retry", "Snapshots".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from skipstone.commit.added import FileGroup
from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, integers, manifests_of, rows_at
from skipstone.errors import NotFound
from skipstone.metadata.manifests.manifest import EntryStatus, ManifestContent
from skipstone.metadata.tables.history import snapshots_between
from skipstone.metadata.tables.refs import MAIN
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata


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

    @contextmanager
    def unseen_by(self, check: Hashable) -> Iterator[History]:
        """The part of the history that a check has not passed in an earlier attempt: what is published stays as it is.

        `check` names it with all that it depends on. It passes when the block ends without an error.
        """
        passed: set[int] = self._context.staging.once(("passed", check), set)
        unseen = copy(self)
        unseen.snapshots = [s for s in self.snapshots if s.snapshot_id not in passed]
        yield unseen
        passed.update(s.snapshot_id for s in unseen.snapshots)

    def added_data(self) -> list[FileGroup]:
        """Data files with new rows. Replaced files hold rows that were there before, and deletes add none."""
        without = (Operation.REPLACE, Operation.DELETE)
        return self._entries(ManifestContent.DATA, EntryStatus.ADDED, lambda s: s.operation not in without)

    def added_deletes(self) -> list[FileGroup]:
        return self._entries(ManifestContent.DELETES, EntryStatus.ADDED, lambda s: s.operation != Operation.APPEND)

    def removed_data(self) -> list[FileGroup]:
        return self._entries(ManifestContent.DATA, EntryStatus.DELETED, lambda s: s.operation != Operation.APPEND)

    def _entries(
        self, content: ManifestContent, status: EntryStatus, is_wanted: Callable[[Snapshot], bool]
    ) -> list[FileGroup]:
        """What the snapshots did, from the manifests that each added itself, with as few groups as there can be."""
        found: dict[tuple[int, str], list[pa.Table]] = {}
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
                    # The type of partition values may have been promoted in between.
                    key = (manifest.partition_spec_id, str(table.schema))
                    found.setdefault(key, []).append(rows_at(table, mask))
        return [
            FileGroup(spec=self.metadata.spec(spec_id), content=content, entries=pa.concat_tables(tables))
            for (spec_id, _), tables in found.items()
        ]
