"""Everything a table's metadata file says, as one value.

The value holds what the spec's table of metadata fields lists, in its words. Absent means None or empty: no current
snapshot is None (never -1), and `main` is always in `refs` when there is a current snapshot. JSON is in
`table_metadata_json`, the cross-references are checked in `validation`, changes are in `metadata_changes`.

Spec: "Table Metadata", "Table Metadata Fields".
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar

from skipstone.errors import NotFound, what_exists
from skipstone.metadata.partitions.partitioning import PartitionSpec, unified_partition_type
from skipstone.metadata.partitions.sorting import SortOrder
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.encryption_keys import EncryptedKey
from skipstone.metadata.tables.refs import MAIN, SnapshotRef
from skipstone.metadata.tables.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.types import StructType

K = TypeVar("K")
V = TypeVar("V")

FORMAT_VERSION_MAX: Final = 3
# Partition field ids start here; a table without partition fields has assigned none.
LAST_PARTITION_ID_START: Final = 999


@dataclass(frozen=True, kw_only=True)
class TableMetadata:
    format_version: int
    table_uuid: uuid.UUID | None  # None only in old v1 tables
    location: str
    last_updated_ms: int
    last_column_id: int
    schemas: tuple[Schema, ...]
    current_schema_id: int
    partition_specs: tuple[PartitionSpec, ...]
    default_spec_id: int
    last_partition_id: int
    sort_orders: tuple[SortOrder, ...]
    default_sort_order_id: int
    last_sequence_number: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    current_snapshot_id: int | None = None
    snapshots: tuple[Snapshot, ...] = ()
    refs: Mapping[str, SnapshotRef] = field(default_factory=dict)
    snapshot_log: tuple[SnapshotLogEntry, ...] = ()
    metadata_log: tuple[MetadataLogEntry, ...] = ()
    statistics: tuple[StatisticsFile, ...] = ()
    partition_statistics: tuple[PartitionStatisticsFile, ...] = ()
    next_row_id: int = 0  # from v3 on
    encryption_keys: tuple[EncryptedKey, ...] = ()

    @cached_property
    def schemas_by_id(self) -> Mapping[int, Schema]:
        return {s.schema_id: s for s in self.schemas}

    @cached_property
    def specs_by_id(self) -> Mapping[int, PartitionSpec]:
        return {s.spec_id: s for s in self.partition_specs}

    @cached_property
    def sort_orders_by_id(self) -> Mapping[int, SortOrder]:
        return {o.order_id: o for o in self.sort_orders}

    @cached_property
    def snapshots_by_id(self) -> Mapping[int, Snapshot]:
        return {s.snapshot_id: s for s in self.snapshots}

    @cached_property
    def statistics_by_snapshot(self) -> Mapping[int, StatisticsFile]:
        return {s.snapshot_id: s for s in self.statistics}

    @cached_property
    def partition_statistics_by_snapshot(self) -> Mapping[int, PartitionStatisticsFile]:
        return {s.snapshot_id: s for s in self.partition_statistics}

    @cached_property
    def unified_partition_type(self) -> StructType:
        """The type over the tuples of all specs; sources that are gone are looked up in older schemas, latest first."""
        return unified_partition_type(self.partition_specs, self.current_schema, schemas=tuple(reversed(self.schemas)))

    @property
    def current_schema(self) -> Schema:
        return self.schema(self.current_schema_id)

    @property
    def default_spec(self) -> PartitionSpec:
        return self.spec(self.default_spec_id)

    @property
    def default_sort_order(self) -> SortOrder:
        return self.sort_order(self.default_sort_order_id)

    @property
    def current_snapshot(self) -> Snapshot | None:
        return None if self.current_snapshot_id is None else self.snapshot(self.current_snapshot_id)

    @property
    def next_sequence_number(self) -> int:
        """The sequence number of the next snapshot; v1 tables have none."""
        return 0 if self.format_version == 1 else self.last_sequence_number + 1

    def schema(self, schema_id: int) -> Schema:
        return _found(self.schemas_by_id, schema_id, "schema", "Schemas")

    def spec(self, spec_id: int) -> PartitionSpec:
        return _found(self.specs_by_id, spec_id, "partition spec", "Partition specs")

    def sort_order(self, order_id: int) -> SortOrder:
        return _found(self.sort_orders_by_id, order_id, "sort order", "Sort orders")

    def snapshot(self, snapshot_id: int) -> Snapshot:
        return _found(self.snapshots_by_id, snapshot_id, "snapshot", "Snapshots")

    def ref(self, name: str) -> SnapshotRef:
        return _found(self.refs, name, "ref", "Refs")

    def ref_snapshot(self, name: str = MAIN) -> Snapshot | None:
        """The snapshot a branch or tag points to; None only for `main` of a table without snapshots."""
        if name == MAIN and name not in self.refs:
            return None
        return self.snapshot(self.ref(name).snapshot_id)

    def snapshot_schema(self, snapshot: Snapshot) -> Schema:
        """The schema a snapshot was written with; the current one where the snapshot does not say."""
        return self.current_schema if snapshot.schema_id is None else self.schema(snapshot.schema_id)


def _found(known: Mapping[K, V], key: K, thing: str, things: str) -> V:
    value = known.get(key)
    if value is None:
        names = [str(k) for k in known]
        raise NotFound(f"Cannot find {thing} {key!r} in the table's metadata. " + what_exists(things, str(key), names))
    return value
