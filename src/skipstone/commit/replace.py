"""Replace: files are exchanged for others with the same rows, as compaction does.

The new data files keep the sequence number of the snapshot they were made from, so that equality deletes which others
add meanwhile still apply to their rows. Position deletes and deletion vectors point to files, so new ones for a file
that goes are a conflict.

Spec: "Commit Conflict Resolution and Retry", "Sequence Number Inheritance", "Scan Planning".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from skipstone.commit.conflicts import Conflicts
from skipstone.commit.context import CommitContext
from skipstone.commit.producer import Effect, Plan, SnapshotChange
from skipstone.commit.removal import Removal, delete_keys_of, partitions_of, paths_of
from skipstone.commit.still_there import check_all_removed
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.snapshots import Operation
from skipstone.metadata.tables.table_metadata import TableMetadata


@dataclass(frozen=True, kw_only=True, eq=False)
class Replace(SnapshotChange):
    """Exchange data files, and delete files whose deletes the new files have applied.

    `data_sequence_number` is that of the snapshot the files were read at; None gives the new files the new snapshot's,
    and then new equality deletes are a conflict too.
    """

    files: pa.Table | None = None
    remove_files: Any = None
    remove_delete_files: Any = None
    data_sequence_number: int | None = None

    @property
    def operation(self) -> str:
        return "replace"

    def plan(self, current: TableMetadata, context: CommitContext) -> Plan:
        removal = Removal(
            data_paths=paths_of(self.remove_files),
            data_partitions=partitions_of(self.remove_files, current),
            delete_files=delete_keys_of(self.remove_delete_files),
        )
        if removal.is_empty:
            raise InvalidInput("Cannot replace files: expected files to remove, got none. Append instead.")

        def check(conflicts: Conflicts, effect: Effect) -> None:
            check_all_removed(removal, effect.remaining, conflicts)
            data = [r for r in effect.remaining.removed if r.content == ManifestContent.DATA]
            conflicts.no_new_deletes_for(data, ignore_equality=self.data_sequence_number is not None)

        return Plan(added=self.files, removal=removal, data_sequence_number=self.data_sequence_number, check=check)

    def kind(self, effect: Effect) -> Operation:
        return Operation.REPLACE
