"""Partition statistics from manifests, or from the index where it tells as much: each manifest is reduced to its
partitions as it is read, then all are added up.

Laws: the counts are of live files. `last_updated_*` names the newest snapshot of the table that an entry of these
manifests, live or deleted, belongs to; null where all of them have expired. No Python object is made per file.

Spec: "Partition Statistics File", "Manifest Entry Fields".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import EntryStatus, FileContent, ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel, partition_codes, unified_type, unify_partition
from skipstone.plan.remapped import remapped_ids
from skipstone.plan.sidecars import all_entries
from skipstone.plan.snapshot_manifests import manifest_bytes, partition_type_of, spec_of
from skipstone.stats.partition_layout import COUNTS, DV_COUNT, PARTITION, SPEC_ID
from skipstone.storage.protocol import Storage
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.merge import merge_zones
from skipstone.zones.zone_map import ZoneMap, concat

pa: Any = pyarrow
pc: Any = pyarrow.compute

Ints = npt.NDArray[np.int64]

# The place of the snapshot that last changed a partition, in the order of time; -1 for none that the table still has.
NEWEST: Final = "newest"
_COLUMNS: Final = ("status", "snapshot_id", PARTITION, "record_count", "file_size_in_bytes")
_DELETE_COLUMNS: Final = (*_COLUMNS, "content", "content_offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Counts by partition: `rows` has `partition`, `spec_id`, the counts, and `newest`."""

    rows: Any
    zones: ZoneMap


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    metadata: TableMetadata
    storage: Storage
    zone_ids: tuple[int, ...]
    snapshot_ids: Ints  # sorted
    places: Ints  # of each in the order of time
    sign: int
    use_index: bool


def snapshots_by_time(metadata: TableMetadata) -> list[int]:
    """The ids of the table's snapshots, oldest first."""
    found = sorted(metadata.snapshots, key=lambda s: (s.timestamp_ms, s.sequence_number))
    return [s.snapshot_id for s in found]


def count_manifests(
    manifests: Sequence[ManifestFile],
    metadata: TableMetadata,
    storage: Storage,
    *,
    zone_ids: Collection[int] = (),
    sign: int = 1,
    use_index: bool = True,
) -> Counted:
    """The live files of manifests by partition; with `sign` -1 to be taken away."""
    by_time = snapshots_by_time(metadata)
    ids = np.array(by_time, np.int64)
    order = np.argsort(ids)
    hidden = remapped_ids(metadata)
    reading = _Reading(
        metadata=metadata,
        storage=storage,
        zone_ids=tuple(i for i in zone_ids if i not in hidden),
        snapshot_ids=ids[order],
        places=order.astype(np.int64),
        sign=sign,
        use_index=use_index,
    )
    parts = in_parallel(lambda manifest: _count_one(manifest, reading), manifests)
    return add_up([*parts, empty_counts(metadata)])


def empty_counts(metadata: TableMetadata) -> Counted:
    arrow = partition_arrow_type(unified_type(metadata))
    columns = {PARTITION: pa.array([], arrow), SPEC_ID: pa.array([], pa.int32())}
    columns |= {name: pa.array([], pa.int64()) for name in (*COUNTS, NEWEST)}
    return Counted(rows=pa.table(columns), zones=ZoneMap(num_zones=0, row_count=pa.array([], pa.int64())))


def _count_one(manifest: ManifestFile, reading: _Reading) -> Counted:
    metadata, is_data = reading.metadata, manifest.content == ManifestContent.DATA
    spec = spec_of(manifest, metadata)
    table = _entries(manifest, reading, is_data=is_data)
    spec_ids = pa.array(np.full(table.num_rows, spec.spec_id, np.int32))
    tuples = unify_partition(table.column(PARTITION), partition_type_of(spec, metadata), unified_type(metadata))
    first, groups = _grouped(partition_codes(spec_ids, tuples))
    live = table.column("status").to_numpy() != EntryStatus.DELETED
    columns: dict[str, Any] = {
        PARTITION: tuples.take(pa.array(first)),
        SPEC_ID: spec_ids.take(pa.array(first)),
        **_counts(table, live, groups, len(first), reading.sign, is_data=is_data),
        NEWEST: _newest(table.column("snapshot_id"), groups, len(first), reading),
    }
    return Counted(rows=pa.table(columns), zones=_zones(table, live, groups, len(first), reading, is_data=is_data))


def _entries(manifest: ManifestFile, reading: _Reading, *, is_data: bool) -> Any:
    """All entries of a manifest, through the index where it tells them all."""
    metadata, metrics = reading.metadata, reading.zone_ids if is_data else ()
    if is_data and reading.use_index:
        found = all_entries(manifest, metadata, reading.storage, columns=_COLUMNS, metrics=metrics)
        if found is not None:
            return found
    return read_manifest(
        manifest_bytes(manifest, reading.storage),
        source=manifest.manifest_path,
        schema=metadata.current_schema,
        spec=spec_of(manifest, metadata),
        columns=_COLUMNS if is_data else _DELETE_COLUMNS,
        metrics=metrics,
        metric_kinds=("lower", "upper", "null_count", "nan_count", "value_count"),
        on_bad_bound="unknown",
        inherit_from=manifest,
    ).combine_chunks()


