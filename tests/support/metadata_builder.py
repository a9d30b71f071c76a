"""Small table metadata for tests: a valid table of any version, to change in one place."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.sorting import NullOrder, SortDirection, SortField, SortOrder
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.refs import branch, tag
from skipstone.metadata.tables.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import table_metadata_to_json
from skipstone.metadata.types import DATE, LONG, STRING, Field

TABLE_UUID = uuid.UUID("9c12d441-03fe-4693-9a96-a0705ddf69c1")
START_MS = 1_600_000_000_000

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG, required=True),
        Field(id=2, name="state", type=STRING, doc="where"),
        Field(id=3, name="day", type=DATE),
    ),
    identifier_field_ids=(1,),
)
WIDER_SCHEMA = Schema(fields=(*SCHEMA.fields, Field(id=4, name="zip", type=STRING)), schema_id=1)
SPEC = PartitionSpec(
    spec_id=0,
    fields=(PartitionField(source_ids=(2,), field_id=1000, name="state", transform=parse_transform("identity")),),
)
ORDER = SortOrder(
    order_id=1,
    fields=(
        SortField(
            source_ids=(3,),
            transform=parse_transform("month"),
            direction=SortDirection.DESC,
            null_order=NullOrder.NULLS_LAST,
        ),
    ),
)


def empty_table(format_version: int = 2) -> TableMetadata:
    """A table without snapshots."""
    return TableMetadata(
        format_version=format_version,
        table_uuid=TABLE_UUID,
        location="s3://lake/shop/addresses",
        last_updated_ms=START_MS,
        last_column_id=4,
        schemas=(SCHEMA, WIDER_SCHEMA),
        current_schema_id=1,
        partition_specs=(SPEC,),
        default_spec_id=0,
        last_partition_id=1000,
        sort_orders=(ORDER,),
        default_sort_order_id=1,
        properties={"write.format.default": "parquet"},
    )


def snapshot(snapshot_id: int, *, number: int, parent: int | None = None, format_version: int = 2) -> Snapshot:
    """The snapshot that is the `number`-th of its table."""
    return Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=parent,
        sequence_number=0 if format_version == 1 else number,
        timestamp_ms=START_MS + 1000 * number,
        manifest_list=f"s3://lake/shop/addresses/metadata/snap-{snapshot_id}.avro",
        summary={"operation": "append", "added-data-files": "1"},
        schema_id=1,
        first_row_id=None if format_version < 3 else 10 * (number - 1),
        added_rows=None if format_version < 3 else 10,
    )


def table(format_version: int = 2) -> TableMetadata:
    """A table with snapshots 11 -> 22 -> 33, the last one current, a branch at 22 and a tag at 11."""
    parents = {11: None, 22: 11, 33: 22}
    snapshots = tuple(
        snapshot(i, number=n, parent=parent, format_version=format_version)
        for n, (i, parent) in enumerate(parents.items(), start=1)
    )
    return replace(
        empty_table(format_version),
        last_updated_ms=START_MS + 3000,
        last_sequence_number=0 if format_version == 1 else 3,
        current_snapshot_id=33,
        snapshots=snapshots,
        refs={"main": branch(33), "audit": branch(22), "first": tag(11, max_ref_age_ms=1000)},
        snapshot_log=tuple(SnapshotLogEntry(timestamp_ms=s.timestamp_ms, snapshot_id=s.snapshot_id) for s in snapshots),
        metadata_log=(MetadataLogEntry(timestamp_ms=START_MS, metadata_file="s3://lake/v1.metadata.json"),),
        next_row_id=30 if format_version >= 3 else 0,
    )


def changed_json(change: Callable[[dict[str, Any]], object], metadata: TableMetadata | None = None) -> bytes:
    """The bytes of a metadata file after `change` was done to its JSON object."""
    written = json.loads(json.dumps(table_metadata_to_json(metadata or table())))
    change(written)
    return json.dumps(written).encode()
