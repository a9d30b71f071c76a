"""Changes to table metadata: each takes a value and gives a new one, none touches the old.

The functions are named after the updates of the REST catalog's protocol and may be combined in any order: a state
between two of them may be inconsistent. `next_metadata` ends a set of changes: it keeps the logs and the clock and
checks the result as a whole.

Spec: "Table Metadata Fields", "Sequence Numbers", "Row Lineage", "Snapshot References".
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from skipstone.errors import AlreadyExists, InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import UNSORTED, SortOrder
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.encryption_keys import EncryptedKey
from skipstone.metadata.tables.refs import MAIN, SnapshotRef, check_ref_name
from skipstone.metadata.tables.snapshots import OPERATION, MetadataLogEntry, Snapshot, SnapshotLogEntry
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.tables.table_metadata import LAST_PARTITION_ID_START, TableMetadata
from skipstone.metadata.tables.validation import faults_of

PREVIOUS_VERSIONS_MAX: Final = "write.metadata.previous-versions-max"
PREVIOUS_VERSIONS_MAX_DEFAULT: Final = 100


def assign_uuid(metadata: TableMetadata, table_uuid: uuid.UUID) -> TableMetadata:
    if metadata.table_uuid not in (None, table_uuid):
        raise InvalidInput(
            f"Cannot assign UUID {table_uuid}: expected a table without one, got {metadata.table_uuid}. "
            f"A table keeps its UUID for life."
        )
    return replace(metadata, table_uuid=table_uuid)


def add_schema(metadata: TableMetadata, schema: Schema) -> tuple[TableMetadata, int]:
    """The metadata with the schema, and the schema's id: that of an equal schema if there is one, else the next."""
    schema.check_format_version(metadata.format_version)
    for known in metadata.schemas:
        if known.same_as(schema):
            return metadata, known.schema_id
    schema_id = max((s.schema_id for s in metadata.schemas), default=-1) + 1
    changed = replace(
        metadata,
        schemas=(*metadata.schemas, schema.with_id(schema_id)),
        last_column_id=max(metadata.last_column_id, schema.highest_field_id),
    )
    return changed, schema_id


def set_current_schema(metadata: TableMetadata, schema_id: int) -> TableMetadata:
    return replace(metadata, current_schema_id=metadata.schema(schema_id).schema_id)


def remove_schemas(metadata: TableMetadata, schema_ids: Collection[int]) -> TableMetadata:
    used = {metadata.current_schema_id} | {s.schema_id for s in metadata.snapshots if s.schema_id is not None}
    _refuse_used("schema", used & set(schema_ids))
    return replace(metadata, schemas=tuple(s for s in metadata.schemas if s.schema_id not in schema_ids))


def add_spec(metadata: TableMetadata, spec: PartitionSpec) -> tuple[TableMetadata, int]:
    """The metadata with the partition spec, and the spec's id: that of an equivalent one if there is one."""
    for known in metadata.partition_specs:
        if known.compatible_with(spec):
            return metadata, known.spec_id
    field_ids = [f.field_id for f in spec.fields]
    sequential = list(range(LAST_PARTITION_ID_START + 1, LAST_PARTITION_ID_START + 1 + len(field_ids)))
    if metadata.format_version == 1 and field_ids != sequential:
        raise InvalidInput(
            f"Cannot add a partition spec to a v1 table: expected field ids {sequential}, got {field_ids}. "
            f"Replace dropped fields by the void transform and add new ones at the end."
        )
    spec_id = max((s.spec_id for s in metadata.partition_specs), default=-1) + 1
    changed = replace(
        metadata,
        partition_specs=(*metadata.partition_specs, replace(spec, spec_id=spec_id)),
        last_partition_id=max([metadata.last_partition_id, *field_ids]),
    )
    return changed, spec_id


def set_default_spec(metadata: TableMetadata, spec_id: int) -> TableMetadata:
    return replace(metadata, default_spec_id=metadata.spec(spec_id).spec_id)


def remove_specs(metadata: TableMetadata, spec_ids: Collection[int]) -> TableMetadata:
    """Drop specs; that no manifest uses them any more is for the caller to know."""
    _refuse_used("partition spec", {metadata.default_spec_id} & set(spec_ids))
    return replace(metadata, partition_specs=tuple(s for s in metadata.partition_specs if s.spec_id not in spec_ids))


def add_sort_order(metadata: TableMetadata, order: SortOrder) -> tuple[TableMetadata, int]:
    """The metadata with the sort order, and the order's id; id 0 is the unsorted order's alone."""
    for known in metadata.sort_orders:
        if known.same_as(order):
            return metadata, known.order_id
    if not order.fields:
        return replace(metadata, sort_orders=(*metadata.sort_orders, UNSORTED)), UNSORTED.order_id
    order_id = max((o.order_id for o in metadata.sort_orders), default=0) + 1
    return replace(metadata, sort_orders=(*metadata.sort_orders, replace(order, order_id=order_id))), order_id


