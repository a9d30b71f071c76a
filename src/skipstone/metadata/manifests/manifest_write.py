"""Manifests as bytes, with what a manifest list says about them.

Law: nothing that breaks the format leaves here. Entries are checked (`manifest_checks`), written in the schema of the
table's version, and counted and summarized in the same step, so the list can never disagree with the manifest.

Spec: "Manifests", "Manifest Entry Fields", "Manifest Lists".
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.avro.encode import Codec, Engine, encode
from skipstone.metadata.manifests.field_summaries import summarize
from skipstone.metadata.manifests.manifest import (
    ENTRY_COLUMNS,
    METRIC_COLUMNS,
    TRACKING_COLUMNS,
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    FieldSummary,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from skipstone.metadata.manifests.manifest_checks import check_entries
from skipstone.metadata.manifests.manifest_rows import empty_partitions, entries_to_arrow, partition_arrow_type
from skipstone.metadata.manifests.manifest_schema import (
    BLOCK_SIZE_IN_BYTES_V1,
    check_format_version,
    manifest_entry_schema,
)
from skipstone.metadata.partitions.partition_json import spec_fields_to_json
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_json import schema_to_json
from skipstone.metadata.types import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenManifest:
    """The bytes of a manifest, and its facts but for where it is stored."""

    data: bytes
    partition_spec_id: int
    content: ManifestContent
    added_snapshot_id: int | None
    min_sequence_number: int
    added_files_count: int
    existing_files_count: int
    deleted_files_count: int
    added_rows_count: int
    existing_rows_count: int
    deleted_rows_count: int
    partitions: tuple[FieldSummary, ...]

    def manifest_file(
        self,
        manifest_path: str,
        manifest_length: int | None = None,
        *,
        added_snapshot_id: int | None = None,
        key_metadata: bytes | None = None,
    ) -> ManifestFile:
        """The entry for a manifest list. `manifest_length` differs from the data's length only under encryption."""
        snapshot_id = self.added_snapshot_id if added_snapshot_id is None else added_snapshot_id
        if snapshot_id is None:
            raise InvalidInput(f"Cannot list manifest {manifest_path}: expected the snapshot that adds it, got none.")
        return ManifestFile(
            manifest_path=manifest_path,
            manifest_length=len(self.data) if manifest_length is None else manifest_length,
            partition_spec_id=self.partition_spec_id,
            content=self.content,
            min_sequence_number=self.min_sequence_number,
            added_snapshot_id=snapshot_id,
            added_files_count=self.added_files_count,
            existing_files_count=self.existing_files_count,
            deleted_files_count=self.deleted_files_count,
            added_rows_count=self.added_rows_count,
            existing_rows_count=self.existing_rows_count,
            deleted_rows_count=self.deleted_rows_count,
            partitions=self.partitions,
            key_metadata=key_metadata,
        )


def write_manifest(
    entries: pa.Table | Iterable[ManifestEntry],
    *,
    format_version: int,
    schema: Schema,
    spec: PartitionSpec,
    content: ManifestContent = ManifestContent.DATA,
    snapshot_id: int | None,
    partition_type: StructType | None = None,
    codec: Codec = "deflate",
    level: int | None = None,
    engine: Engine = "auto",
) -> WrittenManifest:
    """Encode entries as a manifest.

    `entries` is an Arrow table with the columns of `ENTRY_COLUMNS` (those left out are null) or entries one by one.
    `snapshot_id` is the snapshot that adds the manifest; added entries without a snapshot id get it. None leaves them
    to inherit it, which v1 cannot. `partition_type` is needed only for a spec whose source columns were dropped.
    """
    check_format_version(format_version)
    spec.check_writable()
    tuple_type = spec.partition_type(schema) if partition_type is None else partition_type
    if isinstance(entries, pa.Table):
        table = _conform(entries, tuple_type)
    else:
        table = entries_to_arrow(entries, tuple_type)
    if snapshot_id is not None:
        table = _with_own_snapshot_ids(table, snapshot_id)
    check_entries(table, format_version=format_version, content=content, snapshot_id=snapshot_id, schema=schema)
    file_schema = manifest_entry_schema(format_version, tuple_type)
    metadata = {
        "schema": _compact(schema_to_json(schema)),
        "schema-id": str(schema.schema_id).encode(),
        "partition-spec": _compact(spec_fields_to_json(spec)),
        "partition-spec-id": str(spec.spec_id).encode(),
        "format-version": str(format_version).encode(),
        "iceberg.schema": file_schema.iceberg_json,
    }
    if format_version > 1:
        metadata["content"] = content.text.encode()
    data = encode(
        file_schema.avro,
        _nest(table, file_schema.avro),
        metadata=metadata,
        codec=codec,
        level=level,
        engine=engine,
        schema_json=file_schema.avro_json,
    )
    return _facts(data, table, spec, content, snapshot_id, tuple_type)


def _conform(table: pa.Table, partition_type: StructType) -> pa.Table:
    """The table with every column of a manifest, in order, each of its type."""
    extra = [name for name in table.column_names if name not in ENTRY_COLUMNS]
    if extra:
        raise InvalidInput(
            f"Cannot write manifest: expected the columns {', '.join(ENTRY_COLUMNS)}, got also {', '.join(extra)}. "
            "Drop them; metrics are written from the maps."
        )
    present = set(table.column_names)
    columns: dict[str, Any] = {}
    for name, arrow in ENTRY_COLUMNS.items():
        if name == "partition":
            columns[name] = _conform_partition(table, partition_type)
        elif name == "content" and name not in present:
            columns[name] = pa.array(np.zeros(table.num_rows, np.int32))
        elif name not in present:
            columns[name] = pa.nulls(table.num_rows, arrow)
        else:
            columns[name] = _conform_column(table.column(name), arrow, name)
    return pa.table(columns)


