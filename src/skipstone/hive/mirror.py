"""Our tables as the metastore's: what a catalog holds, written into the store under Hive's names and types.

A column that a table is partitioned by as it is (identity) is a partition key in Hive and not a column; any other
partition field is a key beside the columns (`ts_day`). A partition is a partition tuple. What is in the store already
keeps its statistics as long as its columns keep their names and types; what the catalog no longer has is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from skipstone.analysis.partition_groups import PartitionNaming
from skipstone.catalog.identifiers import parse_identifier, parse_namespace
from skipstone.errors import AlreadyExists, NotFound
from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.iceberg_tables import METADATA_LOCATION, SNAPSHOT_ID, TABLE_TYPE
from skipstone.hive.objects import EXTERNAL_TABLE, Column, HiveDatabase, HiveTable, Storage
from skipstone.hive.partition_names import partition_name
from skipstone.hive.store import HiveStore
from skipstone.hive.store.lookups import same_but_case
from skipstone.hive.types import hive_type
from skipstone.lake import Lake
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import VoidTransform
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Value
from skipstone.metadata.values.conversion import from_python
from skipstone.table import Table

# By which table and columns are known again: a name alone may be another's by now.
_TABLE_UUID: Final = "uuid"
_FIELD_IDS: Final = "skipstone.field-ids"
BASIC: Final = ("numRows", "numFiles", "totalSize", "rawDataSize")
# What a partition was like when it was last looked at; statistics of another state are not its own.
_STATE: Final = "skipstone.partition-state"
_SPEC_ID: Final = "skipstone.partition-spec-id"
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


def refresh_table(lake: Lake, store: HiveStore, database: str, name: str) -> None:
    """Make one table of the store what the catalog's is; a name of neither, in any case of letters, is left alone."""
    with suppress(NotFound):
        known = store.table(database, name)
        database, name = known.database, known.name
    namespaces = lake.list_namespaces()
    namespace = database if database in namespaces else same_but_case(database, namespaces)
    if namespace is None:
        return
    with suppress(AlreadyExists):
        store.create_database(HiveDatabase(name=namespace, location=f"{lake.catalog.warehouse}/{namespace}"))
    identifier = (*parse_namespace(namespace), name)
    if not lake.table_exists(identifier):
        tables = [parse_identifier(full)[-1] for full in lake.list_tables(namespace)]
        same = same_but_case(name, tables)
        if same is None:
            return
        identifier = (*identifier[:-1], same)
    mirror_table(lake.load_table(identifier), store, database=namespace, name=identifier[-1])


def mirror_table(table: Table, store: HiveStore, *, database: str, name: str) -> HiveTable:
    """Make one table of the store what the catalog's is; nothing is read if its metadata has not moved."""
    try:
        known: HiveTable | None = store.table(database, name)
    except NotFound:
        known = None
    if known is not None and known.parameters.get(METADATA_LOCATION) == table.metadata_location:
        return known
    wanted = hive_table(table.metadata, database=database, name=name, location=table.metadata_location)
    if known is not None and known.parameters.get(_TABLE_UUID) not in (None, wanted.parameters[_TABLE_UUID]):
        # Another table under the name of one that was dropped.
        store.drop_table(database, name)
        known = None
    if known is not None and known.parameters.get(SNAPSHOT_ID) == wanted.parameters.get(SNAPSHOT_ID):
        # The same rows: what was found out about them is still so.
        kept = {key: value for key, value in known.parameters.items() if key in (ACCURATE, *BASIC)}
        wanted = replace(wanted, parameters={**wanted.parameters, **kept})
    if known is not None and known.partition_keys != wanted.partition_keys:
        # A partition of other keys is another partition.
        store.drop_table(database, name)
        known = None
    if known is None:
        store.create_table(wanted)
    else:
        store.alter_table(database, name, wanted, replaced=_replaced(known, wanted))
    if wanted.partition_keys and (known is None or _may_differ(known, wanted)):
        _mirror_partitions(table, store, wanted)
    return wanted