def _grouped(codes: Ints) -> tuple[Ints, Ints]:
    """The first row of each group, and the group of each row."""
    _, first, groups = np.unique(codes, return_index=True, return_inverse=True)
    return first, groups


def _counts(table: Any, live: Any, groups: Ints, num_groups: int, sign: int, *, is_data: bool) -> dict[str, Any]:
    records, sizes = (table.column(n).to_numpy() for n in ("record_count", "file_size_in_bytes"))
    found = {name: np.zeros(num_groups, np.int64) for name in COUNTS}

    def add(name: str, mask: Any, weights: Any = None) -> None:
        found[name] = sign * _sums(groups[mask], None if weights is None else weights[mask], num_groups)

    if is_data:
        add("data_record_count", live, records)
        add("data_file_count", live)
        add("total_data_file_size_in_bytes", live, sizes)
    else:
        content = table.column("content").to_numpy()
        is_vector = table.column("content_offset").is_valid().to_numpy()
        positions = live & (content == FileContent.POSITION_DELETES)
        equality = live & (content == FileContent.EQUALITY_DELETES)
        add("position_delete_record_count", positions, records)
        add("position_delete_file_count", positions & ~is_vector)
        add(DV_COUNT, positions & is_vector)
        add("equality_delete_record_count", equality, records)
        add("equality_delete_file_count", equality)
    return {name: pa.array(values, pa.int64()) for name, values in found.items()}


def _sums(groups: Ints, weights: Any, num_groups: int) -> Ints:
    if weights is None:
        return np.bincount(groups, minlength=num_groups).astype(np.int64)
    totals = np.zeros(num_groups, np.int64)
    np.add.at(totals, groups, weights)
    return totals


def _newest(snapshot_ids: Any, groups: Ints, num_groups: int, reading: _Reading) -> Any:
    newest = np.full(num_groups, -1, np.int64)
    if len(reading.snapshot_ids):
        ids = pc.fill_null(snapshot_ids, -1).to_numpy()
        at = np.minimum(np.searchsorted(reading.snapshot_ids, ids), len(reading.snapshot_ids) - 1)
        places = np.where(reading.snapshot_ids[at] == ids, reading.places[at], -1)
        np.maximum.at(newest, groups, places)
    return pa.array(newest)


def _zones(table: Any, live: Any, groups: Ints, num_groups: int, reading: _Reading, *, is_data: bool) -> ZoneMap:
    if not is_data or not reading.zone_ids:
        # No files, no rows: the zone says nothing and takes nothing away.
        return _without_rows(num_groups)
    members = pa.array(groups, mask=~live)
    found = merge_zones(from_manifest_table(table, reading.metadata.current_schema), members, num_groups)
    return replace(found, columns={i: f for i, f in found.columns.items() if i in reading.zone_ids})


def _without_rows(num_zones: int) -> ZoneMap:
    return ZoneMap(num_zones=num_zones, row_count=pa.array(np.zeros(num_zones, np.int64)))


def add_up(parts: Sequence[Counted]) -> Counted:
    """The counts of all parts, one row for each partition and spec."""
    rows = pa.concat_tables([p.rows for p in parts]).combine_chunks()
    codes = partition_codes(rows.column(SPEC_ID), rows.column(PARTITION))
    first, groups = _grouped(codes)
    chosen = pa.array(first)
    columns = {name: rows.column(name).take(chosen) for name in (PARTITION, SPEC_ID)}
    for name in COUNTS:
        columns[name] = pa.array(_sums(groups, rows.column(name).to_numpy(), len(first)))
    newest = np.full(len(first), -1, np.int64)
    np.maximum.at(newest, groups, rows.column(NEWEST).to_numpy())
    columns[NEWEST] = pa.array(newest)
    zones = merge_zones(concat([p.zones for p in parts]), pa.array(groups), len(first))
    return Counted(rows=pa.table(columns).combine_chunks(), zones=zones)


def counts_of(rows: Any) -> Mapping[str, Ints]:
    """The counts as NumPy arrays."""
    return {name: rows.column(name).to_numpy() for name in COUNTS}


def places_in(rows: Any, others: Any) -> Ints:
    """Where the partitions of `others` are among those of `rows`, which has each once; -1 for nowhere."""
    keys = [SPEC_ID, PARTITION]
    both = pa.concat_tables([rows.select(keys), others.select(keys)])
    codes = partition_codes(both.column(SPEC_ID), both.column(PARTITION))
    place = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
    place[codes[: rows.num_rows]] = np.arange(rows.num_rows)
    found: Ints = place[codes[rows.num_rows :]]
    return found


def has_each_partition_once(rows: Any) -> bool:
    codes = partition_codes(rows.column(SPEC_ID), rows.column(PARTITION))
    return len(np.unique(codes)) == len(codes)
