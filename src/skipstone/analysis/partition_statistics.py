"""Partition statistics of a snapshot: in full from its manifests, or from the statistics of another snapshot.

Laws: the second way gives the rows of the first, or nothing. It adds what the manifests hold that only this snapshot
lists and takes away what those hold that only the other lists, so history, rewritten manifests and partition evolution
need no care. Of the times of changes only the newest is known of a partition: where manifests that are gone may have
told it, it is asked of all manifests. Zones it can only widen: after files were removed they may be looser than a full
computation's, never wrong.
`total_record_count` is there only where metadata proves it, or where the rows were counted.

Spec: "Partition Statistics", "Partition Statistics File".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.analysis.partition_counts import (
    NEWEST,
    Counted,
    add_up,
    count_manifests,
    counts_of,
    empty_counts,
    places_in,
    snapshots_by_time,
)
from skipstone.analysis.vectors import dangling_records, loses_data_files
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import PrimitiveType
from skipstone.plan.entries import unified_type
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.stats.partition_layout import (
    COUNTS,
    DV_COUNT,
    LAST_UPDATED_AT,
    LAST_UPDATED_SNAPSHOT_ID,
    PARTITION,
    SPEC_ID,
    TOTAL_RECORD_COUNT,
    can_have_zone,
)
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.storage.protocol import Storage
from skipstone.zones.merge import merge_zones
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute

Ints = npt.NDArray[np.int64]

ZONE_COLUMNS_MAX: Final = 32
# So many files are counted anew in a few hundredths of a second.
_CHEAP_FILES: Final = 20_000
_SUBTRACTED: Final = ("null_count", "nan_count", "value_count", "files_covered")


def default_zone_ids(schema: Schema) -> tuple[int, ...]:
    """The first columns outside lists and maps that can have bounds."""
    found = [
        i
        for i, f in schema.fields_by_id.items()
        if isinstance(f.type, PrimitiveType) and can_have_zone(f.type) and not schema.is_in_list_or_map(i)
    ]
    return tuple(found[:ZONE_COLUMNS_MAX])


def compute_partition_statistics(
    metadata: TableMetadata,
    storage: Storage,
    snapshot: Snapshot,
    *,
    zone_ids: Collection[int] | None = None,
    use_index: bool = True,
) -> PartitionStatistics:
    """In full, from the snapshot's manifests or what the index has of them."""
    check_partitioned(metadata)
    ids = default_zone_ids(metadata.current_schema) if zone_ids is None else tuple(zone_ids)
    manifests = manifests_of(snapshot, metadata, storage)
    counted = count_manifests(manifests, metadata, storage, zone_ids=ids, use_index=use_index)
    dangling = dangling_records(manifests, metadata, storage, counted.rows)
    return _finished(counted, metadata, snapshot, dangling)


def update_partition_statistics(
    base: PartitionStatistics, metadata: TableMetadata, storage: Storage, snapshot: Snapshot
) -> PartitionStatistics | None:
    """From the statistics of another snapshot; None where that cannot be done, and a full computation must."""
    if not base.is_own or base.snapshot_id not in metadata.snapshots_by_id:
        return None
    before = manifests_of(metadata.snapshot(base.snapshot_id), metadata, storage)
    after = manifests_of(snapshot, metadata, storage)
    added, gone = _difference(after, before), _difference(before, after)
    ids = tuple(i for i, f in base.zones.columns.items() if _is_same_type(f, metadata.current_schema, i))
    plus = count_manifests(added, metadata, storage, zone_ids=ids)
    minus = count_manifests(gone, metadata, storage, zone_ids=ids, sign=-1)
    start = _as_counted(base, metadata)
    kept = _difference(after, added)
    if start is None or _may_forget_changes(start, plus, minus, _newest_deletion(kept, metadata)):
        return None
    counted = add_up([start, plus, _taken_away(minus)])
    counted = replace(counted, zones=_less(counted, minus))
    if any((values < 0).any() for values in counts_of(counted.rows).values()):
        return None
    has_vectors = (counted.rows.column(DV_COUNT).to_numpy() > 0).any()
    if has_vectors and (_may_dangle(base, counted) or loses_data_files(added, gone, metadata, storage)):
        return None
    return _finished(counted, metadata, snapshot, None)


