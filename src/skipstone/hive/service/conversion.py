"""Databases, tables and partitions on the wire."""

from __future__ import annotations

from typing import Any, Final

from skipstone.hive.objects import MANAGED_TABLE, Column, HiveDatabase, HivePartition, HiveTable, Storage
from skipstone.hive.thrift import Struct, api

CATALOG: Final = "hive"


def database_to_wire(database: HiveDatabase) -> Struct:
    wired: Struct = api.Database(
        name=database.name,
        description=database.description,
        locationUri=database.location,
        parameters=dict(database.parameters),
        ownerName=database.owner,
        catalogName=CATALOG,
    )
    return wired


def database_from_wire(database: Struct) -> HiveDatabase:
    return HiveDatabase(
        name=database.name or "",
        location=database.locationUri or "",
        description=database.description,
        owner=database.ownerName,
        parameters=database.parameters or {},
    )


def table_to_wire(table: HiveTable) -> Struct:
    wired: Struct = api.Table(
        tableName=table.name,
        dbName=table.database,
        owner=table.owner or "",
        createTime=table.create_time,
        lastAccessTime=0,
        retention=0,
        sd=_storage_to_wire(table.storage, table.columns),
        partitionKeys=[column_to_wire(key) for key in table.partition_keys],
        parameters=dict(table.parameters),
        tableType=table.table_type,
        catName=CATALOG,
    )
    return wired


def table_from_wire(table: Struct) -> HiveTable:
    sd = table.sd or api.StorageDescriptor()
    return HiveTable(
        database=table.dbName or "",
        name=table.tableName or "",
        columns=_columns_from_wire(sd.cols),
        partition_keys=_columns_from_wire(table.partitionKeys),
        parameters=table.parameters or {},
        storage=_storage_from_wire(sd),
        owner=table.owner,
        table_type=table.tableType or MANAGED_TABLE,
        create_time=table.createTime or 0,
    )


def partition_to_wire(partition: HivePartition, table: HiveTable) -> Struct:
    """A partition; what it does not say of its storage is the table's."""
    wired: Struct = api.Partition(
        values=list(partition.values),
        dbName=table.database,
        tableName=table.name,
        createTime=partition.create_time,
        lastAccessTime=0,
        sd=_storage_to_wire(partition.storage if partition.storage != Storage() else table.storage, table.columns),
        parameters=dict(partition.parameters),
        catName=CATALOG,
    )
    return wired


def partition_from_wire(partition: Struct) -> HivePartition:
    return HivePartition(
        values=tuple(partition.values or ()),
        parameters=partition.parameters or {},
        storage=_storage_from_wire(partition.sd or api.StorageDescriptor()),
        create_time=partition.createTime or 0,
    )


def column_to_wire(column: Column) -> Struct:
    wired: Struct = api.FieldSchema(name=column.name, type=column.type, comment=column.comment)
    return wired


def _columns_from_wire(columns: Any) -> tuple[Column, ...]:
    return tuple(Column(name=c.name or "", type=c.type or "", comment=c.comment) for c in columns or ())


def _storage_to_wire(storage: Storage, columns: tuple[Column, ...]) -> Struct:
    wired: Struct = api.StorageDescriptor(
        cols=[column_to_wire(column) for column in columns],
        location=storage.location,
        inputFormat=storage.input_format,
        outputFormat=storage.output_format,
        compressed=False,
        numBuckets=-1,
        serdeInfo=api.SerDeInfo(serializationLib=storage.serde, parameters=dict(storage.serde_parameters)),
        bucketCols=[],
        sortCols=[],
        parameters={},
        skewedInfo=api.SkewedInfo(skewedColNames=[], skewedColValues=[], skewedColValueLocationMaps={}),
        storedAsSubDirectories=False,
    )
    return wired


def _storage_from_wire(sd: Struct) -> Storage:
    serde = sd.serdeInfo or api.SerDeInfo()
    return Storage(
        location=sd.location,
        input_format=sd.inputFormat,
        output_format=sd.outputFormat,
        serde=serde.serializationLib,
        serde_parameters=serde.parameters or {},
    )
