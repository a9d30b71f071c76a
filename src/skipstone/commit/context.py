"""What a change may use while it is applied: storage, staged files, the clock, and where the attempt starts.

A change is a value that says what shall happen. `apply` says what that means for the metadata at hand; it is called
anew for each attempt, with the metadata that is then current.

Spec: "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from skipstone.commit.staging import Staging
from skipstone.errors import CommitRejected
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitContext:
    """One attempt of one commit.

    `start` is the published metadata that the attempt builds on. What differs between `base` and `start` others have
    done; what differs between `start` and the metadata a change is applied to, this commit's earlier changes have done.
    """

    table: str
    staging: Staging
    now_ms: int
    start: TableMetadata
    # The snapshots of this attempt, in order, and the manifests each of them lists.
    snapshots: dict[int, tuple[ManifestFile, ...]] = field(default_factory=dict)
    manifest_lists: list[str] = field(default_factory=list)

    @property
    def storage(self) -> Storage:
        return self.staging.storage

    def staged_files(self) -> Collection[str]:
        """The files that the snapshots of this attempt name."""
        return {*self.manifest_lists, *(m.manifest_path for listed in self.snapshots.values() for m in listed)}

    def conflict(self, operation: str, why: str) -> CommitRejected:
        """The error of a change that contradicts what others have committed."""
        return CommitRejected(
            f"Cannot commit {operation} to {self.table}: {why}. Nothing was published. "
            f"Read the table again and repeat the operation."
        )


class Change(Protocol):
    """Something to do to a table."""

    @property
    def operation(self) -> str:
        """What the change does, in one or two words, for messages."""

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        """The metadata after the change.

        `base` is what the caller saw when the work began. Raises CommitRejected if what others have done since, from
        `base` to `context.start`, contradicts the change. Unchanged metadata is returned as the same object.
        """
