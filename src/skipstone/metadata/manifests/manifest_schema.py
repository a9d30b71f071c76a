"""The schemas of manifests and manifest lists, for each format version.

Field ids, names, order and record names are those other implementations write, so that readers that go by name or by
position work too. Both are Iceberg structs first; their Avro and JSON texts follow from the general mappings and are
made once per version and partition type.

Spec: "Manifest Entry Fields", "Data File Fields", "Manifest Lists".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.avro_types import to_avro_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_json import schema_to_json
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    INT,
    LONG,
    STRING,
    Field,
    FixedType,
    ListType,
    MapType,
    StructType,
    Type,
)

FORMAT_VERSIONS: Final = (1, 2, 3)
PARTITION_FIELD_ID: Final = 102
# v1 readers insist on a block size; the value means nothing.
BLOCK_SIZE_IN_BYTES_V1: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSchema:
    """What an Avro metadata file declares: the schema, its JSON text, and the same as an Iceberg schema's JSON."""

    avro: Mapping[str, Any]
    avro_json: bytes
    iceberg_json: bytes


def _map(key_id: int, value_id: int, value: Type) -> MapType:
    return MapType(key_id=key_id, key=INT, value_id=value_id, value=value, value_required=True)


def _field(field_id: int, name: str, type_: Type, doc: str | None = None, *, required: bool = False) -> Field:
    return Field(id=field_id, name=name, type=type_, required=required, doc=doc)


_CONTENT = _field(
    134, "content", INT, "Contents of the file: 0=data, 1=position deletes, 2=equality deletes", required=True
)
_FILE_PATH = _field(100, "file_path", STRING, "Location URI with FS scheme", required=True)
_FILE_FORMAT = _field(101, "file_format", STRING, "File format name: avro, orc, parquet, or puffin", required=True)
_RECORD_COUNT = _field(103, "record_count", LONG, "Number of records in the file", required=True)
_FILE_SIZE = _field(104, "file_size_in_bytes", LONG, "Total file size in bytes", required=True)
_BLOCK_SIZE = _field(105, "block_size_in_bytes", LONG, required=True)
_METRICS = (
    _field(108, "column_sizes", _map(117, 118, LONG), "Map of column id to total size on disk"),
    _field(109, "value_counts", _map(119, 120, LONG), "Map of column id to total count, including null and NaN"),
    _field(110, "null_value_counts", _map(121, 122, LONG), "Map of column id to null value count"),
    _field(137, "nan_value_counts", _map(138, 139, LONG), "Map of column id to number of NaN values in the column"),
    _field(125, "lower_bounds", _map(126, 127, BINARY), "Map of column id to lower bound"),
    _field(128, "upper_bounds", _map(129, 130, BINARY), "Map of column id to upper bound"),
    _field(131, "key_metadata", BINARY, "Encryption key metadata blob"),
    _field(
        132, "split_offsets", ListType(element_id=133, element=LONG, element_required=True), "Splittable offsets"
    ),
)  # fmt: skip
_EQUALITY_IDS = _field(
    135,
    "equality_ids",
    ListType(element_id=136, element=INT, element_required=True),
    "Equality comparison field IDs",
)
_SORT_ORDER_ID = _field(140, "sort_order_id", INT, "Sort order ID")
_FIRST_ROW_ID = _field(142, "first_row_id", LONG, "The first row ID assigned to the first row in the data file")
_REFERENCED_DATA_FILE = _field(
    143,
    "referenced_data_file",
    STRING,
    "Fully qualified location (URI with FS scheme) of a data file that all deletes reference",
)
_CONTENT_OFFSET = _field(144, "content_offset", LONG, "The offset in the file where the content starts")
_CONTENT_SIZE = _field(145, "content_size_in_bytes", LONG, "The length of referenced content stored in the file")

_SUMMARY = StructType(
    (
        _field(509, "contains_null", BOOLEAN, "True if any file has a null partition value", required=True),
        _field(518, "contains_nan", BOOLEAN, "True if any file has a nan partition value"),
        _field(510, "lower_bound", BINARY, "Partition lower bound for all files"),
        _field(511, "upper_bound", BINARY, "Partition upper bound for all files"),
    )
)
_PARTITIONS = _field(
    507,
    "partitions",
    ListType(element_id=508, element=_SUMMARY, element_required=True),
    "Summary for each partition",
)
_LIST_KEY_METADATA = _field(519, "key_metadata", BINARY, "Encryption key metadata blob")