def set_default_sort_order(metadata: TableMetadata, order_id: int) -> TableMetadata:
    return replace(metadata, default_sort_order_id=metadata.sort_order(order_id).order_id)


def add_snapshot(metadata: TableMetadata, snapshot: Snapshot) -> TableMetadata:
    """The metadata with one more snapshot, which no ref points to yet."""
    m, s = metadata, snapshot
    _check_new_snapshot(m, s)
    next_row_id = m.next_row_id
    if m.format_version >= 3:
        if s.first_row_id is None or s.added_rows is None or s.first_row_id < m.next_row_id or s.added_rows < 0:
            raise InvalidInput(
                f"Cannot add snapshot {s.snapshot_id}: expected first-row-id {m.next_row_id} (the table's next-row-id) "
                f"and added-rows, got {s.first_row_id} and {s.added_rows}. Assign them anew from the current metadata."
            )
        next_row_id = s.first_row_id + s.added_rows
    elif s.first_row_id is not None:
        raise InvalidInput(
            f"Cannot add snapshot {s.snapshot_id}: expected no first-row-id in a v{m.format_version} table, "
            f"got {s.first_row_id}."
        )
    return replace(
        m,
        snapshots=(*m.snapshots, s),
        last_sequence_number=max(m.last_sequence_number, s.sequence_number),
        next_row_id=next_row_id,
    )


def _check_new_snapshot(m: TableMetadata, s: Snapshot) -> None:
    where = f"Cannot add snapshot {s.snapshot_id}"
    if s.snapshot_id in m.snapshots_by_id:
        raise AlreadyExists(f"{where}: the table has a snapshot with this id. Choose another id.")
    if s.snapshot_id == s.parent_snapshot_id:
        raise InvalidInput(f"{where}: expected another snapshot as its parent, got itself.")
    if s.schema_id is not None:
        m.schema(s.schema_id)
    if m.format_version == 1:
        if s.sequence_number != 0:
            raise InvalidInput(f"{where}: expected no sequence number in a v1 table, got {s.sequence_number}.")
        return
    if s.sequence_number <= m.last_sequence_number:
        raise InvalidInput(
            f"{where}: expected a sequence number above {m.last_sequence_number}, got {s.sequence_number}. "
            f"Assign it anew from the current metadata."
        )
    if s.manifest_list is None:
        raise InvalidInput(f"{where}: expected a manifest list in a v{m.format_version} table, got none.")
    if s.summary is None or OPERATION not in s.summary:
        raise InvalidInput(f"{where}: expected a summary with an operation, got {s.summary!r}.")


def remove_snapshots(metadata: TableMetadata, snapshot_ids: Collection[int]) -> TableMetadata:
    """The metadata without these snapshots, their statistics, and the refs that pointed to them."""
    refs = {name: ref for name, ref in metadata.refs.items() if ref.snapshot_id not in snapshot_ids}
    return replace(
        metadata,
        snapshots=tuple(s for s in metadata.snapshots if s.snapshot_id not in snapshot_ids),
        refs=refs,
        current_snapshot_id=metadata.current_snapshot_id if MAIN in refs else None,
        statistics=tuple(s for s in metadata.statistics if s.snapshot_id not in snapshot_ids),
        partition_statistics=tuple(s for s in metadata.partition_statistics if s.snapshot_id not in snapshot_ids),
    )


def set_ref(metadata: TableMetadata, name: str, ref: SnapshotRef) -> TableMetadata:
    """The metadata with a branch or tag set; setting `main` sets the current snapshot."""
    check_ref_name(name, ref)
    metadata.snapshot(ref.snapshot_id)
    current = ref.snapshot_id if name == MAIN else metadata.current_snapshot_id
    return replace(metadata, refs={**metadata.refs, name: ref}, current_snapshot_id=current)


def remove_ref(metadata: TableMetadata, name: str) -> TableMetadata:
    metadata.ref(name)
    current = None if name == MAIN else metadata.current_snapshot_id
    refs = {known: ref for known, ref in metadata.refs.items() if known != name}
    return replace(metadata, refs=refs, current_snapshot_id=current)


def set_properties(metadata: TableMetadata, updates: Mapping[str, str]) -> TableMetadata:
    pairs: Iterable[tuple[object, object]] = updates.items()
    for key, value in pairs:
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidInput(f"Cannot set property {key!r}: expected text for key and value, got {value!r}.")
    return replace(metadata, properties={**metadata.properties, **updates})


def remove_properties(metadata: TableMetadata, keys: Collection[str]) -> TableMetadata:
    return replace(metadata, properties={k: v for k, v in metadata.properties.items() if k not in keys})


def set_location(metadata: TableMetadata, location: str) -> TableMetadata:
    if not location:
        raise InvalidInput("Cannot set the table's location: expected a path or URI, got an empty string.")
    return replace(metadata, location=location)