def _may_differ(known: HiveTable, wanted: HiveTable) -> bool:
    """Whether partitions may be others than before: of the same rows under the same spec they are not."""
    return any(known.parameters.get(key) != wanted.parameters.get(key) for key in (SNAPSHOT_ID, _SPEC_ID))


def _replaced(known: HiveTable, wanted: HiveTable) -> list[str]:
    """The columns that are other ones now, under the name and perhaps the type of one that was there before."""
    before, now = (_field_ids(table) for table in (known, wanted))
    return [name for name, field_id in before.items() if now.get(name, field_id) != field_id]


def _field_ids(table: HiveTable) -> dict[str, int]:
    try:
        found = json.loads(table.parameters.get(_FIELD_IDS, "{}"))
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def hive_table(metadata: TableMetadata, *, database: str, name: str, location: str) -> HiveTable:
    """A table as Hive describes it."""
    schema, spec = metadata.current_schema, metadata.default_spec
    keyed = {field.name for field in partition_fields(spec)}
    keys = tuple(
        Column(name=f.name, type=hive_type(f.type)) for f in spec.partition_type(schema).fields if f.name in keyed
    )
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
        _TABLE_UUID: str(metadata.table_uuid),
        _SPEC_ID: str(metadata.default_spec.spec_id),
        _FIELD_IDS: json.dumps({field.name: field.id for field in schema.fields}, ensure_ascii=False),
        **({} if metadata.current_snapshot_id is None else {SNAPSHOT_ID: str(metadata.current_snapshot_id)}),
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


def partition_fields(spec: PartitionSpec) -> list[PartitionField]:
    """The fields of a spec that are keys: one that was removed under format version 1 stays as a void, always null."""
    return [field for field in spec.fields if not isinstance(field.transform, VoidTransform)]


def partition_naming(metadata: TableMetadata) -> PartitionNaming:
    """How Hive names partitions: none under an older spec, whose rows belong to no partition that it could name."""
    schema, spec = metadata.current_schema, metadata.default_spec
    fields = partition_fields(spec)
    keys = [field.name for field in fields]
    sources = [spec.source_type(field, schema) for field in fields]

    def name_of(spec_id: int, values: Mapping[str, Value]) -> str | None:
        if spec_id != spec.spec_id or not fields:
            return None
        texts: list[str | None] = []
        for field, source in zip(fields, sources, strict=True):
            value = values.get(field.name)
            texts.append(None if value is None else field.transform.to_human(source, value))
        return partition_name(keys, texts)

    return name_of


def partition_states_of(table: Table) -> dict[str, str]:
    """The names of a table's partitions under its current spec, and what tells one state of each from another."""
    metadata, name_of = table.metadata, partition_naming(table.metadata)
    types = {f.name: f.type for f in metadata.default_spec.partition_type(metadata.current_schema).fields}
    snapshot = metadata.current_snapshot
    everywhere = (snapshot.summary or {}).get("total-equality-deletes", "0") if snapshot is not None else "0"
    found: dict[str, list[str]] = {}
    for row in table.inspect.partitions().to_pylist():
        given = row.pop("partition")
        if row["spec_id"] != metadata.default_spec.spec_id:
            continue
        values = {n: None if given.get(n) is None else from_python(t, given[n]) for n, t in types.items()}
        name = name_of(row["spec_id"], values)
        if name is not None:
            numbers = [str(value) for key, value in row.items() if key != "last_updated_at"]
            found.setdefault(name, [everywhere]).extend(numbers)
    return {name: " ".join(state) for name, state in found.items()}


def _mirror_partitions(table: Table, store: HiveStore, wanted: HiveTable) -> None:
    states, names = partition_states_of(table), (wanted.database, wanted.name)
    gone = set(store.partition_names(*names)) - set(states)
    if gone:
        store.drop_partitions(*names, sorted(gone))
    store.add_partition_names(*names, list(states))

    def brought_up(name: str, known: dict[str, str]) -> dict[str, str]:
        state = states.get(name)
        return known if state is None or known.get(_STATE) == state else {_STATE: state}

    store.change_partition_parameters(*names, brought_up)
