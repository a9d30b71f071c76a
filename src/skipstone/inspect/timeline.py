"""What happened to a table, from its metadata alone: snapshots, history, refs and metadata files.

Columns and their names are those of the reference implementation's metadata tables.

Spec: "Snapshots", "Snapshot References", "Table Metadata Fields" (`snapshot-log`, `metadata-log`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow

from skipstone.metadata.tables.history import ancestors_of
from skipstone.metadata.tables.snapshots import OPERATION
from skipstone.metadata.tables.table_metadata import TableMetadata

pa: Any = pyarrow

INSTANT: Final = pa.timestamp("us", tz="UTC")
_SNAPSHOTS: Final = pa.schema(
    [
        pa.field("committed_at", INSTANT, nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("parent_id", pa.int64()),
        pa.field("operation", pa.string()),
        pa.field("manifest_list", pa.string()),
        pa.field("summary", pa.map_(pa.string(), pa.string())),
    ]
)
_HISTORY: Final = pa.schema(
    [
        pa.field("made_current_at", INSTANT, nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("parent_id", pa.int64()),
        pa.field("is_current_ancestor", pa.bool_(), nullable=False),
    ]
)
_REFS: Final = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("max_reference_age_in_ms", pa.int64()),
        pa.field("min_snapshots_to_keep", pa.int32()),
        pa.field("max_snapshot_age_in_ms", pa.int64()),
    ]
)
_METADATA_LOG_ENTRIES: Final = pa.schema(
    [
        pa.field("timestamp", INSTANT, nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("latest_snapshot_id", pa.int64()),
        pa.field("latest_schema_id", pa.int32()),
        pa.field("latest_sequence_number", pa.int64()),
    ]
)


def snapshots(metadata: TableMetadata) -> Any:
    """Every snapshot that the table still has, in the order of its metadata."""
    rows = [
        (
            instant_us(s.timestamp_ms),
            s.snapshot_id,
            s.parent_snapshot_id,
            None if s.summary is None else s.summary.get(OPERATION),
            s.manifest_list,
            None if s.summary is None else [(k, v) for k, v in s.summary.items() if k != OPERATION],
        )
        for s in metadata.snapshots
    ]
    return table_of(rows, _SNAPSHOTS)


def history(metadata: TableMetadata) -> Any:
    """Which snapshot was current from when on. One that was rolled back is no ancestor of the current one."""
    current = metadata.current_snapshot_id
    ancestors = set() if current is None else {s.snapshot_id for s in ancestors_of(metadata, current)}
    rows = []
    for entry in metadata.snapshot_log:
        snapshot = metadata.snapshots_by_id.get(entry.snapshot_id)
        parent_id = None if snapshot is None else snapshot.parent_snapshot_id
        rows.append(
            (instant_us(entry.timestamp_ms), entry.snapshot_id, parent_id, entry.snapshot_id in ancestors),
        )
    return table_of(rows, _HISTORY)


def refs(metadata: TableMetadata) -> Any:
    """Branches and tags. A null retention rule means that the table's properties decide."""
    rows = [
        (
            name,
            ref.type.name,
            ref.snapshot_id,
            ref.max_ref_age_ms,
            ref.min_snapshots_to_keep,
            ref.max_snapshot_age_ms,
        )
        for name, ref in metadata.refs.items()
    ]
    return table_of(rows, _REFS)


def metadata_log_entries(metadata: TableMetadata, metadata_location: str) -> Any:
    """The metadata files that the table remembers, the current one last, and what was current when each was written."""
    files = [(e.timestamp_ms, e.metadata_file) for e in metadata.metadata_log]
    rows = []
    for timestamp_ms, file in [*files, (metadata.last_updated_ms, metadata_location)]:
        snapshot_id = _current_at(metadata, timestamp_ms)
        snapshot = None if snapshot_id is None else metadata.snapshots_by_id.get(snapshot_id)
        rows.append(
            (
                instant_us(timestamp_ms),
                file,
                snapshot_id,
                None if snapshot is None else snapshot.schema_id,
                None if snapshot is None else snapshot.sequence_number,
            )
        )
    return table_of(rows, _METADATA_LOG_ENTRIES)


def _current_at(metadata: TableMetadata, timestamp_ms: int) -> int | None:
    log = reversed(metadata.snapshot_log)
    return next((e.snapshot_id for e in log if e.timestamp_ms <= timestamp_ms), None)


def instant_us(timestamp_ms: int) -> int:
    return timestamp_ms * 1000


def table_of(rows: Sequence[Sequence[Any]], schema: Any) -> Any:
    """Rows as an Arrow table."""
    arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(arrays, schema=schema)
