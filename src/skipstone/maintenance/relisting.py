"""Changes that list the same files in other manifests: not a row and not a file comes or goes.

A snapshot of kind `replace` is made only where a manifest changes; manifests without a live file are left behind.

Spec: "Snapshots", "Manifests".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from skipstone.commit.context import CommitContext
from skipstone.commit.history import parent_of
from skipstone.commit.manifests import counted, manifests_of
from skipstone.commit.producer import Effect, Plan, SnapshotChange
from skipstone.commit.removal import Remaining
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.snapshot_ids import new_snapshot_id
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata


@dataclass(frozen=True, kw_only=True, eq=False)
class Relisting(SnapshotChange):
    """What a subclass says is which manifests stand in for those of the branch."""

    @abstractmethod
    def relisted(
        self, before: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        """The manifests afterwards; those of `snapshot_id` are new, all others must be of `before`."""

    def is_all_right(
        self, parent: Snapshot, manifests: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext
    ) -> bool:
        """Whether a snapshot whose manifests stay the same needs no other in its stead."""
        return True

    def plan(self, current: TableMetadata, context: CommitContext) -> Plan:
        return Plan()

    def kind(self, effect: Effect) -> Operation:
        return Operation.REPLACE

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        self._check_target(current)
        parent = parent_of(current, self.ref)
        if parent is None:
            return current
        snapshot_id = context.staging.once(("snapshot", self), lambda: new_snapshot_id(current.snapshots_by_id))
        before = manifests_of(context.storage, current, parent)
        after = self.relisted(before, current, context, snapshot_id)
        if list(after) == list(before) and self.is_all_right(parent, before, current, context):
            return current
        known = [m if m.added_snapshot_id == snapshot_id else counted(context.storage, current, m) for m in after]
        listed = tuple(m for m in known if not m.has_no_live_files)
        effect = Effect(added=(), remaining=Remaining(manifests=()))
        return self._publishable(current, context, snapshot_id, parent, listed, before, effect)
