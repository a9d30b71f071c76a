"""Append: data files come, nothing goes. It contradicts nothing and can always be applied.

A merging append keeps the number of manifests small; a fast append never rewrites one.

Spec: "Commit Conflict Resolution and Retry", "Snapshots".
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from skipstone.commit.conflicts import Conflicts
from skipstone.commit.context import CommitContext
from skipstone.commit.producer import Effect, Plan, SnapshotChange
from skipstone.commit.still_there import check_not_there
from skipstone.errors import InvalidInput
from skipstone.metadata.tables.snapshots import Operation
from skipstone.metadata.tables.table_metadata import TableMetadata


@dataclass(frozen=True, kw_only=True, eq=False)
class Append(SnapshotChange):
    """Add data files: a table of data-file columns and `spec_id`.

    With `refuses_known`, none of them may be in the table already: its rows would be there twice.
    """

    files: pa.Table
    is_fast: bool = False
    refuses_known: bool = False

    @property
    def operation(self) -> str:
        return "append"

    def plan(self, current: TableMetadata, context: CommitContext) -> Plan:
        refuse_deletes(self.files, self.operation)

        def check(conflicts: Conflicts, effect: Effect) -> None:
            check_not_there(self.files, effect.remaining, metadata=current, context=context)

        return Plan(added=self.files, merges=not self.is_fast, check=check if self.refuses_known else None)

    def kind(self, effect: Effect) -> Operation:
        return Operation.APPEND


def refuse_deletes(files: pa.Table | None, operation: str) -> None:
    """Only row deltas add delete files."""
    if files is None or "content" not in files.column_names or files.num_rows == 0:
        return
    most = pc.max(files.column("content")).as_py()
    if most:
        raise InvalidInput(
            f"Cannot {operation} delete files: expected content 0 (data), got {most}. Commit a row delta instead."
        )
