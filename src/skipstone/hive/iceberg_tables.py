"""How an Iceberg table is written down in a metastore, and what in an entry is kept when its metadata moves on."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from skipstone.catalog.identifiers import Identifier
from skipstone.errors import InvalidInput
from skipstone.hive.objects import EXTERNAL_TABLE
from skipstone.hive.thrift import Struct, api
from skipstone.hive.types import hive_type
from skipstone.metadata.partitions.partition_json import spec_to_json
from skipstone.metadata.partitions.sorting import sort_order_to_json
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_json import schema_to_json
from skipstone.metadata.tables.table_metadata import TableMetadata

METADATA_LOCATION: Final = "metadata_location"
PREVIOUS_METADATA_LOCATION: Final = "previous_metadata_location"
TABLE_TYPE: Final = "table_type"
SNAPSHOT_ID: Final = "current-snapshot-id"
# What a metastore says where the change that it was asked for expected another table.
MODIFIED: Final = "has been modified"
_ICEBERG: Final = "ICEBERG"
_INPUT: Final = "org.apache.hadoop.mapred.FileInputFormat"
_OUTPUT: Final = "org.apache.hadoop.mapred.FileOutputFormat"
_SERDE: Final = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_SECONDS_MAX: Final = 2**31 - 1
# What the oldest of metastores can hold.
_PARAMETER_LENGTH_MAX: Final = 4000
_KEY_LENGTH_MAX: Final = 256
_COMMENT_LENGTH_MAX: Final = 256
_NAME_LENGTH_MAX: Final = 767
_EXPOSED: Final = (
    "current-schema", SNAPSHOT_ID, "current-snapshot-timestamp-ms", "current-snapshot-summary",
    "default-partition-spec", "default-sort-order",
)  # fmt: skip
_COUNTS: Final = {"total-data-files": "numFiles", "total-records": "numRows", "total-files-size": "totalSize"}


def is_iceberg(table: Struct) -> bool:
    """Whether an entry is an Iceberg table's."""
    return str((table.parameters or {}).get(TABLE_TYPE, "")).upper() == _ICEBERG


def expecting(location: str) -> dict[str, str]:
    """What tells a metastore to change a table only if its metadata is still there."""
    return {
        "DO_NOT_UPDATE_STATS": "true",
        "expected_parameter_key": METADATA_LOCATION,
        "expected_parameter_value": location,
    }


def check_columns(schema: Schema, *, table: str) -> None:
    """A metastore writes the names of columns in small letters, and has no place for two of one name or a long one."""
    seen: dict[str, str] = {}
    for field in schema.fields:
        length = len(field.name.encode("utf-16-le")) // 2
        if length > _NAME_LENGTH_MAX:
            raise InvalidInput(
                f"Cannot keep {table} in a metastore: expected names of columns of at most {_NAME_LENGTH_MAX} "
                f"characters, got one of {length}, {field.name[:40]!r}... Rename it."
            )
        other = seen.setdefault(field.name.lower(), field.name)
        if other is not field.name:
            raise InvalidInput(
                f"Cannot keep {table} in a metastore: expected columns that differ in more than the case of letters, "
                f"got {other!r} and {field.name!r}. Rename one of them."
            )


def new_table(identifier: Identifier, location: str, metadata: TableMetadata) -> Struct:
    """The entry of a new table."""
    now = min(int(time.time()), _SECONDS_MAX)
    table: Struct = api.Table(
        tableName=identifier[-1],
        dbName=identifier[0],
        owner=metadata.properties.get("owner", "skipstone"),
        createTime=now,
        lastAccessTime=now,
        retention=0,
        partitionKeys=[],
        parameters={"EXTERNAL": "TRUE", TABLE_TYPE: _ICEBERG},
        tableType=EXTERNAL_TABLE,
    )
    return updated_table(table, location, metadata)


def updated_table(table: Struct, location: str, metadata: TableMetadata, base: TableMetadata | None = None) -> Struct:
    """An entry that points at other metadata, `base` before. Parameters that others put there stay.

    What says something of the metadata is said anew: left as it was, it would be of a state that is gone.
    """
    gone = {*(base.properties if base is not None else ()), *_COUNTS.values(), *_EXPOSED}
    parameters = {key: value for key, value in (table.parameters or {}).items() if key not in gone}
    parameters |= {key: value for key, value in metadata.properties.items() if key != "owner" and _fits(key, value)}
    parameters |= _facts(metadata)
    parameters[METADATA_LOCATION] = location
    table.parameters = parameters
    table.sd = _storage(metadata)
    return table


def _fits(key: str, value: str) -> bool:
    """Whether a property can be shown; the metadata has it in any case."""
    return len(key) <= _KEY_LENGTH_MAX and len(value) <= _PARAMETER_LENGTH_MAX


def _facts(metadata: TableMetadata) -> dict[str, str]:
    facts = {"uuid": str(metadata.table_uuid), TABLE_TYPE: _ICEBERG, "EXTERNAL": "TRUE"}
    snapshot = metadata.current_snapshot
    summary = (snapshot.summary if snapshot is not None else None) or {}
    facts |= {name: summary[key] for key, name in _COUNTS.items() if key in summary}
    return facts | {name: text for name, text in _exposed(metadata).items() if len(text) <= _PARAMETER_LENGTH_MAX}


def _exposed(metadata: TableMetadata) -> dict[str, str]:
    """What other engines show of the metadata without opening its file."""
    exposed = {"current-schema": _json(schema_to_json(metadata.current_schema))}
    snapshot = metadata.current_snapshot
    if snapshot is not None:
        exposed[SNAPSHOT_ID] = str(snapshot.snapshot_id)
        exposed["current-snapshot-timestamp-ms"] = str(snapshot.timestamp_ms)
        exposed["current-snapshot-summary"] = _json(dict(snapshot.summary or {}))
    if not metadata.default_spec.is_unpartitioned:
        exposed["default-partition-spec"] = _json(spec_to_json(metadata.default_spec))
    if not metadata.default_sort_order.is_unsorted:
        exposed["default-sort-order"] = _json(sort_order_to_json(metadata.default_sort_order))
    return exposed


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _storage(metadata: TableMetadata) -> Struct:
    columns = [
        api.FieldSchema(
            name=field.name,
            type=hive_type(field.type, has_zones=False),
            comment=None if field.doc is None else field.doc[:_COMMENT_LENGTH_MAX],
        )
        for field in metadata.current_schema.fields
    ]
    storage: Struct = api.StorageDescriptor(
        cols=columns,
        location=metadata.location,
        inputFormat=_INPUT,
        outputFormat=_OUTPUT,
        compressed=False,
        numBuckets=0,
        serdeInfo=api.SerDeInfo(serializationLib=_SERDE, parameters={}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    return storage
