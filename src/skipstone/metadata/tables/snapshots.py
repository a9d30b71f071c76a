"""Snapshots of a table, and the entries of its two logs.

A snapshot written before an upgrade keeps the form it had: no sequence number (read as 0), possibly no summary, a list
of manifests instead of a manifest list, no row ids. Nothing of that is filled in or written back differently.

Spec: "Snapshots", "Table Metadata Fields" (`snapshot-log`, `metadata-log`), "Snapshot Row IDs", Appendix E.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from skipstone.metadata.json_reader import JsonObject

OPERATION: Final = "operation"


class Operation(StrEnum):
    """What a snapshot did to the table's rows."""

    APPEND = "append"  # only data files were added
    REPLACE = "replace"  # files were exchanged, the rows are the same
    OVERWRITE = "overwrite"  # rows were added and removed
    DELETE = "delete"  # rows were removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    snapshot_id: int
    timestamp_ms: int
    parent_snapshot_id: int | None = None
    sequence_number: int = 0
    manifest_list: str | None = None
    manifests: tuple[str, ...] | None = None  # v1 only, and only without a manifest list
    summary: Mapping[str, str] | None = field(default=None, hash=False)
    schema_id: int | None = None
    first_row_id: int | None = None
    added_rows: int | None = None
    key_id: str | None = None

    @property
    def operation(self) -> Operation | None:
        """What the summary says was done: None without a summary, overwrite (which promises nothing) if not clear."""
        if self.summary is None:
            return None
        try:
            return Operation(self.summary.get(OPERATION, ""))
        except ValueError:
            return Operation.OVERWRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLogEntry:
    """From this moment on the snapshot was the table's current one."""

    timestamp_ms: int
    snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogEntry:
    """A former metadata file and when the table was last updated in it."""

    timestamp_ms: int
    metadata_file: str


def read_snapshot(json: JsonObject, *, format_version: int) -> Snapshot:
    """The snapshot at this place of table metadata of this version."""
    # v1 has no sequence numbers; some writers put a null or 0 there.
    sequence_number = 0 if format_version == 1 else json.optional_long("sequence-number", low=0) or 0
    manifest_list = json.optional_text("manifest-list")
    # Snapshots with sequence number 0 were made under v1 and keep its looser rules after an upgrade.
    if sequence_number > 0:
        json.required("manifest-list")
        json.required("summary")
    first_row_id = json.optional_long("first-row-id", low=0)
    if first_row_id is not None:
        json.required("added-rows")
    return Snapshot(
        snapshot_id=json.long("snapshot-id"),
        parent_snapshot_id=json.optional_long("parent-snapshot-id"),
        sequence_number=sequence_number,
        timestamp_ms=json.long("timestamp-ms"),
        manifest_list=manifest_list,
        manifests=json.texts("manifests") if manifest_list is None else None,
        summary=_read_summary(json),
        schema_id=json.optional_int("schema-id"),
        first_row_id=first_row_id,
        added_rows=None if first_row_id is None else json.long("added-rows", low=0),
        key_id=json.optional_text("key-id"),
    )


def _read_summary(json: JsonObject) -> dict[str, str] | None:
    if not json.has("summary"):
        return None
    summary = json.text_map("summary")
    # Writers exist that forget it. Overwrite is the reading that promises nothing about the files.
    return summary if OPERATION in summary else {OPERATION: Operation.OVERWRITE.value, **summary}


def snapshot_to_json(snapshot: Snapshot, *, format_version: int) -> dict[str, Any]:
    """The snapshot as table metadata of this version holds it."""
    written: dict[str, Any] = {}
    if format_version > 1 and snapshot.sequence_number > 0:
        written["sequence-number"] = snapshot.sequence_number
    written["snapshot-id"] = snapshot.snapshot_id
    if snapshot.parent_snapshot_id is not None:
        written["parent-snapshot-id"] = snapshot.parent_snapshot_id
    written["timestamp-ms"] = snapshot.timestamp_ms
    if snapshot.summary is not None:
        written["summary"] = dict(snapshot.summary)
    if snapshot.manifest_list is not None:
        written["manifest-list"] = snapshot.manifest_list
    else:
        written["manifests"] = list(snapshot.manifests or ())
    if snapshot.schema_id is not None:
        written["schema-id"] = snapshot.schema_id
    if snapshot.first_row_id is not None:
        written["first-row-id"] = snapshot.first_row_id
        written["added-rows"] = snapshot.added_rows
    if snapshot.key_id is not None:
        written["key-id"] = snapshot.key_id
    return written


def read_snapshot_log_entry(json: JsonObject) -> SnapshotLogEntry:
    return SnapshotLogEntry(timestamp_ms=json.long("timestamp-ms"), snapshot_id=json.long("snapshot-id"))


def snapshot_log_entry_to_json(entry: SnapshotLogEntry) -> dict[str, Any]:
    return {"timestamp-ms": entry.timestamp_ms, "snapshot-id": entry.snapshot_id}


def read_metadata_log_entry(json: JsonObject) -> MetadataLogEntry:
    return MetadataLogEntry(timestamp_ms=json.long("timestamp-ms"), metadata_file=json.text("metadata-file"))


def metadata_log_entry_to_json(entry: MetadataLogEntry) -> dict[str, Any]:
    return {"timestamp-ms": entry.timestamp_ms, "metadata-file": entry.metadata_file}
