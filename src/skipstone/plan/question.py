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
from skipstone.predicate.nodes import Predicate, field_ids
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`columns` are those that entries come with, `needed` the columns of rows whose metrics they come with."""

    metadata: TableMetadata
    storage: Storage
    snapshot: Snapshot
    schema: Schema
    predicate: Predicate
    float_order: FloatOrder
    needed: Collection[int] = ()
    columns: tuple[str, ...] = FILE_COLUMNS

    @property
    def metrics(self) -> tuple[int, ...]:
        """The columns whose metrics matter: entries are judged by those of the predicate, which then are let go."""
        return *self.needed, *field_ids(self.predicate)

    def judged(self, files: Any) -> Any:
        """Files with their verdicts, and with the metrics that are needed."""
        judged = judge_files(
            files,
            predicate=self.predicate,
            metadata=self.metadata,
            schema=self.schema,
            float_order=self.float_order,
        )
        judged_by = tuple(f"{i}." for i in field_ids(self.predicate) - set(self.needed))
        return judged.drop_columns([n for n in judged.column_names if n.startswith(judged_by)])
