"""The metadata of a table that does not exist yet.

Ids are the table's own: columns are numbered anew from 1, partition fields from 1000, whatever ids the caller's schema
had; partition spec, sort order and identifier fields follow their columns.

Spec: "Table Metadata Fields", "Schemas and Data Types", "Partition Evolution", "Sorting".
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.partitions.partitioning import UNPARTITIONED, PartitionSpec, check_name
from skipstone.metadata.partitions.sorting import UNSORTED, SortOrder
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import assign_fresh_ids
from skipstone.metadata.tables.metadata_changes import set_properties
from skipstone.metadata.tables.table_metadata import FORMAT_VERSION_MAX, LAST_PARTITION_ID_START, TableMetadata
from skipstone.metadata.types import walk


def new_table_metadata(
    schema: Schema,
    *,
    location: str,
    now_ms: int,
    spec: PartitionSpec = UNPARTITIONED,
    sort_order: SortOrder = UNSORTED,
    properties: Mapping[str, str] | None = None,
    format_version: int = 2,
    table_uuid: uuid.UUID | None = None,
) -> TableMetadata:
    """Metadata without snapshots. `spec` and `sort_order` refer to columns by the ids of the schema given here."""
    check_new_version(format_version)
    if not location:
        raise InvalidInput("Cannot create a table: expected a location, got an empty string.")
    schema.check_full_names()
    spec.check(schema)
    spec.check_writable()
    spec.check_format_version(format_version)
    sort_order.check(schema)
    sort_order.check_format_version(format_version)
    fresh = assign_fresh_ids(schema).with_id(0)
    fresh.check_format_version(format_version)
    new_ids = {old.id: new.id for old, new in zip(walk(schema.struct), walk(fresh.struct), strict=True)}
    fresh_spec = _fresh_spec(spec, new_ids)
    for field in fresh_spec.fields:
        check_name(field, fresh)
    fresh_order = _fresh_order(sort_order, new_ids)
    metadata = TableMetadata(
        format_version=format_version,
        table_uuid=table_uuid or uuid.uuid4(),
        location=location.rstrip("/") or location,
        last_updated_ms=now_ms,
        last_column_id=fresh.highest_field_id,
        schemas=(fresh,),
        current_schema_id=fresh.schema_id,
        partition_specs=(fresh_spec,),
        default_spec_id=fresh_spec.spec_id,
        last_partition_id=fresh_spec.highest_field_id,
        sort_orders=(fresh_order,),
        default_sort_order_id=fresh_order.order_id,
    )
    return set_properties(metadata, properties or {})


def check_new_version(format_version: int) -> None:
    """Refuse versions of the format that no new table can have."""
    if format_version > FORMAT_VERSION_MAX:
        raise Unsupported(
            f"Cannot create a table of format version {format_version}: expected at most {FORMAT_VERSION_MAX}."
        )
    if format_version < 1:
        raise InvalidInput(f"Cannot create a table of format version {format_version}: expected 1 or more.")


def _fresh_spec(spec: PartitionSpec, new_ids: Mapping[int, int]) -> PartitionSpec:
    fields = tuple(
        replace(f, source_ids=tuple(new_ids[i] for i in f.source_ids), field_id=LAST_PARTITION_ID_START + n)
        for n, f in enumerate((f for f in spec.fields if not f.is_void), start=1)
    )
    return PartitionSpec(spec_id=0, fields=fields)


def _fresh_order(order: SortOrder, new_ids: Mapping[int, int]) -> SortOrder:
    if order.is_unsorted:
        return UNSORTED
    fields = tuple(replace(f, source_ids=tuple(new_ids[i] for i in f.source_ids)) for f in order.fields)
    return SortOrder(order_id=UNSORTED.order_id + 1, fields=fields)
