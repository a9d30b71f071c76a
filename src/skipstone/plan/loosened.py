"""Zones loosened by deletes: their bounds enclose rows that delete files take away.

Law: what such a zone proves to be absent is absent, so skipping by it is sound. Its least and greatest values need not
be in a row that is left. Rewriting its files makes it exact again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import partition_codes, read_live_entries
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

Level = Literal["manifests", "partitions", "files"]
LEVELS: Final[tuple[Level, ...]] = ("manifests", "partitions", "files")
Mask = npt.NDArray[np.bool_]


def loosened_paths(plan: ScanPlan) -> Any:
    """The data files of a plan that delete files take rows from."""
    return plan.files.column("file_path").filter(pc.greater(_delete_files(plan), 0)).unique()


def zones_with_deletes(metadata: TableMetadata, storage: Storage, snapshot: Snapshot | None, level: Level) -> Any:
    """The zones of a snapshot's data, a row each: `files` in it, `loosened_files` of these, and `is_loosened`."""
    if level not in LEVELS:
        raise InvalidInput(f"Cannot show zones of level {level!r}: expected one of {', '.join(LEVELS)}.")
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=metadata.current_schema)
    match level:
        case "files":
            return _files(plan)
        case "partitions":
            return _partitions(plan)
        case "manifests":
            return _manifests(plan, metadata, storage)


def count_loosened(metadata: TableMetadata, storage: Storage, snapshot: Snapshot | None) -> dict[Level, int]:
    """How many zones of each level are loosened."""
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=metadata.current_schema)
    tables = {"files": _files(plan), "partitions": _partitions(plan), "manifests": _manifests(plan, metadata, storage)}
    return {level: int(tables[level].column("is_loosened").to_numpy().sum()) for level in LEVELS}


def _delete_files(plan: ScanPlan) -> Any:
    return pc.list_value_length(plan.files.column("deletes").combine_chunks())


def _files(plan: ScanPlan) -> Any:
    deletes = _delete_files(plan).cast(pa.int64())
    table = plan.files.select(["file_path", "spec_id", "partition", "record_count"])
    return table.append_column("delete_files", deletes).append_column("is_loosened", pc.greater(deletes, 0))


def _partitions(plan: ScanPlan) -> Any:
    codes = partition_codes(plan.files.column("spec_id"), plan.files.column("partition"))
    first, where = np.unique(codes, return_index=True, return_inverse=True)[1:]
    named = plan.files.select(["spec_id", "partition"]).take(pa.array(first))
    return _counted(named, where, _is_loosened(plan))


def _manifests(plan: ScanPlan, metadata: TableMetadata, storage: Storage) -> Any:
    listed = () if plan.snapshot is None else manifests_of(plan.snapshot, metadata, storage)
    data = [m for m in listed if m.content == ManifestContent.DATA]
    entries = read_live_entries(data, metadata, storage, columns=("file_path", "partition"))
    is_loosened = pc.is_in(entries.column("file_path"), value_set=loosened_paths(plan))
    named = pa.table({"manifest_path": pa.array([m.manifest_path for m in data], pa.string())})
    return _counted(named, entries.column("manifest").to_numpy(), is_loosened.to_numpy())


def _counted(named: Any, where: npt.NDArray[np.integer[Any]], is_loosened: Mask) -> Any:
    files = np.bincount(where, minlength=named.num_rows)
    loosened = np.bincount(where[is_loosened], minlength=named.num_rows)
    columns: Sequence[tuple[str, Any]] = (("files", files), ("loosened_files", loosened), ("is_loosened", loosened > 0))
    for name, values in columns:
        named = named.append_column(name, pa.array(values))
    return named


def _is_loosened(plan: ScanPlan) -> Mask:
    found: Mask = pc.greater(_delete_files(plan), 0).to_numpy(zero_copy_only=False)
    return found
