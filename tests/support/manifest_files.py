"""Manifests made by hand on top of `avro_files`: the shape of a v2 manifest with all metric maps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.support.avro_files import PLAIN, avro_file

MAPS: Final = {
    "column_sizes": (108, 117, 118, "long"),
    "value_counts": (109, 119, 120, "long"),
    "null_value_counts": (110, 121, 122, "long"),
    "nan_value_counts": (137, 138, 139, "long"),
    "lower_bounds": (125, 126, 127, "bytes"),
    "upper_bounds": (128, 129, 130, "bytes"),
}
TABLE_SCHEMA: Final[dict[str, Any]] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "name", "required": False, "type": "string"},
        {"id": 3, "name": "price", "required": False, "type": "double"},
        {"id": 4, "name": "day", "required": False, "type": "date"},
        {"id": 70000, "name": "far", "required": False, "type": "int"},
    ],
}


def field(name: str, field_id: int, type_: Any) -> dict[str, Any]:
    return {"name": name, "field-id": field_id, "type": type_}


def metric_map(key_id: int, value_id: int, value: str) -> dict[str, Any]:
    fields = [field("key", key_id, "int"), field("value", value_id, value)]
    item = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}
    return {"type": "array", "logicalType": "map", "items": item}


def entry_schema(partition: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    maps = [field(name, i, ["null", metric_map(k, v, type_)]) for name, (i, k, v, type_) in MAPS.items()]
    data_file = [
        field("content", 134, "int"),
        field("file_path", 100, "string"),
        field("file_format", 101, "string"),
        field("partition", 102, {"type": "record", "name": "r102", "fields": list(partition)}),
        field("record_count", 103, "long"),
        field("file_size_in_bytes", 104, "long"),
        *maps,
        field("key_metadata", 131, ["null", "bytes"]),
        field("split_offsets", 132, ["null", {"type": "array", "items": "long", "element-id": 133}]),
        field("equality_ids", 135, ["null", {"type": "array", "items": "int", "element-id": 136}]),
        field("sort_order_id", 140, ["null", "int"]),
    ]
    fields = [
        field("status", 0, "int"),
        field("snapshot_id", 1, ["null", "long"]),
        field("sequence_number", 3, ["null", "long"]),
        field("file_sequence_number", 4, ["null", "long"]),
        field("data_file", 2, {"type": "record", "name": "r2", "fields": data_file}),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def entry(number: int = 0, *, partition: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """An entry; metric maps are given as dicts by field id, other changes by column name."""
    data_file: dict[str, Any] = {
        "content": 0,
        "file_path": f"s3://b/t/{number:05d}.parquet",
        "file_format": "PARQUET",
        "partition": dict(partition or {}),
        "record_count": 10,
        "file_size_in_bytes": 1000,
        "key_metadata": None,
        "split_offsets": [4],
        "equality_ids": None,
        "sort_order_id": 0,
    }
    tracking: dict[str, Any] = {
        "status": 1,
        "snapshot_id": 7,
        "sequence_number": None,
        "file_sequence_number": None,
    }
    for name in MAPS:
        pairs = changes.pop(name, None)
        if isinstance(pairs, Mapping):
            pairs = pairs.items()
        data_file[name] = None if pairs is None else [{"key": k, "value": v} for k, v in pairs]
    for name, value in changes.items():
        (tracking if name in tracking else data_file)[name] = value
    return {**tracking, "data_file": data_file}


def header(spec: Sequence[dict[str, Any]] = (), **changes: bytes) -> dict[str, bytes]:
    """Key-value metadata; a change of b"" leaves a key out. Keys are written with underscores here."""
    pairs = {
        "schema": json.dumps(TABLE_SCHEMA).encode(),
        "schema-id": b"0",
        "partition-spec": json.dumps(list(spec)).encode(),
        "partition-spec-id": b"0",
        "format-version": b"2",
        "content": b"data",
        **{key.replace("_", "-"): value for key, value in changes.items()},
    }
    return {key: value for key, value in pairs.items() if value}


def manifest(
    entries: Sequence[dict[str, Any]],
    *,
    schema: Any = None,
    metadata: Mapping[str, bytes] | None = None,
    lists: str = PLAIN,
    codec: str = "deflate",
    block_records: int = 100,
) -> bytes:
    return avro_file(
        schema if schema is not None else entry_schema(),
        entries,
        lists=lists,
        codec=codec,
        block_records=block_records,
        metadata=header() if metadata is None else metadata,
    )