def set_statistics(metadata: TableMetadata, file: StatisticsFile) -> TableMetadata:
    """Register a statistics file; it replaces those of the same snapshot."""
    metadata.snapshot(file.snapshot_id)
    return replace(metadata, statistics=(*_other_statistics(metadata.statistics, file.snapshot_id), file))


def remove_statistics(metadata: TableMetadata, snapshot_id: int) -> TableMetadata:
    return replace(metadata, statistics=tuple(_other_statistics(metadata.statistics, snapshot_id)))


def _other_statistics(files: Iterable[StatisticsFile], snapshot_id: int) -> list[StatisticsFile]:
    return [f for f in files if f.snapshot_id != snapshot_id]


def set_partition_statistics(metadata: TableMetadata, file: PartitionStatisticsFile) -> TableMetadata:
    """Register a partition statistics file; it replaces the one of the same snapshot."""
    metadata.snapshot(file.snapshot_id)
    others = (f for f in metadata.partition_statistics if f.snapshot_id != file.snapshot_id)
    return replace(metadata, partition_statistics=(*others, file))


def remove_partition_statistics(metadata: TableMetadata, snapshot_id: int) -> TableMetadata:
    kept = tuple(f for f in metadata.partition_statistics if f.snapshot_id != snapshot_id)
    return replace(metadata, partition_statistics=kept)


def add_encryption_key(metadata: TableMetadata, key: EncryptedKey) -> TableMetadata:
    if metadata.format_version < 3:
        raise InvalidInput(f"Cannot add an encryption key to a v{metadata.format_version} table: expected v3 or later.")
    if any(k.key_id == key.key_id for k in metadata.encryption_keys):
        raise AlreadyExists(f"Cannot add encryption key '{key.key_id}': the table has a key with this id.")
    return replace(metadata, encryption_keys=(*metadata.encryption_keys, key))


def remove_encryption_key(metadata: TableMetadata, key_id: str) -> TableMetadata:
    _refuse_used("encryption key", {s.key_id for s in metadata.snapshots} & {key_id})
    return replace(metadata, encryption_keys=tuple(k for k in metadata.encryption_keys if k.key_id != key_id))


def next_metadata(
    base: TableMetadata, changed: TableMetadata, *, now_ms: int, base_metadata_file: str | None
) -> TableMetadata:
    """The metadata to commit after `base`: logs kept, clock advanced, the whole checked.

    `base_metadata_file` is where `base` was loaded from, None when it was never stored.
    """
    # The clock of this machine may be behind the last writer's; time in metadata never runs backwards.
    added = [s.timestamp_ms for s in changed.snapshots if s.snapshot_id not in base.snapshots_by_id]
    last_updated_ms = max([now_ms, base.last_updated_ms, *added])
    sealed = replace(
        changed,
        last_updated_ms=last_updated_ms,
        snapshot_log=_next_snapshot_log(base, changed, last_updated_ms),
        metadata_log=_next_metadata_log(base, changed, base_metadata_file),
    )
    for fault in faults_of(sealed):
        raise InvalidInput(f"Cannot change table metadata: {fault}")
    return sealed


def _next_snapshot_log(
    base: TableMetadata, changed: TableMetadata, last_updated_ms: int
) -> tuple[SnapshotLogEntry, ...]:
    log = changed.snapshot_log
    if base.snapshots_by_id.keys() - changed.snapshots_by_id.keys():
        # What was current before a snapshot that has expired can no longer be told without a gap.
        gaps = [i for i, entry in enumerate(log) if entry.snapshot_id not in changed.snapshots_by_id]
        log = log[gaps[-1] + 1 :] if gaps else log
    current = changed.current_snapshot_id
    if current is not None and current != base.current_snapshot_id:
        log = (*log, SnapshotLogEntry(timestamp_ms=last_updated_ms, snapshot_id=current))
    return log


def _next_metadata_log(
    base: TableMetadata, changed: TableMetadata, base_metadata_file: str | None
) -> tuple[MetadataLogEntry, ...]:
    log = changed.metadata_log
    if base_metadata_file is not None:
        log = (*log, MetadataLogEntry(timestamp_ms=base.last_updated_ms, metadata_file=base_metadata_file))
    return log[-_previous_versions_max(changed) :]


def _previous_versions_max(metadata: TableMetadata) -> int:
    text = metadata.properties.get(PREVIOUS_VERSIONS_MAX, str(PREVIOUS_VERSIONS_MAX_DEFAULT))
    try:
        # As in the reference implementation, at least the previous version is kept.
        return max(1, int(text))
    except ValueError:
        raise InvalidInput(
            f"Invalid table property {PREVIOUS_VERSIONS_MAX}: expected an integer, got {text!r}."
        ) from None


def _refuse_used(thing: str, used: Collection[object]) -> None:
    if used:
        raise InvalidInput(
            f"Cannot remove {thing} {', '.join(map(str, used))}: expected one that nothing refers to, got one in use."
        )
