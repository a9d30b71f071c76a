"""Our tables as the metastore's: what a catalog holds, written into the store under Hive's names and types.

A column that a table is partitioned by as it is (identity) is a partition key in Hive and not a column; any other
partition field is a key beside the columns (`ts_day`). A partition is a partition tuple. What is in the store already
keeps its statistics as long as its columns keep their names and types; what the catalog no longer has is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from skipstone.catalog.identifiers import parse_identifier
from skipstone.errors import AlreadyExists, NotFound
from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.iceberg_tables import METADATA_LOCATION, TABLE_TYPE
from skipstone.hive.objects import EXTERNAL_TABLE, Column, HiveDatabase, HiveTable, Storage
from skipstone.hive.partition_names import partition_name
from skipstone.hive.store import HiveStore
from skipstone.hive.types import hive_type
from skipstone.lake import Lake
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.values.conversion import from_python
from skipstone.table import Table

_FORMATS: Final = Storage(
    input_format="org.apache.hadoop.mapred.FileInputFormat",
    output_format="org.apache.hadoop.mapred.FileOutputFormat",
    serde="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)


def mirror_lake(lake: Lake, store: HiveStore) -> None:
    """Make the store's databases and tables those of a catalog."""
    for namespace in lake.list_namespaces():
        with suppress(AlreadyExists):
            store.create_database(HiveDatabase(name=namespace, location=f"{lake.catalog.warehouse}/{namespace}"))
        names = {parse_identifier(name)[-1]: name for name in lake.list_tables(namespace)}
        for gone in set(store.table_names(namespace)) - set(names):
            if store.table(namespace, gone).parameters.get(TABLE_TYPE) == "ICEBERG":
                store.drop_table(namespace, gone)
        for name, full in names.items():
            mirror_table(lake.load_table(full), store, database=namespace, name=name)


def mirror_table(table: Table, store: HiveStore, *, database: str, name: str) -> HiveTable:
    """Make one table of the store what the catalog's is; nothing is read if its metadata has not moved."""
    try:
        known: HiveTable | None = store.table(database, name)
    except NotFound:
        known = None
    if known is not None and known.parameters.get(METADATA_LOCATION) == table.metadata_location:
        return known
    wanted = hive_table(table.metadata, database=database, name=name, location=table.metadata_location)
    if known is not None and [k.name for k in known.partition_keys] != [k.name for k in wanted.partition_keys]:
        # A partition of other keys is another partition.
        store.drop_table(database, name)
        known = None
    if known is None:
        store.create_table(wanted)
    else:
        store.alter_table(database, name, wanted)
    if wanted.partition_keys:
        _mirror_partitions(table, store, wanted)
    return wanted


def hive_table(metadata: TableMetadata, *, database: str, name: str, location: str) -> HiveTable:
    """A table as Hive describes it."""
    schema, spec = metadata.current_schema, metadata.default_spec
    keys = tuple(Column(name=f.name, type=hive_type(f.type)) for f in spec.partition_type(schema).fields)
    taken = {key.name.lower() for key in keys}
    columns = tuple(
        Column(name=field.name, type=hive_type(field.type), comment=field.doc)
        for field in schema.fields
        if field.name.lower() not in taken
    )
    parameters: Mapping[str, str] = {
        **{key: value for key, value in metadata.properties.items() if key != ACCURATE},
        "EXTERNAL": "TRUE",
        TABLE_TYPE: "ICEBERG",
        METADATA_LOCATION: location,
    }
    return HiveTable(
        database=database,
        name=name,
        columns=columns,
        partition_keys=keys,
        parameters=dict(parameters),
        storage=Storage(
            location=metadata.location,
            input_format=_FORMATS.input_format,
            output_format=_FORMATS.output_format,
            serde=_FORMATS.serde,
        ),
        owner=metadata.properties.get("owner"),
        table_type=EXTERNAL_TABLE,
        create_time=min(metadata.last_updated_ms // 1000, 2**31 - 1),
    )


def partition_names_of(table: Table) -> list[str]:
    """The names of a table's partitions under its current spec."""
    metadata = table.metadata
    schema, spec = metadata.current_schema, metadata.default_spec
    fields = spec.partition_type(schema).fields
    found = []
    for row in table.inspect.partitions().select(["partition", "spec_id"]).to_pylist():
        if row["spec_id"] != spec.spec_id:
            # Rows under an older spec belong to no partition that Hive could name.
            continue
        texts: list[str | None] = []
        for part, field in zip(spec.fields, fields, strict=True):
            value = row["partition"].get(field.name)
            inner = None if value is None else from_python(field.type, value)
            text = part.transform.to_human(spec.source_type(part, schema), inner)
            texts.append(None if value is None else text)
        found.append(partition_name([f.name for f in fields], texts))
    return found


def _mirror_partitions(table: Table, store: HiveStore, wanted: HiveTable) -> None:
    names = partition_names_of(table)
    gone = set(store.partition_names(wanted.database, wanted.name)) - set(names)
    if gone:
        store.drop_partitions(wanted.database, wanted.name, sorted(gone))
    store.add_partition_names(wanted.database, wanted.name, names)
