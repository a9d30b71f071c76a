"""Which snapshots a snapshot descends from, and which one was current when.

The two histories may differ: parents are the lineage of the data, the snapshot log is what readers of the table saw.
Point-in-time reads use the log.

Spec: "Snapshots", Appendix F "Point in Time Reads (Time Travel)".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from skipstone.errors import FormatViolation, NotFound
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ancestors_of(metadata: TableMetadata, snapshot_id: int) -> Iterator[Snapshot]:
    """The snapshot, its parent, and so on, until there is no parent or it has expired."""
    seen: set[int] = set()
    snapshot: Snapshot | None = metadata.snapshot(snapshot_id)
    while snapshot is not None:
        if snapshot.snapshot_id in seen:
            raise FormatViolation(
                f"Invalid table metadata: snapshot {snapshot.snapshot_id}: expected parents without a cycle, got one."
            )
        seen.add(snapshot.snapshot_id)
        yield snapshot
        parent_id = snapshot.parent_snapshot_id
        snapshot = None if parent_id is None else metadata.snapshots_by_id.get(parent_id)


def is_ancestor(metadata: TableMetadata, *, ancestor_id: int, snapshot_id: int) -> bool:
    """Whether the lineage of a snapshot, itself included, provably contains another one."""
    return any(s.snapshot_id == ancestor_id for s in ancestors_of(metadata, snapshot_id))


def snapshots_between(metadata: TableMetadata, *, after_id: int | None, up_to_id: int) -> list[Snapshot]:
    """The snapshots that lead from one (exclusive; None: from the start) to another (inclusive), oldest first."""
    path: list[Snapshot] = []
    for snapshot in ancestors_of(metadata, up_to_id):
        if snapshot.snapshot_id == after_id:
            return path[::-1]
        path.append(snapshot)
    # The walk may also have ended at an expired parent: then nothing proves that the path is complete.
    if after_id is None and path[-1].parent_snapshot_id is None:
        return path[::-1]
    start = "the first snapshot" if after_id is None else f"snapshot {after_id}"
    raise NotFound(
        f"Cannot find a path from {start} to snapshot {up_to_id}: the oldest known ancestor is "
        f"{path[-1].snapshot_id}, whose parent is {path[-1].parent_snapshot_id}. It may have expired."
    )


def snapshot_as_of(metadata: TableMetadata, timestamp_ms: int) -> Snapshot:
    """The snapshot that was current at a moment, by the snapshot log."""
    when = f"{timestamp_ms} ms ({_iso(timestamp_ms)})"
    if not metadata.snapshot_log:
        raise NotFound(
            f"Cannot find the snapshot current at {when}: the table's metadata has no snapshot-log. "
            f"Read by snapshot id or ref instead."
        )
    # Clocks of writers differ, so the log need not be sorted exactly: the last entry that is not later decides.
    entry = next((e for e in reversed(metadata.snapshot_log) if e.timestamp_ms <= timestamp_ms), None)
    if entry is None:
        oldest = min(e.timestamp_ms for e in metadata.snapshot_log)
        raise NotFound(
            f"Cannot find the snapshot current at {when}: the snapshot-log starts at {oldest} ms ({_iso(oldest)}). "
            f"Choose a later time."
        )
    snapshot = metadata.snapshots_by_id.get(entry.snapshot_id)
    if snapshot is None:
        raise NotFound(
            f"Cannot read the table as of {when}: snapshot {entry.snapshot_id} was current then and has expired."
        )
    return snapshot


def _iso(timestamp_ms: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=timestamp_ms)).isoformat(timespec="milliseconds")
    except OverflowError:
        return "outside the years 1 to 9999"
