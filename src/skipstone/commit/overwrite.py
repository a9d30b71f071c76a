"""Overwrite: data files come in place of others, named one by one, by a filter, or by the partitions that come.

The isolation decides what others may have committed meanwhile. Always: files that go must still be there, and nobody
may have deleted rows of them since, because the new files would bring the rows back.

Spec: "Commit Conflict Resolution and Retry", "Snapshots".
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from skipstone.commit.added import groups_of
from skipstone.commit.append import refuse_deletes
from skipstone.commit.conflicts import Conflicts, Isolation
from skipstone.commit.context import CommitContext
from skipstone.commit.matching import partition_keys
from skipstone.commit.producer import Effect, Plan, SnapshotChange
from skipstone.commit.removal import Removal, delete_keys_of, partitions_of, paths_of
from skipstone.commit.still_there import check_all_removed
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.snapshots import Operation
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.predicate.normalise import normalise

REPLACE_PARTITIONS: Final = "replace-partitions"


@dataclass(frozen=True, kw_only=True, eq=False)
class Overwrite(SnapshotChange):
    """Add data files and remove others.

    `remove_files` names data files, `predicate` (bound) those of which every row matches. `conflict_filter` (bound)
    says which rows the change was computed from; without it, `predicate`. With neither, no rows are assumed.
    """

    files: pa.Table | None = None
    remove_files: Any = None
    remove_delete_files: Any = None
    predicate: Predicate | None = None
    conflict_filter: Predicate | None = None
    isolation: Isolation = Isolation.SERIALIZABLE

    @property
    def operation(self) -> str:
        return "overwrite"

    def plan(self, current: TableMetadata, context: CommitContext) -> Plan:
        refuse_deletes(self.files, self.operation)
        removal = Removal(
            data_paths=paths_of(self.remove_files),
            data_partitions=partitions_of(self.remove_files, current),
            delete_files=delete_keys_of(self.remove_delete_files),
            predicate=None if self.predicate is None else normalise(self.predicate),
            float_order=self.float_order,
        )
        looked_at = self.conflict_filter if self.conflict_filter is not None else self.predicate

        def check(conflicts: Conflicts, effect: Effect) -> None:
            check_all_removed(removal, effect.remaining, conflicts)
            if removal.data_paths:
                data = [r for r in effect.remaining.removed if r.content == ManifestContent.DATA]
                conflicts.no_new_deletes_for(data)
            if looked_at is None:
                return
            if effect.adds(ManifestContent.DATA):
                # New rows may be copies of rows that are deleted meanwhile. Deletes alone add up in any order.
                conflicts.no_new_deletes(normalise(looked_at))
            if self.isolation == Isolation.SERIALIZABLE:
                conflicts.no_new_data(normalise(looked_at))

        return Plan(added=self.files, removal=removal, check=check)

    def kind(self, effect: Effect) -> Operation:
        if not effect.removes(ManifestContent.DATA):
            return Operation.APPEND if effect.adds(ManifestContent.DATA) else Operation.DELETE
        return Operation.OVERWRITE if effect.adds(ManifestContent.DATA) else Operation.DELETE


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplacePartitions(SnapshotChange):
    """Add data files; all that was in their partitions goes. In an unpartitioned table, that is everything.

    Files of other partition specs stay, as in the reference implementation, unless the new files have no partitions:
    then all files go, whatever their spec. `isolation` None lets the last writer win.
    """

    files: pa.Table
    isolation: Isolation | None = None

    @property
    def operation(self) -> str:
        return "overwrite of partitions"

    @property
    def marks(self) -> Mapping[str, str]:
        # Says that the snapshot can be done again elsewhere: nothing but its new files decides what goes.
        return {REPLACE_PARTITIONS: "true"}

    def plan(self, current: TableMetadata, context: CommitContext) -> Plan:
        refuse_deletes(self.files, self.operation)
        partitions: dict[int, frozenset[Hashable]] = {
            group.spec.spec_id: frozenset(partition_keys(group.entries, current, group.spec))
            for group in groups_of(self.files, current)
        }
        if any(not current.spec(spec_id).fields for spec_id in partitions):
            return self._plan_everything()

        def check(conflicts: Conflicts, effect: Effect) -> None:
            if self.isolation is None:
                return
            conflicts.no_new_deletes_in(partitions)
            if self.isolation == Isolation.SERIALIZABLE:
                conflicts.no_new_data_in(partitions)

        return Plan(added=self.files, removal=Removal(partitions=partitions), check=check)

    def _plan_everything(self) -> Plan:
        def check(conflicts: Conflicts, effect: Effect) -> None:
            if self.isolation is None:
                return
            conflicts.no_new_deletes(TRUE)
            if self.isolation == Isolation.SERIALIZABLE:
                conflicts.no_new_data(TRUE)

        return Plan(added=self.files, removal=Removal(predicate=TRUE), check=check)

    def kind(self, effect: Effect) -> Operation:
        return Operation.OVERWRITE
