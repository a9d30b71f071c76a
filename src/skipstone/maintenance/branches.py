"""Branches moved along history: back to an ancestor, forward to a descendant, or anywhere.

Laws: a branch is moved as the caller saw it, so a commit that others made to it meanwhile is a conflict, never lost.
Going back or forward follows parents and refuses to leave the branch's own history.

Spec: "Snapshot References", "Snapshots".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skipstone.commit.context import CommitContext
from skipstone.commit.refs import require_same_ref
from skipstone.errors import AlreadyExists, InvalidInput, NotFound
from skipstone.metadata.tables.history import ancestors_of, is_ancestor
from skipstone.metadata.tables.metadata_changes import remove_ref, set_ref
from skipstone.metadata.tables.refs import MAIN, SnapshotRef, branch
from skipstone.metadata.tables.table_metadata import TableMetadata


@dataclass(frozen=True, kw_only=True, eq=False)
class RollBack:
    """Move a branch back to one of its ancestors. The snapshots after it stay until they expire."""

    snapshot_id: int
    name: str = MAIN

    @property
    def operation(self) -> str:
        return f"rollback of branch '{self.name}'"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        require_same_ref(base, context, self.name, self.operation)
        ref = branch_of(current, self.name, self.operation)
        require_snapshot(base, current, self.snapshot_id, context, self.operation)
        if not is_ancestor(current, ancestor_id=self.snapshot_id, snapshot_id=ref.snapshot_id):
            raise InvalidInput(
                f"Cannot roll branch '{self.name}' back to snapshot {self.snapshot_id}: expected an ancestor of "
                f"snapshot {ref.snapshot_id}, got none. Set the branch to the snapshot instead."
            )
        return moved(current, self.name, ref, self.snapshot_id)


@dataclass(frozen=True, kw_only=True, eq=False)
class MoveRef:
    """Point a branch or tag to any snapshot; its retention rules stay."""

    snapshot_id: int
    name: str = MAIN

    @property
    def operation(self) -> str:
        return f"ref '{self.name}'"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        require_same_ref(base, context, self.name, self.operation)
        require_snapshot(base, current, self.snapshot_id, context, self.operation)
        if self.name == MAIN and MAIN not in current.refs:
            return set_ref(current, MAIN, branch(self.snapshot_id))
        return moved(current, self.name, current.ref(self.name), self.snapshot_id)


@dataclass(frozen=True, kw_only=True, eq=False)
class FastForward:
    """Move a branch on to where another ref points. A branch that is not there is made."""

    name: str
    to: str

    @property
    def operation(self) -> str:
        return f"fast-forward of branch '{self.name}'"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        require_same_ref(base, context, self.name, self.operation)
        target = current.ref(self.to).snapshot_id
        if self.name not in current.refs:
            return set_ref(current, self.name, branch(target))
        ref = branch_of(current, self.name, self.operation)
        if not is_ancestor(current, ancestor_id=ref.snapshot_id, snapshot_id=target):
            raise InvalidInput(
                f"Cannot fast-forward branch '{self.name}' to '{self.to}': expected snapshot {ref.snapshot_id} to be "
                f"an ancestor of snapshot {target}, got two that went apart. Cherry-pick what is missing instead."
            )
        return moved(current, self.name, ref, target)


@dataclass(frozen=True, kw_only=True, eq=False)
class RenameBranch:
    name: str
    new_name: str

    @property
    def operation(self) -> str:
        return f"renaming of branch '{self.name}'"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        require_same_ref(base, context, self.name, self.operation)
        if self.name == MAIN:
            raise InvalidInput(f"Cannot rename branch '{MAIN}': it always has this name. Make another branch instead.")
        ref = branch_of(current, self.name, self.operation)
        if self.new_name in current.refs:
            raise AlreadyExists(f"Cannot rename branch '{self.name}' to '{self.new_name}': the name is taken.")
        return set_ref(remove_ref(current, self.name), self.new_name, ref)


def moved(metadata: TableMetadata, name: str, ref: SnapshotRef, snapshot_id: int) -> TableMetadata:
    """The metadata with a ref at another snapshot; the same object if it is there already."""
    return (
        metadata if ref.snapshot_id == snapshot_id else set_ref(metadata, name, replace(ref, snapshot_id=snapshot_id))
    )


def branch_of(metadata: TableMetadata, name: str, operation: str) -> SnapshotRef:
    ref = metadata.ref(name)
    if not ref.is_branch:
        raise InvalidInput(f"Cannot commit {operation}: expected a branch, got the tag '{name}'.")
    return ref


def require_snapshot(
    base: TableMetadata, current: TableMetadata, snapshot_id: int, context: CommitContext, operation: str
) -> None:
    """The snapshot is there. One that has gone since the caller saw it is a conflict, not a mistake."""
    if snapshot_id in base.snapshots_by_id and snapshot_id not in current.snapshots_by_id:
        raise context.conflict(operation, f"snapshot {snapshot_id} was removed meanwhile")
    current.snapshot(snapshot_id)


def ancestor_as_of(metadata: TableMetadata, name: str, timestamp_ms: int) -> int:
    """The newest snapshot of a branch that was committed at a moment or before it."""
    ref = metadata.ref(name)
    for snapshot in ancestors_of(metadata, ref.snapshot_id):
        if snapshot.timestamp_ms <= timestamp_ms:
            return snapshot.snapshot_id
    raise NotFound(
        f"Cannot roll branch '{name}' back to {timestamp_ms} ms: no snapshot of it is that old. Choose a later time."
    )
