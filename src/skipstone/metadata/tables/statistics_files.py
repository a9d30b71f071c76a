"""Registered statistics files of a table: Puffin files with sketches, and partition statistics.

Both are informational: a reader may ignore them, and entries whose snapshot has expired are kept as they are.

Spec: "Table Statistics", "Partition Statistics".
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skipstone.metadata.json_reader import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobMetadata:
    """What one blob of a statistics file is about."""

    type: str
    snapshot_id: int
    sequence_number: int
    fields: tuple[int, ...]
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsFile:
    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int
    file_footer_size_in_bytes: int
    blob_metadata: tuple[BlobMetadata, ...] = ()
    key_metadata: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatisticsFile:
    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int


def read_statistics_file(json: JsonObject) -> StatisticsFile:
    return StatisticsFile(
        snapshot_id=json.long("snapshot-id"),
        statistics_path=json.text("statistics-path"),
        file_size_in_bytes=json.long("file-size-in-bytes", low=0),
        file_footer_size_in_bytes=json.long("file-footer-size-in-bytes", low=0),
        blob_metadata=tuple(_read_blob(b) for b in json.objects("blob-metadata")),
        key_metadata=read_base64(json, "key-metadata") if json.has("key-metadata") else None,
    )


def _read_blob(json: JsonObject) -> BlobMetadata:
    return BlobMetadata(
        type=json.text("type"),
        snapshot_id=json.long("snapshot-id"),
        sequence_number=json.long("sequence-number"),
        fields=json.ints("fields"),
        properties=json.text_map("properties"),
    )


def statistics_file_to_json(file: StatisticsFile) -> dict[str, Any]:
    written: dict[str, Any] = {
        "snapshot-id": file.snapshot_id,
        "statistics-path": file.statistics_path,
        "file-size-in-bytes": file.file_size_in_bytes,
        "file-footer-size-in-bytes": file.file_footer_size_in_bytes,
    }
    if file.key_metadata is not None:
        written["key-metadata"] = base64_text(file.key_metadata)
    written["blob-metadata"] = [_blob_to_json(b) for b in file.blob_metadata]
    return written


def _blob_to_json(blob: BlobMetadata) -> dict[str, Any]:
    written: dict[str, Any] = {
        "type": blob.type,
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "fields": list(blob.fields),
    }
    if blob.properties:
        written["properties"] = dict(blob.properties)
    return written


def read_partition_statistics_file(json: JsonObject) -> PartitionStatisticsFile:
    return PartitionStatisticsFile(
        snapshot_id=json.long("snapshot-id"),
        statistics_path=json.text("statistics-path"),
        file_size_in_bytes=json.long("file-size-in-bytes", low=0),
    )


def partition_statistics_file_to_json(file: PartitionStatisticsFile) -> dict[str, Any]:
    return {
        "snapshot-id": file.snapshot_id,
        "statistics-path": file.statistics_path,
        "file-size-in-bytes": file.file_size_in_bytes,
    }


def read_base64(json: JsonObject, key: str) -> bytes:
    text = json.text(key)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        json.fail(key, "base64", text)


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
