"""Batches of a stream, each committed once: the number of the last one is stored with its rows, in the same commit.

    skipstone.stream.<query id> = 41        # a table property: batches 0 to 41 of the query are in the table

Law: a batch that is in the table is never added again, whoever tries and however often; the number and the rows are
published together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from skipstone.commit import Append, Change, CommitContext, Overwrite, UpdateProperties
from skipstone.commit.producer import SnapshotChange
from skipstone.errors import CommitRejected, InvalidInput
from skipstone.metadata.tables.properties import STREAM_BATCH
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.statistics import with_partition_statistics
from skipstone.table import Table

QUERY_ID: Final = "skipstone.stream.query-id"
BATCH_ID: Final = "skipstone.stream.batch-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch of one query. The id of a query stays the same when it is restarted from its checkpoint."""

    query_id: str
    batch_id: int

    def __post_init__(self) -> None:
        if not self.query_id or self.batch_id < 0:
            raise InvalidInput(
                f"Invalid batch {self.batch_id} of query {self.query_id!r}: expected a number from 0 and an id."
            )

    @property
    def property_key(self) -> str:
        return STREAM_BATCH.prefix + self.query_id

    @property
    def summary(self) -> Mapping[str, str]:
        """What the batch's snapshot says about it."""
        return {QUERY_ID: self.query_id, BATCH_ID: str(self.batch_id)}

    def is_in(self, metadata: TableMetadata) -> bool:
        """Whether the table has this batch, or a later one of the same query."""
        text = metadata.properties.get(self.property_key)
        return text is not None and STREAM_BATCH.value(self.property_key, text) >= self.batch_id


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkBatch:
    """Note a batch as committed; a conflict if it is already."""

    batch: Batch

    @property
    def operation(self) -> str:
        return "stream batch"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        if self.batch.is_in(current):
            raise context.conflict(
                self.operation, f"batch {self.batch.batch_id} of query {self.batch.query_id} is in the table"
            )
        update = UpdateProperties(updates={self.batch.property_key: str(self.batch.batch_id)})
        return update.apply(base, current, context)


class BatchTable(Table):
    """A table as one batch of a stream sees it: the one change made to it is committed with the batch's mark."""

    def __init__(self, table: Table, batch: Batch) -> None:
        super().__init__(table._loaded, catalog=table._catalog, storage=table.storage)
        self._batch = batch

    def _apply(self, change: Change) -> None:
        transaction = self._begin()
        try:
            transaction.add(MarkBatch(batch=self._batch))
            if not _changes_nothing(change):
                transaction.add(self._told(change))
                with_partition_statistics(transaction)
        except BaseException:
            transaction.discard()
            raise
        self._take(transaction.commit())

    def _told(self, change: Change) -> Change:
        if not isinstance(change, SnapshotChange):
            raise InvalidInput(
                f"Cannot commit {change.operation} to {self.name} as batch {self._batch.batch_id} of a stream: "
                "expected a change of rows. Make it outside of the stream."
            )
        return replace(change, summary={**change.summary, **self._batch.summary})


def _changes_nothing(change: Change) -> bool:
    """Whether a change would add a snapshot for nothing: no files come, none go."""
    if not isinstance(change, Append | Overwrite) or (change.files is not None and change.files.num_rows):
        return False
    if isinstance(change, Append):
        return True
    return change.predicate is None and (change.remove_files is None or len(change.remove_files) == 0)


class Once:
    """The way of one batch into a table: `with Once(table, batch) as target: target and target.append(rows)`.

    `target` is None if the batch is in the table already. A commit that loses against another one of the same batch is
    no error.
    """

    def __init__(self, table: Table, batch: Batch) -> None:
        self._table = table
        self._batch = batch

    def __enter__(self) -> BatchTable | None:
        self._table.refresh()
        return None if self._batch.is_in(self._table.metadata) else BatchTable(self._table, self._batch)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        if error is not None and not isinstance(error, CommitRejected):
            return False
        self._table.refresh()
        return error is not None and self._batch.is_in(self._table.metadata)
