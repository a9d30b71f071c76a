"""Changes of branches and tags, and the removal of snapshots.

A ref is set or removed as the caller saw it: if somebody else has moved it meanwhile, that is a conflict. Snapshots are
removed only while no ref that the caller did not see needs them.

Spec: "Snapshot References", "Snapshot Retention Policy".
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from skipstone.commit.context import CommitContext
from skipstone.errors import AlreadyExists, InvalidInput
from skipstone.metadata.tables.metadata_changes import remove_ref, remove_snapshots, set_ref
from skipstone.metadata.tables.refs import MAIN, SnapshotRef
from skipstone.metadata.tables.table_metadata import TableMetadata


@dataclass(frozen=True, kw_only=True, eq=False)
class SetRef:
    """Make a branch or tag, or move it, or change its retention. With `is_new` it must not exist yet."""

    name: str
    ref: SnapshotRef
    is_new: bool = False

    @property
    def operation(self) -> str:
        return f"ref '{self.name}'"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        if self.is_new and self.name in base.refs:
            raise AlreadyExists(f"Cannot create {self.ref.type} '{self.name}' in {context.table}: the name is taken.")
        require_same_ref(base, context, self.name, self.operation)
        is_gone = self.ref.snapshot_id not in current.snapshots_by_id
        if is_gone and self.ref.snapshot_id in base.snapshots_by_id:
            raise context.conflict(self.operation, f"snapshot {self.ref.snapshot_id} was removed meanwhile")
        return current if current.refs.get(self.name) == self.ref else set_ref(current, self.name, self.ref)


@dataclass(frozen=True, kw_only=True, eq=False)
class RemoveRef:
    name: str

    @property
    def operation(self) -> str:
        return f"removal of ref '{self.name}'"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        if self.name == MAIN:
            raise InvalidInput(
                f"Cannot drop branch '{MAIN}' of {context.table}: it is what the table is without a name. "
                f"Roll it back, or drop the table."
            )
        require_same_ref(base, context, self.name, self.operation)
        return remove_ref(current, self.name)


def require_same_ref(base: TableMetadata, context: CommitContext, name: str, operation: str) -> None:
    """Nobody has moved, made or removed the ref since the caller saw it."""
    before, now = base.refs.get(name), context.start.refs.get(name)
    if before != now:
        state = "was removed" if now is None else f"was set to snapshot {now.snapshot_id}"
        raise context.conflict(operation, f"ref '{name}' {state} meanwhile")


@dataclass(frozen=True, kw_only=True, eq=False)
class RemoveSnapshots:
    """Remove snapshots, and refs by name first. No ref may be left that points to one of them."""

    snapshot_ids: Collection[int]
    refs: Collection[str] = ()

    @property
    def operation(self) -> str:
        return "removal of snapshots"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        changed = current
        for name in self.refs:
            require_same_ref(base, context, name, self.operation)
            changed = remove_ref(changed, name)
        for name, ref in changed.refs.items():
            if ref.snapshot_id in self.snapshot_ids:
                raise context.conflict(self.operation, f"ref '{name}' points to snapshot {ref.snapshot_id}")
        gone = [i for i in self.snapshot_ids if i in changed.snapshots_by_id]
        return remove_snapshots(changed, gone) if gone else changed


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangeMetadata:
    """Any other change of metadata.

    `change` gets the metadata of the attempt and returns it changed, the same object if there is nothing to do. It may
    raise `context.conflict(...)`.
    """

    operation: str
    change: Callable[[TableMetadata, TableMetadata, CommitContext], TableMetadata]

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        return self.change(base, current, context)