def manifest_entry_type(format_version: int, partition_type: StructType) -> StructType:
    """The `manifest_entry` struct of a manifest whose partition tuples have this type."""
    check_format_version(format_version)
    status = _field(0, "status", INT, required=True)
    # v1 requires the snapshot id; readers of all versions accept it as optional, and it is declared so everywhere.
    snapshot_id = _field(1, "snapshot_id", LONG)
    partition_doc = None if format_version == 1 else "Partition data tuple, schema based on the partition spec"
    partition = _field(PARTITION_FIELD_ID, "partition", partition_type, partition_doc, required=True)
    common = (_FILE_PATH, _FILE_FORMAT, partition, _RECORD_COUNT, _FILE_SIZE)
    if format_version == 1:
        data_file: tuple[Field, ...] = (*common, _BLOCK_SIZE, *_METRICS, _SORT_ORDER_ID)
        return StructType((status, snapshot_id, _field(2, "data_file", StructType(data_file), required=True)))
    data_file = (_CONTENT, *common, *_METRICS, _EQUALITY_IDS, _SORT_ORDER_ID)
    if format_version == 2:
        data_file = (*data_file, _REFERENCED_DATA_FILE)
    else:
        data_file = (*data_file, _FIRST_ROW_ID, _REFERENCED_DATA_FILE, _CONTENT_OFFSET, _CONTENT_SIZE)
    return StructType(
        (
            status,
            snapshot_id,
            _field(3, "sequence_number", LONG),
            _field(4, "file_sequence_number", LONG),
            _field(2, "data_file", StructType(data_file), required=True),
        )
    )


def manifest_file_type(format_version: int) -> StructType:
    """The `manifest_file` struct of a manifest list."""
    check_format_version(format_version)
    head = (
        _field(500, "manifest_path", STRING, "Location URI with FS scheme", required=True),
        _field(501, "manifest_length", LONG, "Total file size in bytes", required=True),
        _field(502, "partition_spec_id", INT, "Spec ID used to write", required=True),
    )
    needed = format_version > 1
    snapshot = _field(503, "added_snapshot_id", LONG, "Snapshot ID that added the manifest", required=True)
    files = (
        _field(504, "added_files_count", INT, "Added entry count", required=needed),
        _field(505, "existing_files_count", INT, "Existing entry count", required=needed),
        _field(506, "deleted_files_count", INT, "Deleted entry count", required=needed),
    )
    rows = (
        _field(512, "added_rows_count", LONG, "Added rows count", required=needed),
        _field(513, "existing_rows_count", LONG, "Existing rows count", required=needed),
        _field(514, "deleted_rows_count", LONG, "Deleted rows count", required=needed),
    )
    if format_version == 1:
        return StructType((*head, snapshot, *files, _PARTITIONS, *rows, _LIST_KEY_METADATA))
    tracking = (
        _field(517, "content", INT, "Contents of the manifest: 0=data, 1=deletes", required=True),
        _field(515, "sequence_number", LONG, "Sequence number when the manifest was added", required=True),
        _field(516, "min_sequence_number", LONG, "Lowest sequence number in the manifest", required=True),
    )
    fields: tuple[Field, ...] = (*head, *tracking, snapshot, *files, *rows, _PARTITIONS, _LIST_KEY_METADATA)
    if format_version == 3:
        fields = (
            *fields,
            _field(520, "first_row_id", LONG, "Starting row ID to assign to new rows in ADDED data files"),
        )
    return StructType(fields)


@lru_cache(maxsize=256)
def manifest_entry_schema(format_version: int, partition_type: StructType) -> FileSchema:
    declared = _file_schema(manifest_entry_type(format_version, partition_type), "manifest_entry")
    stored_type = StructType(tuple(_as_bytes(f) for f in partition_type.fields))
    if stored_type == partition_type:
        return declared
    stored = _file_schema(manifest_entry_type(format_version, stored_type), "manifest_entry")
    return replace(stored, iceberg_json=declared.iceberg_json)


def _as_bytes(field: Field) -> Field:
    """A partition field as Avro stores it: a fixed as bytes, because Iceberg Java expects a length before its value."""
    return replace(field, type=BINARY) if isinstance(field.type, FixedType) else field


@lru_cache(maxsize=8)
def manifest_file_schema(format_version: int) -> FileSchema:
    return _file_schema(manifest_file_type(format_version), "manifest_file")


def check_format_version(format_version: int) -> None:
    if format_version not in FORMAT_VERSIONS:
        raise InvalidInput(f"Cannot write metadata for format version {format_version}: expected 1, 2 or 3.")


def _file_schema(struct: StructType, name: str) -> FileSchema:
    avro = to_avro_schema(struct, name=name)
    return FileSchema(
        avro=avro,
        avro_json=_compact(avro),
        iceberg_json=_compact(schema_to_json(Schema(fields=struct.fields))),
    )


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
