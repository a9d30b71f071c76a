"""Table metadata files: bytes to value and back, plain or gzip.

Reading fills in what older versions leave out, and checks every cross-reference. Writing gives exactly what the
table's version asks for. Members this version does not know are not kept, except in the open maps (properties,
summaries).

Spec: "Appendix C: JSON serialization" section "Table Metadata and Snapshots", "Appendix E: Format version changes".
"""

from __future__ import annotations

import gzip
import re
import uuid
from typing import Any, Literal

import msgspec

from skipstone.errors import FormatViolation, InvalidInput, UnknownVersion
from skipstone.metadata.json_reader import INFLATED_BYTES_MAX, JsonObject, inflate, parse_json
from skipstone.metadata.partitions.partition_json import (
    spec_fields_to_json,
    spec_from_fields_json,
    spec_from_json,
    spec_to_json,
)
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import UNSORTED, SortOrder, sort_order_from_json, sort_order_to_json
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_json import read_schema, schema_to_json
from skipstone.metadata.tables.encryption_keys import encrypted_key_to_json, read_encrypted_key
from skipstone.metadata.tables.refs import MAIN, SnapshotRef, branch, read_refs, ref_to_json
from skipstone.metadata.tables.snapshots import (
    metadata_log_entry_to_json,
    read_metadata_log_entry,
    read_snapshot,
    read_snapshot_log_entry,
    snapshot_log_entry_to_json,
    snapshot_to_json,
)
from skipstone.metadata.tables.statistics_files import (
    partition_statistics_file_to_json,
    read_partition_statistics_file,
    read_statistics_file,
    statistics_file_to_json,
)
from skipstone.metadata.tables.table_metadata import FORMAT_VERSION_MAX, LAST_PARTITION_ID_START, TableMetadata
from skipstone.metadata.tables.validation import validate_table_metadata

# Java wrote this for "no current snapshot" in v1 and v2 tables, and reads it so in every version.
_NO_SNAPSHOT = -1
_INITIAL_SPEC_ID = 0
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def parse_table_metadata(data: bytes, *, source: str, inflated_bytes_max: int = INFLATED_BYTES_MAX) -> TableMetadata:
    """The metadata in a file's bytes, checked. `source` names the file in messages."""
    label = f"table metadata {source}"
    value = parse_json(inflate(data, label=label, inflated_bytes_max=inflated_bytes_max), label=label)
    return table_metadata_from_json(value, source=source)


def table_metadata_from_json(value: object, *, source: str) -> TableMetadata:
    """The metadata in a JSON object, checked."""
    json = JsonObject.of(value, label=f"table metadata {source}")
    metadata = _read(json, _read_format_version(json))
    validate_table_metadata(metadata, source=source)
    return metadata


def _read_format_version(json: JsonObject) -> int:
    if json.has("view-uuid"):
        raise FormatViolation(f"Invalid {json.label}: expected a table, got the metadata of a view. Open it as a view.")
    version = json.int_("format-version", low=1)
    if version > FORMAT_VERSION_MAX:
        raise UnknownVersion(
            f"Invalid {json.label}: $.format-version: expected 1 to {FORMAT_VERSION_MAX}, got {version}. "
            f"Use a newer release to read this table."
        )
    return version


def _read(json: JsonObject, version: int) -> TableMetadata:
    schemas, current_schema_id = _read_schemas(json, version)
    specs, default_spec_id = _read_specs(json, version)
    orders, default_sort_order_id = _read_sort_orders(json, version)
    current_snapshot_id = json.optional_long("current-snapshot-id")
    if current_snapshot_id == _NO_SNAPSHOT:
        current_snapshot_id = None
    return TableMetadata(
        format_version=version,
        table_uuid=_read_uuid(json, version),
        location=json.text("location"),
        last_sequence_number=json.long("last-sequence-number", low=0) if version > 1 else 0,
        last_updated_ms=json.long("last-updated-ms"),
        last_column_id=json.int_("last-column-id", low=0),
        schemas=schemas,
        current_schema_id=current_schema_id,
        partition_specs=specs,
        default_spec_id=default_spec_id,
        last_partition_id=_read_last_partition_id(json, version, specs),
        sort_orders=orders,
        default_sort_order_id=default_sort_order_id,
        properties=json.text_map("properties"),
        current_snapshot_id=current_snapshot_id,
        snapshots=tuple(read_snapshot(s, format_version=version) for s in json.optional_objects("snapshots")),
        refs=_read_refs(json, current_snapshot_id),
        snapshot_log=tuple(read_snapshot_log_entry(e) for e in json.optional_objects("snapshot-log")),
        metadata_log=tuple(read_metadata_log_entry(e) for e in json.optional_objects("metadata-log")),
        statistics=tuple(read_statistics_file(f) for f in json.optional_objects("statistics")),
        partition_statistics=tuple(
            read_partition_statistics_file(f) for f in json.optional_objects("partition-statistics")
        ),
        next_row_id=json.long("next-row-id", low=0) if version >= 3 else 0,
        encryption_keys=tuple(read_encrypted_key(k) for k in json.optional_objects("encryption-keys")),
    )


def _read_uuid(json: JsonObject, version: int) -> uuid.UUID | None:
    text = json.optional_text("table-uuid") if version == 1 else json.text("table-uuid")
    if text is None:
        return None
    # uuid.UUID alone also takes braces, URNs and digits without hyphens.
    if _UUID.fullmatch(text) is None:
        json.fail("table-uuid", "a UUID", text)
    return uuid.UUID(text)


