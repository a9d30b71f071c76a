"""When partitions were last changed, as registered statistics say it, held against the snapshots themselves.

Laws: a time is that of the snapshot it is told with, which is the audited one or an ancestor of it. A change that an
entry proves is not overlooked; one that none of the snapshot's own entries prove did not happen. Of a snapshot that has
expired nothing is known but that it lies before the audited one.

Spec: "Partition Statistics File".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skipstone.analysis.audit import Finding
from skipstone.analysis.partition_counts import NEWEST, count_manifests, places_in, snapshots_by_time
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.stats.partition_layout import LAST_UPDATED_AT, LAST_UPDATED_SNAPSHOT_ID
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, kw_only=True)
class UpdatesAudit:
    """`stored` are the registered statistics of the snapshot, `actual` those that its manifests tell in full."""

    metadata: TableMetadata
    storage: Storage
    snapshot: Snapshot
    path: str
    stored: PartitionStatistics
    actual: PartitionStatistics

    def findings(self, about: Any) -> Iterator[Finding]:
        """`about` names the partition of a stored row."""
        theirs, ours = (_updates(s) for s in (self.stored, self.actual))
        places = places_in(self.actual.rows, self.stored.rows).tolist()
        for row, ((snapshot_id, at_ms), place) in enumerate(zip(theirs, places)):
            told = ours[place] if place >= 0 else (None, None)
            for fact, was, is_ in self._wrong(row, snapshot_id, at_ms, told):
                yield Finding(
                    stored_in=self.path,
                    about=about(self.stored.rows, row),
                    fact=f"partition {fact}",
                    stored=was,
                    actual=is_,
                )

    def _wrong(
        self, row: int, snapshot_id: int | None, at_ms: int | None, told: tuple[int | None, int | None]
    ) -> Iterator[tuple[str, Any, Any]]:
        told_id, told_ms = told
        known = None if snapshot_id is None else self.metadata.snapshots_by_id.get(snapshot_id)
        if known is not None and snapshot_id != told_id and not self._is_proven(row, known, told_id):
            yield LAST_UPDATED_SNAPSHOT_ID, snapshot_id, told_id
        elif known is not None and at_ms is not None and at_ms != known.timestamp_ms:
            yield LAST_UPDATED_AT, at_ms, known.timestamp_ms
        elif known is None and at_ms is not None and not (told_ms or at_ms) <= at_ms <= self.snapshot.timestamp_ms:
            yield LAST_UPDATED_AT, at_ms, told_ms

    def _is_proven(self, row: int, snapshot: Snapshot, told_id: int | None) -> bool:
        """Whether a later snapshot than the manifests tell has changed the partition: entries of deleted files are
        kept for one snapshot only."""
        places = self._order
        is_later = told_id is None or places[snapshot.snapshot_id] > places[told_id]
        return is_later and snapshot.snapshot_id in self._lineage and row in self._changed_by(snapshot)

    @cached_property
    def _order(self) -> dict[int, int]:
        return {snapshot_id: place for place, snapshot_id in enumerate(snapshots_by_time(self.metadata))}

    @cached_property
    def _lineage(self) -> set[int]:
        found: set[int] = set()
        at: Snapshot | None = self.snapshot
        while at is not None:
            found.add(at.snapshot_id)
            parent = at.parent_snapshot_id
            at = None if parent is None else self.metadata.snapshots_by_id.get(parent)
        return found

    @cached_property
    def _changes(self) -> dict[int, set[int]]:
        return {}

    def _changed_by(self, snapshot: Snapshot) -> set[int]:
        """The stored rows whose partitions have an entry of this snapshot."""
        if snapshot.snapshot_id not in self._changes:
            manifests = manifests_of(snapshot, self.metadata, self.storage)
            own = [m for m in manifests if m.added_snapshot_id == snapshot.snapshot_id]
            rows = count_manifests(own, self.metadata, self.storage, use_index=False).rows
            is_own = [place == self._order[snapshot.snapshot_id] for place in rows.column(NEWEST).to_pylist()]
            at = places_in(self.stored.rows, rows).tolist()
            self._changes[snapshot.snapshot_id] = {place for place, is_ in zip(at, is_own) if is_}
        return self._changes[snapshot.snapshot_id]


def _updates(statistics: PartitionStatistics) -> list[tuple[int | None, int | None]]:
    columns = (statistics.rows.column(n).to_pylist() for n in (LAST_UPDATED_SNAPSHOT_ID, LAST_UPDATED_AT))
    return list(zip(*columns, strict=True))