def _conform_column(column: Any, arrow: Any, name: str) -> Any:
    if column.type == arrow or (name in METRIC_COLUMNS and _is_same_map(column.type, arrow)):
        return column
    try:
        return column.cast(arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInput(f"Cannot write manifest: {name}: expected {arrow}, got {column.type}: {error}.") from error


def _is_same_map(ours: Any, wanted: Any) -> bool:
    return pa.types.is_map(ours) and (ours.key_type, ours.item_type) == (wanted.key_type, wanted.item_type)


def _conform_partition(table: pa.Table, partition_type: StructType) -> Any:
    """The partition tuples with exactly the spec's fields. Children match by name."""
    wanted = partition_arrow_type(partition_type)
    names = [f.name for f in partition_type.fields]
    if "partition" not in table.column_names:
        if names:
            raise InvalidInput(f"Cannot write manifest: expected partition values for {', '.join(names)}, got none.")
        return empty_partitions(table.num_rows)
    column: Any = table.column("partition").combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    got = [f.name for f in column.type] if pa.types.is_struct(column.type) else None
    if got is None or sorted(got) != sorted(names):
        raise InvalidInput(
            f"Cannot write manifest: partition: expected the fields {', '.join(names) or '(none)'} of the spec, "
            f"got {column.type}."
        )
    if column.null_count:
        raise InvalidInput("Cannot write manifest: partition: expected a tuple in every entry, got null.")
    if not names:
        return column
    children: dict[str, Any] = dict(zip(got, column.flatten(), strict=True))
    conformed = []
    for f in wanted:
        child = children[f.name]
        if isinstance(child, pa.ExtensionArray):
            child = child.storage
        conformed.append(_conform_column(child, f.type, f"partition.{f.name}"))
    return pa.StructArray.from_arrays(conformed, fields=list(wanted))


def _with_own_snapshot_ids(table: pa.Table, snapshot_id: int) -> pa.Table:
    """Added and deleted files without a snapshot id belong to the snapshot that is being written."""
    place = table.schema.get_field_index("snapshot_id")
    ids: Any = table.column(place)
    if ids.null_count == 0:
        return table
    status: Any = table.column("status")
    nulls = ids.is_null().to_numpy()
    kept = nulls & (status.fill_null(EntryStatus.EXISTING).to_numpy() == EntryStatus.EXISTING)
    values = np.where(nulls, snapshot_id, ids.fill_null(0).to_numpy())
    return table.set_column(place, "snapshot_id", pa.array(values, pa.int64(), mask=kept))


def _nest(table: pa.Table, avro: Any) -> pa.Table:
    """The table in the shape of the Avro record: file columns inside `data_file`, only those the version has."""
    entry_fields = [f["name"] for f in avro["fields"]]
    file_fields = [f["name"] for f in avro["fields"][-1]["type"]["fields"]]
    children: list[Any] = []
    for name in file_fields:
        if name == "block_size_in_bytes":
            children.append(pa.array(np.full(table.num_rows, BLOCK_SIZE_IN_BYTES_V1)))
        else:
            column: Any = table.column(name)
            children.append(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))
    columns: dict[str, Any] = {name: table.column(name) for name in TRACKING_COLUMNS if name in entry_fields}
    columns["data_file"] = pa.StructArray.from_arrays(children, names=file_fields)
    return pa.table(columns)


def _facts(
    data: bytes,
    table: pa.Table,
    spec: PartitionSpec,
    content: ManifestContent,
    snapshot_id: int | None,
    partition_type: StructType,
) -> WrittenManifest:
    status_column: Any = table.column("status")
    rows_column: Any = table.column("record_count")
    status, rows = status_column.to_numpy(), rows_column.to_numpy()
    files_by_status = {s: int((status == s).sum()) for s in EntryStatus}
    rows_by_status = {s: int(rows[status == s].sum()) for s in EntryStatus}
    partition: Any = table.column("partition").combine_chunks()
    if isinstance(partition, pa.ChunkedArray):
        partition = pa.concat_arrays(partition.chunks) if partition.num_chunks else pa.array([], partition.type)
    return WrittenManifest(
        data=data,
        partition_spec_id=spec.spec_id,
        content=content,
        added_snapshot_id=snapshot_id,
        min_sequence_number=_min_sequence_number(table, status),
        added_files_count=files_by_status[EntryStatus.ADDED],
        existing_files_count=files_by_status[EntryStatus.EXISTING],
        deleted_files_count=files_by_status[EntryStatus.DELETED],
        added_rows_count=rows_by_status[EntryStatus.ADDED],
        existing_rows_count=rows_by_status[EntryStatus.EXISTING],
        deleted_rows_count=rows_by_status[EntryStatus.DELETED],
        partitions=summarize(partition, partition_type),
    )


def _min_sequence_number(table: pa.Table, status: Any) -> int:
    """The least number of a live file. Files that the commit will number cannot have a lower one."""
    numbers: Any = table.column("sequence_number")
    known = numbers.is_valid().to_numpy() & (status != EntryStatus.DELETED)
    if not known.any():
        return UNASSIGNED_SEQUENCE_NUMBER
    return int(numbers.fill_null(0).to_numpy()[known].min())


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
