"""What a table can say about its rows without reading them: the verbs of statistics.

table.analyze()
table.statistics().column("zip_code").ndv
table.estimate("zip_code = '10001'").rows
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skipstone.analysis.partition_files import find_partition_statistics, store_partition_statistics
from skipstone.analysis.publish import WritePartitionStatistics, partition_statistics_of
from skipstone.commit import Change, Transaction, UpdateStatistics
from skipstone.errors import InvalidInput
from skipstone.metadata.tables.properties import STATS_PARTITION_ON_COMMIT, property_value
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.predicate import FloatOrder, as_predicate, bind
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.storage.protocol import Storage


def with_partition_statistics(transaction: Transaction) -> None:
    """Let the commit write partition statistics, where the table's properties say so."""
    if property_value(transaction.metadata.properties, STATS_PARTITION_ON_COMMIT):
        transaction.add(WritePartitionStatistics())


class StatisticsVerbs:
    """The verbs of `Table` about statistics."""

    name: str

    @property
    def metadata(self) -> TableMetadata:
        raise NotImplementedError

    @property
    def storage(self) -> Storage:
        raise NotImplementedError

    def _apply(self, change: Change) -> None:
        raise NotImplementedError

    def compute_partition_statistics(
        self,
        *,
        snapshot_id: int | None = None,
        incremental: bool = True,
        exact_rows: bool = False,
        zone_columns: Sequence[str] | None = None,
    ) -> PartitionStatistics:
        """Compute and register the partition statistics of a snapshot, by default the current one.

        Built upon earlier statistics where there are any, unless `incremental` is false. `exact_rows` reads data where
        metadata cannot tell how many rows deletes have left. `zone_columns` are the columns to keep bounds of.
        """
        snapshot, schema = self._snapshot(snapshot_id), self.metadata.current_schema
        found = partition_statistics_of(
            self.metadata,
            self.storage,
            snapshot,
            incremental=incremental,
            exact_rows=exact_rows,
            zone_ids=None if zone_columns is None else [schema.field(name).id for name in zone_columns],
        )
        file = store_partition_statistics(found, self.metadata, self.storage)
        self._apply(UpdateStatistics(set_partition=(file,)))
        return found

    def partition_statistics(
        self, filter: Any = None, *, snapshot_id: int | None = None, float_order: FloatOrder = FloatOrder.IEEE
    ) -> PartitionStatistics | None:
        """The registered partition statistics of a snapshot; with a filter, of the partitions that can match."""
        schema = self.metadata.current_schema
        found = find_partition_statistics(self.metadata, self.storage, self._snapshot(snapshot_id).snapshot_id)
        if found is None or filter is None:
            return found
        predicate = bind(as_predicate(filter), schema, table=self.name, float_order=float_order)
        return found.filter(predicate, self.metadata, schema, float_order)

    def _snapshot(self, snapshot_id: int | None) -> Snapshot:
        found = self.metadata.current_snapshot if snapshot_id is None else self.metadata.snapshot(snapshot_id)
        if found is None:
            raise InvalidInput(f"Cannot tell statistics of {self.name}: the table has no snapshot. Append rows first.")
        return found
