"""What is planned: a predicate on a snapshot, and what of its entries is asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import FILE_COLUMNS
from skipstone.plan.file_verdicts import judge_files
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`metrics` are the columns whose metrics matter, `columns` those of the entries."""

    metadata: TableMetadata
    storage: Storage
    snapshot: Snapshot
    schema: Schema
    predicate: Predicate
    float_order: FloatOrder
    metrics: Collection[int]
    columns: tuple[str, ...] = FILE_COLUMNS

    def judged(self, files: Any) -> Any:
        """Files with their verdicts."""
        return judge_files(
            files,
            predicate=self.predicate,
            metadata=self.metadata,
            schema=self.schema,
            float_order=self.float_order,
        )
