"""The partitions of a snapshot: how many rows and files each holds, and when it was last changed.

Records are counted from metadata; rows that delete files remove are not subtracted. A deletion vector counts as a
position delete file.

Spec: "Partition Statistics File", whose columns these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow

from skipstone.inspect.entries import read_entries, shown_partition_type, whole
from skipstone.inspect.timeline import INSTANT, instant_us
from skipstone.metadata.manifests.manifest import FileContent, ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import partition_codes
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_COLUMNS: Final = ("status", "snapshot_id", "content", "partition", "record_count", "file_size_in_bytes")
# What each count sums up: of which files, and the column, or None to count the files.
_SUMS: Final[dict[str, tuple[FileContent, str | None]]] = {
    "record_count": (FileContent.DATA, "record_count"),
    "file_count": (FileContent.DATA, None),
    "total_data_file_size_in_bytes": (FileContent.DATA, "file_size_in_bytes"),
    "position_delete_record_count": (FileContent.POSITION_DELETES, "record_count"),
    "position_delete_file_count": (FileContent.POSITION_DELETES, None),
    "equality_delete_record_count": (FileContent.EQUALITY_DELETES, "record_count"),
    "equality_delete_file_count": (FileContent.EQUALITY_DELETES, None),
}


def partitions(manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage) -> Any:
    """One row for each partition and spec; a table that was never partitioned has at most one, without a tuple."""
    files = read_entries(manifests, metadata, storage, columns=_COLUMNS, is_live=True)
    return _grouped(files, metadata, is_partitioned=bool(shown_partition_type(metadata).fields))


def _grouped(files: Any, metadata: TableMetadata, *, is_partitioned: bool) -> Any:
    spec_ids, tuples = files.column("spec_id"), whole(files.column("partition"))
    codes = partition_codes(spec_ids, tuples) if is_partitioned else np.zeros(files.num_rows, np.int64)
    _, first, groups = np.unique(codes, return_index=True, return_inverse=True)
    # In the order of appearance, which is that of the manifests.
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    groups, first = rank[groups], first[order]
    columns: dict[str, Any] = {}
    if is_partitioned:
        columns |= {"partition": tuples.take(pa.array(first)), "spec_id": whole(spec_ids).take(pa.array(first))}
    content = files.column("content").to_numpy()
    for name, (kind, summed) in _SUMS.items():
        weights = np.ones(files.num_rows, np.int64) if summed is None else files.column(summed).to_numpy()
        totals = np.zeros(len(first), np.int64)
        np.add.at(totals, groups, np.where(content == kind, weights, 0))
        columns[name] = pa.array(totals, pa.int32() if name.endswith("file_count") else pa.int64())
    return pa.table(columns | _last_updated(files.column("snapshot_id").to_pylist(), groups, len(first), metadata))


def _last_updated(snapshot_ids: list[int], groups: Any, count: int, metadata: TableMetadata) -> dict[str, Any]:
    """The newest known snapshot that put a live file into each partition; null when all have expired."""
    newest: list[tuple[int, int] | None] = [None] * count
    known = {i: (s.timestamp_ms, i) for i, s in metadata.snapshots_by_id.items()}
    for snapshot_id, group in zip(snapshot_ids, groups.tolist()):
        found, before = known.get(snapshot_id), newest[group]
        if found is not None and (before is None or found[0] > before[0]):
            newest[group] = found
    return {
        "last_updated_at": pa.array([None if n is None else instant_us(n[0]) for n in newest], INSTANT),
        "last_updated_snapshot_id": pa.array([None if n is None else n[1] for n in newest], pa.int64()),
    }
