"""What can be done to a table's branches and tags, alone or as part of a transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skipstone.commit import Change, RemoveRef, SetRef
from skipstone.errors import InvalidInput, NotFound
from skipstone.maintenance import CherryPick, FastForward, MoveRef, RenameBranch, RollBack
from skipstone.maintenance.branches import ancestor_as_of
from skipstone.maintenance.cherry_pick import staged_snapshot
from skipstone.metadata.tables.refs import MAIN, RefType, SnapshotRef
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.moments import timestamp_ms


class Timeline:
    """The verbs that move, make and remove refs."""

    name: str

    @property
    def metadata(self) -> TableMetadata:
        raise NotImplementedError

    def _apply(self, change: Change) -> None:
        raise NotImplementedError

    # -- branches and tags

    def create_branch(
        self,
        name: str,
        snapshot_id: int | None = None,
        *,
        min_snapshots_to_keep: int | None = None,
        max_snapshot_age_ms: int | None = None,
        max_ref_age_ms: int | None = None,
    ) -> None:
        """A branch at a snapshot, the current one by default."""
        ref = SnapshotRef(
            snapshot_id=self._snapshot_id(snapshot_id),
            type=RefType.BRANCH,
            min_snapshots_to_keep=min_snapshots_to_keep,
            max_snapshot_age_ms=max_snapshot_age_ms,
            max_ref_age_ms=max_ref_age_ms,
        )
        self._apply(SetRef(name=name, ref=ref, is_new=True))

    def create_tag(self, name: str, snapshot_id: int | None = None, *, max_ref_age_ms: int | None = None) -> None:
        """A tag on a snapshot, the current one by default."""
        ref = SnapshotRef(snapshot_id=self._snapshot_id(snapshot_id), type=RefType.TAG, max_ref_age_ms=max_ref_age_ms)
        self._apply(SetRef(name=name, ref=ref, is_new=True))

    def drop_ref(self, name: str) -> None:
        self._apply(RemoveRef(name=name))

    def replace_ref(self, name: str, snapshot_id: int) -> None:
        """Point a branch or tag to another snapshot; its retention rules stay."""
        self.metadata.ref(name)
        self._apply(MoveRef(name=name, snapshot_id=snapshot_id))

    def rename_branch(self, name: str, new_name: str) -> None:
        self._apply(RenameBranch(name=name, new_name=new_name))

    def set_retention(
        self,
        name: str,
        *,
        min_snapshots_to_keep: int | None = None,
        max_snapshot_age_ms: int | None = None,
        max_ref_age_ms: int | None = None,
    ) -> None:
        """The retention rules of a branch or tag; what is not given is left to the table's properties."""
        ref = replace(
            self.metadata.ref(name),
            min_snapshots_to_keep=min_snapshots_to_keep,
            max_snapshot_age_ms=max_snapshot_age_ms,
            max_ref_age_ms=max_ref_age_ms,
        )
        self._apply(SetRef(name=name, ref=ref))

    # -- going back and forth

    def rollback_to(self, snapshot_id: int | None = None, *, as_of: Any = None, branch: str = MAIN) -> None:
        """Take a branch back to one of its ancestors: by id, or the last one at a point in time."""
        if (snapshot_id is None) == (as_of is None):
            raise InvalidInput(f"Cannot roll {self.name} back: expected either a snapshot id or as_of.")
        if snapshot_id is None:
            snapshot_id = ancestor_as_of(self.metadata, branch, timestamp_ms(as_of))
        self._apply(RollBack(snapshot_id=snapshot_id, name=branch))

    def set_current_snapshot(self, snapshot_id: int | None = None, *, ref: str | None = None) -> None:
        """Make any snapshot of the table the current one: by id, or where a ref points."""
        if (snapshot_id is None) == (ref is None):
            raise InvalidInput(f"Cannot set the current snapshot of {self.name}: expected either an id or a ref.")
        if snapshot_id is None:
            snapshot_id = self.metadata.ref(str(ref)).snapshot_id
        self._apply(MoveRef(snapshot_id=snapshot_id))

    def fast_forward(self, branch: str, to: str) -> None:
        """Move a branch on to where another ref is, which must descend from it."""
        self._apply(FastForward(name=branch, to=to))

    def cherry_pick(self, snapshot_id: int) -> None:
        """Do again on the current state what a snapshot did: an append, or an overwrite of partitions."""
        self._apply(CherryPick(snapshot_id=snapshot_id))

    # -- write, audit, publish

    def staged(self, wap_id: str) -> Snapshot:
        """The snapshot that was staged under an id and that no branch shows yet."""
        return staged_snapshot(self.metadata, wap_id)

    def publish(self, wap_id: str) -> None:
        """Make what was staged under an id part of the table."""
        self._apply(CherryPick(snapshot_id=self.staged(wap_id).snapshot_id))

    # -- help

    def _snapshot_id(self, given: int | None) -> int:
        if given is not None:
            return self.metadata.snapshot(given).snapshot_id
        current = self.metadata.current_snapshot_id
        if current is None:
            raise NotFound(f"Cannot refer to the current snapshot of {self.name}: the table has none. Append first.")
        return current
