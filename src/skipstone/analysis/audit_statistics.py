"""Registered statistics of a snapshot held against what its manifests and data files say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow
import pyarrow.compute

from skipstone.analysis.audit import NDV_STD_DEVS, AuditedFile, Finding
from skipstone.analysis.audit_updates import UpdatesAudit
from skipstone.analysis.audit_zones import audit_zones
from skipstone.analysis.partition_counts import has_each_partition_once, places_in
from skipstone.analysis.partition_files import load_partition_statistics
from skipstone.analysis.partition_statistics import compute_partition_statistics
from skipstone.analysis.sketches import NDV, StoredSketch, read_sketches
from skipstone.errors import SkipstoneError
from skipstone.metadata.blobs.puffin import THETA_V1
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.statistics_files import StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.partition_layout import COUNTS, PARTITION, SPEC_ID, TOTAL_RECORD_COUNT
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.stats.theta import ThetaSketch, union
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute


def audit_partition_statistics(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, files: Any, audited: Sequence[AuditedFile]
) -> list[Finding]:
    """The registered partition statistics: counts against a full computation, bounds against the audited `files`."""
    file = metadata.partition_statistics_by_snapshot.get(snapshot.snapshot_id)
    if file is None:
        return []
    path = file.statistics_path
    try:
        stored = load_partition_statistics(file, metadata, storage)
    except (SkipstoneError, OSError) as error:
        return [Finding(stored_in=path, about="the file", fact="partition file", stored="readable", actual=str(error))]
    actual = compute_partition_statistics(metadata, storage, snapshot, use_index=False)
    if not has_each_partition_once(stored.rows):
        return [Finding(stored_in=path, about="the file", fact="partition rows", stored="several", actual="one each")]
    zones = audit_zones(path, stored, metadata.current_schema, files, audited)
    updates = UpdatesAudit(
        metadata=metadata, storage=storage, snapshot=snapshot, path=path, stored=stored, actual=actual
    )
    return [
        *_missing(path, stored, actual),
        *_different(path, stored, actual),
        *updates.findings(_about),
        *zones,
    ]


def _missing(path: str, stored: PartitionStatistics, actual: PartitionStatistics) -> list[Finding]:
    places = places_in(stored.rows, actual.rows)
    return [
        Finding(stored_in=path, about=_about(actual.rows, row), fact="partition", stored=None, actual="there")
        for row, place in enumerate(places.tolist())
        if place < 0
    ]


def _different(path: str, stored: PartitionStatistics, actual: PartitionStatistics) -> list[Finding]:
    found: list[Finding] = []
    places = places_in(actual.rows, stored.rows).tolist()
    for name in (*COUNTS, TOTAL_RECORD_COUNT):
        theirs, ours = (s.rows.column(name).to_pylist() for s in (stored, actual))
        for row, (value, place) in enumerate(zip(theirs, places)):
            # A partition whose files are all gone may stay as a row of zeros.
            truth = ours[place] if place >= 0 else 0
            if value is not None and truth is not None and value != truth:
                about = _about(stored.rows, row)
                found.append(Finding(stored_in=path, about=about, fact=f"partition {name}", stored=value, actual=truth))
    return found


def _about(rows: Any, row: int) -> str:
    return f"partition {rows.column(PARTITION)[row].as_py()} of spec {rows.column(SPEC_ID)[row].as_py()}"


def audit_sketches(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, audited: Sequence[AuditedFile], *, has_deletes: bool
) -> list[Finding]:
    """Registered sketches of this snapshot against those of its data files; with deletes they may only be smaller."""
    file = metadata.statistics_by_snapshot.get(snapshot.snapshot_id)
    if file is None:
        return []
    try:
        sketches = read_sketches(file, storage)
    except (SkipstoneError, OSError) as error:
        about: Any = {"about": "the file", "stored": "readable", "actual": str(error)}
        return [Finding(stored_in=file.statistics_path, fact="ndv file", **about)]
    found = _registered(file, sketches, storage, metadata)
    summaries = [a.summary for a in audited]
    if any(s is None for s in summaries):
        return found
    for field_id, stored in sketches.items():
        parts = [c.theta for s in summaries if s is not None for c in s.columns if c.field_id == field_id]
        if stored.snapshot_id != snapshot.snapshot_id or not parts or any(p is None for p in parts):
            continue
        actual = union([p for p in parts if p is not None])
        if not _agree(stored.sketch, actual, may_be_less=has_deletes):
            found.append(_ndv(file, metadata, field_id, stored.sketch.ndv, actual.ndv))
    return found


def _registered(
    file: StatisticsFile, sketches: Mapping[int, StoredSketch], storage: Storage, metadata: TableMetadata
) -> list[Finding]:
    """What the table's metadata says about the file, which is all that some engines look at."""
    found: list[Finding] = []
    size = storage.size(file.statistics_path)
    if size != file.file_size_in_bytes:
        sizes: Any = {"stored": file.file_size_in_bytes, "actual": size}
        found.append(Finding(stored_in="table metadata", about=file.statistics_path, fact="ndv file size", **sizes))
    for blob in file.blob_metadata:
        told, there = (blob.properties or {}).get(NDV), sketches.get(blob.fields[0] if len(blob.fields) == 1 else -1)
        if blob.type == THETA_V1 and told is not None and there is not None and told != str(there.sketch.ndv):
            found.append(_ndv(file, metadata, blob.fields[0], told, there.sketch.ndv))
    return found


def _ndv(file: StatisticsFile, metadata: TableMetadata, field_id: int, stored: Any, actual: Any) -> Finding:
    name = metadata.current_schema.name_of(field_id) if metadata.current_schema.find(field_id) else field_id
    return Finding(stored_in=file.statistics_path, about=f"column {name!r}", fact="ndv", stored=stored, actual=actual)


def _agree(stored: ThetaSketch, actual: ThetaSketch, *, may_be_less: bool) -> bool:
    slack = NDV_STD_DEVS * (stored.error * stored.estimate + actual.error * actual.estimate)
    if stored.estimate > actual.estimate + slack:
        return False
    return may_be_less or stored.estimate >= actual.estimate - slack
