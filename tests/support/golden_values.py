"""Manifest entries and lists of ours in the form of the golden expectations, so that they can be compared whole."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.manifests.manifest import EntryStatus, FieldSummary, FileContent, ManifestFile
from skipstone.metadata.types import StructType
from skipstone.metadata.values import value_to_json

_DELETION_VECTOR_COLUMNS = ("referenced_data_file", "content_offset", "content_size_in_bytes")


def base_name(location: str) -> str:
    return location.rpartition("/")[2]


def golden_manifest(manifest: ManifestFile) -> dict[str, Any]:
    """A manifest list's entry as `java.manifests.jsonl` has it."""
    return {
        "manifest": base_name(manifest.manifest_path),
        "length": manifest.manifest_length,
        "content": manifest.content.name,
        "partition_spec_id": manifest.partition_spec_id,
        "sequence_number": manifest.sequence_number,
        "min_sequence_number": manifest.min_sequence_number,
        "added_snapshot_id": manifest.added_snapshot_id,
        "added_files_count": manifest.added_files_count,
        "existing_files_count": manifest.existing_files_count,
        "deleted_files_count": manifest.deleted_files_count,
        "added_rows_count": manifest.added_rows_count,
        "existing_rows_count": manifest.existing_rows_count,
        "deleted_rows_count": manifest.deleted_rows_count,
        "first_row_id": manifest.first_row_id,
        "partitions": None if manifest.partitions is None else [_summary(s) for s in manifest.partitions],
        "key_metadata": _hex(manifest.key_metadata),
    }


def golden_entries(manifest: ManifestFile, entries: pa.Table, partition_type: StructType) -> list[dict[str, Any]]:
    """A manifest's entries as `java.entries.jsonl` has them."""
    partitions = partition_values(entries, partition_type)
    return [
        _entry(manifest, row, partition, partition_type)
        for row, partition in zip(entries.drop_columns(["partition"]).to_pylist(), partitions, strict=True)
    ]


def partition_values(entries: pa.Table, partition_type: StructType) -> list[dict[int, Any]]:
    """The partition tuple of each entry, by field id."""
    column = entries.column("partition").combine_chunks()
    children = [(f, column.field(f.name)) for f in partition_type.fields]
    return [{f.id: arrow_to_value(f.type, child[i]) for f, child in children} for i in range(entries.num_rows)]


def _entry(
    manifest: ManifestFile, row: dict[str, Any], partition: dict[int, Any], partition_type: StructType
) -> dict[str, Any]:
    entry = {
        "manifest": base_name(manifest.manifest_path),
        "status": EntryStatus(row["status"]).name,
        "snapshot_id": row["snapshot_id"],
        "data_sequence_number": row["sequence_number"],
        "file_sequence_number": row["file_sequence_number"],
        "file_path": row["file_path"],
        "content": FileContent(row["content"]).name,
        "file_format": row["file_format"],
        "spec_id": manifest.partition_spec_id,
        "partition": {f.name: _json(f.type, partition[f.id]) for f in partition_type.fields},
        "record_count": row["record_count"],
        "file_size_in_bytes": row["file_size_in_bytes"],
        "column_sizes": _map(row["column_sizes"]),
        "value_counts": _map(row["value_counts"]),
        "null_value_counts": _map(row["null_value_counts"]),
        "nan_value_counts": _map(row["nan_value_counts"]),
        "lower_bounds": _map(row["lower_bounds"]),
        "upper_bounds": _map(row["upper_bounds"]),
        "key_metadata": _hex(row["key_metadata"]),
        "split_offsets": row["split_offsets"],
        "equality_ids": row["equality_ids"],
        "sort_order_id": row["sort_order_id"],
        "first_row_id": row["first_row_id"],
    }
    if row["content"] != FileContent.DATA:
        entry |= {name: row[name] for name in _DELETION_VECTOR_COLUMNS}
    return entry


def _json(type_: Any, value: Any) -> Any:
    return None if value is None else value_to_json(type_, value)


def _summary(summary: FieldSummary) -> dict[str, Any]:
    return {
        "contains_null": summary.contains_null,
        "contains_nan": summary.contains_nan,
        "lower_bound": _hex(summary.lower_bound),
        "upper_bound": _hex(summary.upper_bound),
    }


def _map(pairs: list[tuple[int, Any]] | None) -> dict[str, Any] | None:
    if pairs is None:
        return None
    return {str(k): v.hex() if isinstance(v, bytes) else v for k, v in pairs}


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