def is_better_in_full(base: PartitionStatistics, metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> bool:
    """Whether files were removed, so that zones could only become looser, and a full computation is cheap."""
    if not base.zones.columns or base.snapshot_id not in metadata.snapshots_by_id:
        return False
    after = manifests_of(snapshot, metadata, storage)
    counts = [c for m in after for c in (m.added_files_count, m.existing_files_count)]
    if any(c is None for c in counts) or sum(c or 0 for c in counts) > _CHEAP_FILES:
        return False
    before = manifests_of(metadata.snapshot(base.snapshot_id), metadata, storage)
    return loses_data_files(_difference(after, before), _difference(before, after), metadata, storage)


def check_partitioned(metadata: TableMetadata) -> None:
    if not unified_type(metadata).fields:
        raise InvalidInput(
            f"Cannot compute partition statistics of {metadata.location}: expected a table with a partition field, "
            "got one that never had any."
        )


def _difference(listed: Sequence[ManifestFile], others: Sequence[ManifestFile]) -> list[ManifestFile]:
    known = {m.manifest_path for m in others}
    return [m for m in listed if m.manifest_path not in known]


def _is_same_type(facts: ColumnFacts, schema: Schema, field_id: int) -> bool:
    field = schema.find(field_id)
    return field is not None and field.type == facts.type


def _as_counted(base: PartitionStatistics, metadata: TableMetadata) -> Counted | None:
    """The statistics to count on from; None if a partition's newest snapshot expired and an older one may be left."""
    by_time = snapshots_by_time(metadata)
    places = {snapshot_id: place for place, snapshot_id in enumerate(by_time)}
    changed_by, changed_at = (base.rows.column(n) for n in (LAST_UPDATED_SNAPSHOT_ID, LAST_UPDATED_AT))
    newest = np.array([places.get(i, -1) for i in changed_by.to_pylist()], np.int64)
    has_expired = (newest < 0) & changed_by.is_valid().to_numpy()
    oldest_ms = metadata.snapshots_by_id[by_time[0]].timestamp_ms
    if (has_expired & (pc.fill_null(changed_at, oldest_ms).to_numpy() >= oldest_ms)).any():
        return None
    rows = base.rows.select([PARTITION, SPEC_ID, *COUNTS]).append_column(NEWEST, pa.array(newest, pa.int64()))
    rows = rows.cast(empty_counts(metadata).rows.schema)
    schema = metadata.current_schema
    kept = {i: f for i, f in base.zones.columns.items() if _is_same_type(f, schema, i)}
    return Counted(rows=rows, zones=replace(base.zones, columns=kept))


def _may_forget_changes(start: Counted, plus: Counted, minus: Counted, oldest_safe: int) -> bool:
    """Whether a partition's newest change may be another than what is known and what came tell.

    Manifests that are gone may have been the only ones that told it. Of a partition without files nothing is known, so
    that what came must be as new as any deletion that is still told.
    """
    told, came = start.rows.column(NEWEST).to_numpy(), plus.rows.column(NEWEST).to_numpy()
    places = places_in(start.rows, plus.rows)
    if (came[places < 0] < oldest_safe).any():
        return True
    gone, again = (np.full(len(told), -1, np.int64) for _ in range(2))
    again[places[places >= 0]] = came[places >= 0]
    places = places_in(start.rows, minus.rows)
    gone[places[places >= 0]] = minus.rows.column(NEWEST).to_numpy()[places >= 0]
    return bool(((told >= 0) & (gone == told) & (again < told)).any())


def _newest_deletion(manifests: Sequence[ManifestFile], metadata: TableMetadata) -> int:
    """The place in the order of time of the newest snapshot whose deleted entries manifests hold; -1 for none."""
    by_time = {snapshot_id: place for place, snapshot_id in enumerate(snapshots_by_time(metadata))}
    return max((by_time.get(m.added_snapshot_id, -1) for m in manifests if m.deleted_files_count != 0), default=-1)


def _taken_away(minus: Counted) -> Counted:
    """What is gone as something to add: it tells of no zone and of no change."""
    at = minus.rows.column_names.index(NEWEST)
    rows = minus.rows.set_column(at, NEWEST, pa.array(np.full(minus.rows.num_rows, -1, np.int64)))
    num_zones = minus.zones.num_zones
    return Counted(rows=rows, zones=ZoneMap(num_zones=num_zones, row_count=pa.array(np.zeros(num_zones, np.int64))))


def _less(counted: Counted, minus: Counted) -> ZoneMap:
    """The zones with what the manifests that are gone held taken off their counts; bounds stay as wide as they were."""
    if not minus.rows.num_rows:
        return counted.zones
    aligned = merge_zones(minus.zones, pa.array(places_in(counted.rows, minus.rows)), counted.rows.num_rows)
    columns: dict[int, ColumnFacts] = {}
    for field_id, facts in counted.zones.columns.items():
        taken = aligned.columns.get(field_id)
        changed = {name: _subtracted(getattr(facts, name), taken, name, len(counted.rows)) for name in _SUBTRACTED}
        columns[field_id] = replace(facts, **changed, lower_exact=None, upper_exact=None)
    rows = pa.array(counted.rows.column("data_record_count").to_numpy())
    return ZoneMap(num_zones=counted.zones.num_zones, row_count=rows, columns=columns)


def _subtracted(values: Any, taken: ColumnFacts | None, name: str, length: int) -> Any:
    less = None if taken is None else getattr(taken, name)
    if values is None or less is None:
        return None if less is None else pa.nulls(length, pa.int64())
    result = pc.subtract(values, less)
    return pc.if_else(pc.less(result, 0), pa.scalar(None, pa.int64()), result)


def _may_dangle(base: PartitionStatistics, counted: Counted) -> bool:
    """Whether a total that only vectors reduce would rest on vectors of the base that may delete nothing."""
    before, after = counts_of(base.rows), counts_of(counted.rows)
    expected = before["data_record_count"] - before["position_delete_record_count"]
    known = pc.fill_null(base.rows.column(TOTAL_RECORD_COUNT), -1).to_numpy()
    unsure = (before[DV_COUNT] > 0) & (known != expected)
    files = after["position_delete_file_count"] + after["equality_delete_file_count"]
    places = places_in(base.rows, counted.rows)[(after[DV_COUNT] > 0) & (files == 0)]
    return bool(unsure[places[places >= 0]].any())


def _finished(
    counted: Counted, metadata: TableMetadata, snapshot: Snapshot, dangling: Ints | None
) -> PartitionStatistics:
    rows, counts = counted.rows, counts_of(counted.rows)
    newest = rows.column(NEWEST).to_numpy()
    by_time = snapshots_by_time(metadata)
    ids = np.array([*by_time, 0], np.int64)[newest]
    times = np.array([*(metadata.snapshots_by_id[i].timestamp_ms for i in by_time), 0], np.int64)[newest]
    unknown = newest < 0
    totals, is_proven = _totals(counts, rows.column(SPEC_ID).to_numpy(), metadata, dangling)
    table = (
        rows.drop_columns([NEWEST])
        .append_column(TOTAL_RECORD_COUNT, pa.array(totals, mask=~is_proven))
        .append_column(LAST_UPDATED_AT, pa.array(times, mask=unknown))
        .append_column(LAST_UPDATED_SNAPSHOT_ID, pa.array(ids, mask=unknown))
    )
    found = PartitionStatistics(
        snapshot_id=snapshot.snapshot_id, partition_type=unified_type(metadata), rows=table, zones=counted.zones
    )
    # A partition whose files are all gone is no partition of the snapshot.
    has_files = np.any([counts[n] != 0 for n in COUNTS], axis=0)
    return found.take(np.flatnonzero(has_files)).sorted()


def _totals(
    counts: Any, spec_ids: Ints, metadata: TableMetadata, dangling: Ints | None
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Rows after deletes, and where that is proven: no deletes, or only deletion vectors, reach the partition."""
    everywhere = [s.spec_id for s in metadata.partition_specs if s.is_unpartitioned]
    is_global = np.isin(spec_ids, everywhere) & (counts["equality_delete_file_count"] > 0)
    is_proven = (counts["position_delete_file_count"] == 0) & (counts["equality_delete_file_count"] == 0)
    is_proven &= not is_global.any()
    deleted = counts["position_delete_record_count"] - (0 if dangling is None else dangling)
    totals = counts["data_record_count"] - deleted
    return totals, is_proven & (totals >= 0)
