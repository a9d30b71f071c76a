"""What has happened to a table since it was analysed, from the summaries of its snapshots.

Laws: a snapshot that says it replaced files has changed no row. Counts that a summary does not tell are unknown, never
zero; so is how many rows equality deletes have removed.

Spec: "Snapshots", "Optional Snapshot Summary Fields".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.column_statistics import Freshness

# A summary without any of these counts nothing; one with some leaves out what was none.
_COUNTS: Final = ("added-", "deleted-", "removed-", "total-", "changed-")


def freshness(metadata: TableMetadata, snapshot: Snapshot, analysed_id: int, analysed_at_ms: int) -> Freshness:
    """What snapshots after the analysed one, up to this one, have done."""
    since = 0
    added: int | None = 0
    removed: int | None = 0
    at: Snapshot | None = snapshot
    while at is not None and at.snapshot_id != analysed_id:
        since += 1
        if at.operation is not Operation.REPLACE:
            summary = at.summary or {}
            added = _plus(added, rows_added(summary))
            removed = _plus(removed, rows_removed(summary))
        parent = at.parent_snapshot_id
        at = None if parent is None else metadata.snapshots_by_id.get(parent)
    return Freshness(
        snapshot_id=analysed_id,
        analysed_at_ms=analysed_at_ms,
        current_snapshot_id=metadata.current_snapshot_id,
        snapshots_since=since,
        rows_added_since=added,
        rows_removed_since=removed,
    )


def rows_added(summary: Mapping[str, str]) -> int | None:
    """At most how many rows a snapshot has added."""
    return _told(summary, "added-records", "added-data-files")


def rows_removed(summary: Mapping[str, str]) -> int | None:
    """At most how many rows a snapshot has removed."""
    if _told(summary, "added-equality-deletes", "added-equality-delete-files") != 0:
        return None
    in_files = _told(summary, "deleted-records", "deleted-data-files")
    return _plus(in_files, _told(summary, "added-position-deletes", "added-delete-files"))


def _told(summary: Mapping[str, str], records: str, files: str) -> int | None:
    """A count of records; without it none, if the summary counts at all and tells of no files either."""
    text = summary.get(records)
    if text is None:
        is_counted = any(key.startswith(_COUNTS) for key in summary)
        return 0 if is_counted and summary.get(files, "0") == "0" else None
    return int(text) if text.isdecimal() else None


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
