"""Delete: data files go, nothing comes; named one by one, or all of which every row matches a filter.

Files named must still be there. A filter can always be applied, as long as it decides about whole files.

Spec: "Commit Conflict Resolution and Retry", "Snapshots".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skipstone.commit.conflicts import Conflicts
from skipstone.commit.context import CommitContext
from skipstone.commit.producer import Effect, Plan, SnapshotChange
from skipstone.commit.removal import Removal, delete_keys_of, partitions_of, paths_of
from skipstone.commit.still_there import check_all_removed
from skipstone.metadata.tables.snapshots import Operation
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.predicate.nodes import Predicate
from skipstone.predicate.normalise import normalise


@dataclass(frozen=True, kw_only=True, eq=False)
class Delete(SnapshotChange):
    """Remove data files by path, delete files by path and offset, or data files by a bound predicate.

    `files` and `delete_files` are tables with `file_path` (and `content_offset`), arrays or sequences of paths.
    """

    files: Any = None
    delete_files: Any = None
    predicate: Predicate | None = None

    @property
    def operation(self) -> str:
        return "delete"

    def plan(self, current: TableMetadata, context: CommitContext) -> Plan:
        removal = Removal(
            data_paths=paths_of(self.files),
            data_partitions=partitions_of(self.files, current),
            delete_files=delete_keys_of(self.delete_files),
            predicate=None if self.predicate is None else normalise(self.predicate),
            float_order=self.float_order,
        )

        def check(conflicts: Conflicts, effect: Effect) -> None:
            check_all_removed(removal, effect.remaining, conflicts)

        return Plan(removal=removal, check=check)

    def kind(self, effect: Effect) -> Operation:
        return Operation.DELETE
