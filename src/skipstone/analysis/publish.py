"""Statistics files of partitions, brought up to date and registered, on request or with every commit.

Laws: a snapshot has at most one registered partition statistics file. What was computed before is built upon where it
was computed here; a file of no use is passed over with a warning. Statistics never stop a commit.

Spec: "Partition Statistics".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from skipstone.analysis.exact_rows import with_counted_rows
from skipstone.analysis.partition_files import find_partition_statistics, store_partition_statistics
from skipstone.analysis.partition_statistics import (
    check_partitioned,
    compute_partition_statistics,
    is_better_in_full,
    update_partition_statistics,
)
from skipstone.commit.context import CommitContext
from skipstone.errors import SkipstoneError
from skipstone.metadata.tables.metadata_changes import set_partition_statistics
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import unified_type
from skipstone.stats.labels import ignore_file
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.stats.registered import of_known_snapshots
from skipstone.storage.protocol import Storage


def partition_statistics_of(
    metadata: TableMetadata,
    storage: Storage,
    snapshot: Snapshot,
    *,
    incremental: bool = True,
    exact_rows: bool = False,
    zone_ids: Collection[int] | None = None,
) -> PartitionStatistics:
    """The statistics of a snapshot. `exact_rows` counts the rows of partitions where metadata cannot tell."""
    check_partitioned(metadata)
    found = _built_upon(metadata, storage, snapshot, zone_ids) if incremental else None
    if found is None:
        found = compute_partition_statistics(metadata, storage, snapshot, zone_ids=zone_ids)
    return with_counted_rows(found, metadata, storage, snapshot) if exact_rows else found


def _built_upon(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, zone_ids: Collection[int] | None
) -> PartitionStatistics | None:
    for snapshot_id in _bases(metadata, snapshot):
        base = find_partition_statistics(metadata, storage, snapshot_id)
        if base is None or not base.is_own:
            continue
        if zone_ids is not None and set(zone_ids) != base.zones.columns.keys():
            continue
        if is_better_in_full(base, metadata, storage, snapshot):
            return None
        found = update_partition_statistics(base, metadata, storage, snapshot)
        if found is not None:
            return found
    return None


def _bases(metadata: TableMetadata, snapshot: Snapshot) -> Iterator[int]:
    """Snapshots with registered statistics, the nearest ancestor first: the least has changed since."""
    registered = {f.snapshot_id for f in metadata.partition_statistics}
    at: Snapshot | None = snapshot
    while at is not None:
        if at.snapshot_id in registered:
            yield at.snapshot_id
            return
        parent = at.parent_snapshot_id
        at = None if parent is None else metadata.snapshots_by_id.get(parent)
    of_known_snapshots(metadata.partition_statistics, metadata)  # what there is cannot be built upon, and says so


@dataclass(frozen=True, kw_only=True, eq=False)
class WritePartitionStatistics:
    """Compute and register the statistics of the snapshots that the same commit makes."""

    @property
    def operation(self) -> str:
        return "partition statistics"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        if not unified_type(current).fields:
            return current
        # Files of earlier attempts: their snapshots were never published.
        stale: list[str] = context.staging.once("partition statistics", list)
        context.storage.delete_many(stale)
        stale.clear()
        changed = current
        for snapshot_id in context.snapshots:
            file = self._stored(changed, context.storage, changed.snapshot(snapshot_id))
            if file is not None:
                stale.append(file.statistics_path)
                changed = set_partition_statistics(changed, file)
        return changed

    def _stored(self, metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> PartitionStatisticsFile | None:
        try:
            return store_partition_statistics(partition_statistics_of(metadata, storage, snapshot), metadata, storage)
        except (SkipstoneError, OSError) as error:
            ignore_file(f"of snapshot {snapshot.snapshot_id}", error)
            return None
