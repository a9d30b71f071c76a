"""How an Iceberg table is written down in a metastore, and what in an entry is kept when its metadata moves on."""

from __future__ import annotations

import time
from typing import Final

from skipstone.catalog.identifiers import Identifier
from skipstone.hive.objects import EXTERNAL_TABLE
from skipstone.hive.thrift import Struct, api
from skipstone.hive.types import hive_type
from skipstone.metadata.tables.table_metadata import TableMetadata

METADATA_LOCATION: Final = "metadata_location"
PREVIOUS_METADATA_LOCATION: Final = "previous_metadata_location"
TABLE_TYPE: Final = "table_type"
_ICEBERG: Final = "ICEBERG"
_INPUT: Final = "org.apache.hadoop.mapred.FileInputFormat"
_OUTPUT: Final = "org.apache.hadoop.mapred.FileOutputFormat"
_SERDE: Final = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_SECONDS_MAX: Final = 2**31 - 1
_COUNTS: Final = {"total-data-files": "numFiles", "total-records": "numRows", "total-files-size": "totalSize"}


def is_iceberg(table: Struct) -> bool:
    """Whether an entry is an Iceberg table's."""
    return str((table.parameters or {}).get(TABLE_TYPE, "")).upper() == _ICEBERG


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


def updated_table(table: Struct, location: str, metadata: TableMetadata) -> Struct:
    """An entry that points at other metadata. Parameters that others put there stay."""
    parameters: dict[str, str] = dict(table.parameters or {})
    parameters |= {key: value for key, value in metadata.properties.items() if key != "owner"}
    parameters |= _facts(metadata)
    parameters[METADATA_LOCATION] = location
    table.parameters = parameters
    table.sd = _storage(metadata)
    return table


def _facts(metadata: TableMetadata) -> dict[str, str]:
    facts = {"uuid": str(metadata.table_uuid), TABLE_TYPE: _ICEBERG, "EXTERNAL": "TRUE"}
    snapshot = metadata.current_snapshot
    summary = (snapshot.summary if snapshot is not None else None) or {}
    return facts | {name: summary[key] for key, name in _COUNTS.items() if key in summary}


def _storage(metadata: TableMetadata) -> Struct:
    columns = [
        api.FieldSchema(name=field.name, type=hive_type(field.type, has_zones=False), comment=field.doc)
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