def _read_schemas(json: JsonObject, version: int) -> tuple[tuple[Schema, ...], int]:
    if version == 1 and not json.has("schemas"):
        schema = read_schema(json.object("schema"))
        return (schema,), schema.schema_id
    for schema_json in json.objects("schemas"):
        schema_json.required("schema-id")
    return tuple(read_schema(s) for s in json.objects("schemas")), json.int_("current-schema-id")


def _read_specs(json: JsonObject, version: int) -> tuple[tuple[PartitionSpec, ...], int]:
    if version == 1 and not json.has("partition-specs"):
        fields = json.list_("partition-spec")
        spec = spec_from_fields_json(
            fields, spec_id=_INITIAL_SPEC_ID, source=json.label, place=json.at("partition-spec")
        )
        return (spec,), spec.spec_id
    objects = list(json.objects("partition-specs"))
    if version > 1:
        for spec_json in objects:
            for field_json in spec_json.objects("fields"):
                field_json.required("field-id")
    specs = tuple(spec_from_json(o.members, source=o.label, place=o.place) for o in objects)
    return specs, json.int_("default-spec-id")


def _read_last_partition_id(json: JsonObject, version: int, specs: tuple[PartitionSpec, ...]) -> int:
    if version == 1 and not json.has("last-partition-id"):
        return max((f.field_id for s in specs for f in s.fields), default=LAST_PARTITION_ID_START)
    return json.int_("last-partition-id")


def _read_sort_orders(json: JsonObject, version: int) -> tuple[tuple[SortOrder, ...], int]:
    if version == 1 and not json.has("sort-orders"):
        return (UNSORTED,), UNSORTED.order_id
    objects = json.objects("sort-orders")
    orders = tuple(sort_order_from_json(o.members, source=o.label, place=o.place) for o in objects)
    return orders, json.int_("default-sort-order-id")


def _read_refs(json: JsonObject, current_snapshot_id: int | None) -> dict[str, SnapshotRef]:
    refs = read_refs(json.object("refs")) if json.has("refs") else {}
    # There is always a main branch at the current snapshot, even where the file does not list it.
    if current_snapshot_id is not None and MAIN not in refs:
        refs = {MAIN: branch(current_snapshot_id), **refs}
    return refs


def serialize_table_metadata(metadata: TableMetadata, *, compression: Literal["none", "gzip"] = "none") -> bytes:
    """The bytes of a metadata file, checked before they are written."""
    validate_table_metadata(metadata, source="to be written")
    try:
        data = msgspec.json.encode(table_metadata_to_json(metadata))
    except (UnicodeEncodeError, OverflowError, TypeError) as error:
        raise InvalidInput(f"Cannot write table metadata: expected values that JSON can hold, got {error}.") from error
    if compression == "none":
        return data
    if compression != "gzip":
        raise InvalidInput(f"Cannot compress table metadata: expected 'none' or 'gzip', got {compression!r}.")
    # No time stamp, so that equal metadata gives equal bytes.
    return gzip.compress(data, mtime=0)


def table_metadata_to_json(metadata: TableMetadata) -> dict[str, Any]:
    """The JSON object of this metadata, with the members its version requires."""
    m, version = metadata, metadata.format_version
    written: dict[str, Any] = {"format-version": version}
    if m.table_uuid is not None:
        written["table-uuid"] = str(m.table_uuid)
    written["location"] = m.location
    if version > 1:
        written["last-sequence-number"] = m.last_sequence_number
    written["last-updated-ms"] = m.last_updated_ms
    written["last-column-id"] = m.last_column_id
    if version == 1:
        written["schema"] = schema_to_json(m.current_schema)
    written["current-schema-id"] = m.current_schema_id
    written["schemas"] = [schema_to_json(s) for s in m.schemas]
    if version == 1:
        written["partition-spec"] = spec_fields_to_json(m.default_spec)
    written["default-spec-id"] = m.default_spec_id
    written["partition-specs"] = [spec_to_json(s) for s in m.partition_specs]
    written["last-partition-id"] = m.last_partition_id
    written["default-sort-order-id"] = m.default_sort_order_id
    written["sort-orders"] = [sort_order_to_json(o) for o in m.sort_orders]
    written["properties"] = dict(m.properties)
    # Older readers of v1 and v2 tables want a number there.
    no_snapshot = _NO_SNAPSHOT if version < 3 else None
    written["current-snapshot-id"] = no_snapshot if m.current_snapshot_id is None else m.current_snapshot_id
    if version >= 3:
        written["next-row-id"] = m.next_row_id
    if m.encryption_keys:
        written["encryption-keys"] = [encrypted_key_to_json(k) for k in m.encryption_keys]
    written["refs"] = {name: ref_to_json(r) for name, r in m.refs.items()}
    written["snapshots"] = [snapshot_to_json(s, format_version=version) for s in m.snapshots]
    written["statistics"] = [statistics_file_to_json(f) for f in m.statistics]
    written["partition-statistics"] = [partition_statistics_file_to_json(f) for f in m.partition_statistics]
    written["snapshot-log"] = [snapshot_log_entry_to_json(e) for e in m.snapshot_log]
    written["metadata-log"] = [metadata_log_entry_to_json(e) for e in m.metadata_log]
    return written
