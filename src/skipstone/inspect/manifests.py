"""The manifests of one snapshot, or of all, with what their lists say about them.

Spec: "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow

from skipstone.errors import FormatViolation
from skipstone.inspect.timeline import table_of
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.partitions.transforms import Transform
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import PrimitiveType, Type
from skipstone.metadata.values import parse_bound
from skipstone.plan.entries import in_parallel
from skipstone.plan.snapshot_manifests import manifests_of, partition_type_of, spec_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_SUMMARY: Final = pa.struct(
    [
        pa.field("contains_null", pa.bool_(), nullable=False),
        pa.field("contains_nan", pa.bool_()),
        pa.field("lower_bound", pa.string()),
        pa.field("upper_bound", pa.string()),
    ]
)
_MANIFESTS: Final = pa.schema(
    [
        pa.field("content", pa.int32(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("partition_spec_id", pa.int32(), nullable=False),
        pa.field("added_snapshot_id", pa.int64(), nullable=False),
        pa.field("added_data_files_count", pa.int32()),
        pa.field("existing_data_files_count", pa.int32()),
        pa.field("deleted_data_files_count", pa.int32()),
        pa.field("added_delete_files_count", pa.int32()),
        pa.field("existing_delete_files_count", pa.int32()),
        pa.field("deleted_delete_files_count", pa.int32()),
        pa.field("partition_summaries", pa.list_(pa.field("element", _SUMMARY, nullable=False))),
    ]
)
_ALL_MANIFESTS: Final = _MANIFESTS.append(pa.field("reference_snapshot_id", pa.int64(), nullable=False))


def manifests(snapshot: Snapshot | None, metadata: TableMetadata, storage: Storage) -> Any:
    """The manifests of a snapshot, in the order of its list."""
    listed = () if snapshot is None else manifests_of(snapshot, metadata, storage)
    return table_of([_row(m, metadata) for m in listed], _MANIFESTS)


def all_manifests(metadata: TableMetadata, storage: Storage) -> Any:
    """The manifests of every snapshot; one that several snapshots list is there once for each."""
    rows = [
        (*_row(manifest, metadata), snapshot.snapshot_id)
        for snapshot, listed in zip(metadata.snapshots, lists_of(metadata.snapshots, metadata, storage))
        for manifest in listed
    ]
    return table_of(rows, _ALL_MANIFESTS)


def lists_of(
    snapshots: Sequence[Snapshot], metadata: TableMetadata, storage: Storage
) -> list[tuple[ManifestFile, ...]]:
    """The manifests of each snapshot."""
    return in_parallel(lambda snapshot: manifests_of(snapshot, metadata, storage), snapshots)


def distinct(lists: Iterable[Iterable[ManifestFile]]) -> list[ManifestFile]:
    """Each manifest once, in the order of appearance."""
    found: dict[str, ManifestFile] = {}
    for listed in lists:
        for manifest in listed:
            found.setdefault(manifest.manifest_path, manifest)
    return list(found.values())


def _row(manifest: ManifestFile, metadata: TableMetadata) -> tuple[Any, ...]:
    counts = (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count)
    none = (0, 0, 0)
    is_data = manifest.content == ManifestContent.DATA
    return (
        int(manifest.content),
        manifest.manifest_path,
        manifest.manifest_length,
        manifest.partition_spec_id,
        manifest.added_snapshot_id,
        *(counts if is_data else none),
        *(none if is_data else counts),
        _summaries(manifest, metadata),
    )


def _summaries(manifest: ManifestFile, metadata: TableMetadata) -> list[dict[str, Any]] | None:
    if manifest.partitions is None:
        return None
    spec = spec_of(manifest, metadata)
    types = partition_type_of(spec, metadata).fields
    rows = []
    for summary, field, typed in zip(manifest.partitions, spec.fields, types):
        source = spec.source_type(field, metadata.current_schema, schemas=tuple(reversed(metadata.schemas)))
        rows.append(
            {
                "contains_null": summary.contains_null,
                "contains_nan": summary.contains_nan,
                "lower_bound": _human(summary.lower_bound, field.transform, source, typed.type),
                "upper_bound": _human(summary.upper_bound, field.transform, source, typed.type),
            }
        )
    return rows


def _human(bound: bytes | None, transform: Transform, source: Type, result: Type) -> str | None:
    """The bound as a partition path shows it. One that does not fit its type is unknown, as everywhere."""
    if bound is None or not isinstance(result, PrimitiveType):
        return None
    try:
        return transform.to_human(source, parse_bound(result, bound))
    except FormatViolation:
        return None
