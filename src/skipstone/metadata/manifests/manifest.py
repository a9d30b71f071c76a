"""Manifests and what they list, as values: data files, manifest entries, manifest files and field summaries.

Names are the spec's. None means null in the file: unknown, or to be inherited. These values serve small work, one entry
at a time; whole manifests are Arrow tables (`ENTRY_COLUMNS`), and `manifest_rows` converts between the two.

Spec: "Manifest Entry Fields", "Data File Fields", "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import pyarrow as pa

from skipstone.metadata.types import Value

# A sequence number that the commit will assign.
UNASSIGNED_SEQUENCE_NUMBER: Final = -1


class ManifestContent(IntEnum):
    """What a manifest tracks."""

    DATA = 0
    DELETES = 1

    @property
    def text(self) -> str:
        """The value of the `content` key in a manifest's metadata."""
        return self.name.lower()


class FileContent(IntEnum):
    """What a file stores. A deletion vector is a position delete in a Puffin file."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


class EntryStatus(IntEnum):
    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data or delete file: where it is, which partition it belongs to, and what is known of its columns.

    `partition` holds values by partition field id; metrics are by column id, bounds serialized.
    """

    content: FileContent = FileContent.DATA
    file_path: str
    file_format: str
    partition: Mapping[int, Value] = field(default_factory=dict)
    record_count: int
    file_size_in_bytes: int
    column_sizes: Mapping[int, int] | None = None
    value_counts: Mapping[int, int] | None = None
    null_value_counts: Mapping[int, int] | None = None
    nan_value_counts: Mapping[int, int] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None
    key_metadata: bytes | None = None
    split_offsets: tuple[int, ...] | None = None
    equality_ids: tuple[int, ...] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None

    @property
    def is_deletion_vector(self) -> bool:
        return self.content == FileContent.POSITION_DELETES and self.content_offset is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """A file in a manifest. Null ids and numbers are inherited from the manifest when it is read."""

    status: EntryStatus
    snapshot_id: int | None = None
    sequence_number: int | None = None
    file_sequence_number: int | None = None
    data_file: DataFile

    @property
    def is_live(self) -> bool:
        return self.status != EntryStatus.DELETED


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSummary:
    """What a manifest's partition tuples hold in one field. Bounds are serialized; None: no non-null, non-NaN value."""

    contains_null: bool
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFile:
    """A manifest as a manifest list describes it. A count of None means unknown, which is never zero."""

    manifest_path: str
    manifest_length: int
    partition_spec_id: int = 0
    content: ManifestContent = ManifestContent.DATA
    sequence_number: int = UNASSIGNED_SEQUENCE_NUMBER
    min_sequence_number: int = UNASSIGNED_SEQUENCE_NUMBER
    added_snapshot_id: int
    added_files_count: int | None = None
    existing_files_count: int | None = None
    deleted_files_count: int | None = None
    added_rows_count: int | None = None
    existing_rows_count: int | None = None
    deleted_rows_count: int | None = None
    partitions: tuple[FieldSummary, ...] | None = None
    key_metadata: bytes | None = None
    first_row_id: int | None = None

    @property
    def has_no_live_files(self) -> bool:
        """Proven to hold nothing but deleted entries."""
        return self.added_files_count == 0 and self.existing_files_count == 0


_COUNTS: Final = pa.map_(pa.int32(), pa.int64())
_BOUNDS: Final = pa.map_(pa.int32(), pa.binary())

# The metric maps of a data file, by column id.
METRIC_COLUMNS: Final[dict[str, Any]] = {
    "column_sizes": _COUNTS,
    "value_counts": _COUNTS,
    "null_value_counts": _COUNTS,
    "nan_value_counts": _COUNTS,
    "lower_bounds": _BOUNDS,
    "upper_bounds": _BOUNDS,
}

# The columns of a manifest's Arrow table, one row an entry; the type of `partition` comes from the partition spec.
ENTRY_COLUMNS: Final[dict[str, Any]] = {
    "status": pa.int32(),
    "snapshot_id": pa.int64(),
    "sequence_number": pa.int64(),
    "file_sequence_number": pa.int64(),
    "content": pa.int32(),
    "file_path": pa.string(),
    "file_format": pa.string(),
    "partition": None,
    "record_count": pa.int64(),
    "file_size_in_bytes": pa.int64(),
    **METRIC_COLUMNS,
    "key_metadata": pa.binary(),
    "split_offsets": pa.list_(pa.int64()),
    "equality_ids": pa.list_(pa.int32()),
    "sort_order_id": pa.int32(),
    "first_row_id": pa.int64(),
    "referenced_data_file": pa.string(),
    "content_offset": pa.int64(),
    "content_size_in_bytes": pa.int64(),
}

# Those of the entry itself; all others belong to its `data_file`.
TRACKING_COLUMNS: Final = ("status", "snapshot_id", "sequence_number", "file_sequence_number")
