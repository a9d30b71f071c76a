"""Calls that ask for databases, tables and partitions, and the small talk with which a client begins."""

from __future__ import annotations

import fnmatch
from typing import Any

from skipstone.errors import NotFound
from skipstone.hive.partition_names import parse_partition_name, partition_name
from skipstone.hive.service.conversion import column_to_wire, database_to_wire, partition_to_wire, table_to_wire
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Struct, api

_NAME = "skipstone"
_CONFIG_PREFIXES = ("hive", "hdfs", "mapred", "metastore")


class ReadingCalls:
    """Method names are the interface's."""

    _store: HiveStore

    def _name_user(self) -> None:
        raise NotImplementedError

    # -- the service itself

    def getName(self, _: Struct) -> str:
        return _NAME

    def getVersion(self, _: Struct) -> str:
        return "4.0"

    def getStatus(self, _: Struct) -> int:
        return 2

    def set_ugi(self, arguments: Struct) -> list[str]:
        self._name_user()
        return [arguments.user_name or ""]

    def get_config_value(self, arguments: Struct) -> str:
        if arguments.name is not None and not arguments.name.startswith(_CONFIG_PREFIXES):
            raise api.ConfigValSecurityException(message=f"For security the value of {arguments.name!r} is not told.")
        return arguments.defaultValue or ""

    def getMetaConf(self, _: Struct) -> str:
        return ""

    def flushCache(self, _: Struct) -> None:
        return None

    def get_catalogs(self, _: Struct) -> Struct:
        return api.GetCatalogsResponse(names=["hive"])  # type: ignore[no-any-return]

    def get_current_notificationEventId(self, _: Struct) -> Struct:
        return api.CurrentNotificationEventId(eventId=0)  # type: ignore[no-any-return]

    def get_primary_keys(self, _: Struct) -> Struct:
        return api.NoConstraints(keys=[])  # type: ignore[no-any-return]

    def get_foreign_keys(self, _: Struct) -> Struct:
        return api.NoConstraints(keys=[])  # type: ignore[no-any-return]

    def get_all_functions(self, _: Struct) -> Struct:
        return api.NoFunctions(functions=[])  # type: ignore[no-any-return]

    # -- databases

    def get_all_databases(self, _: Struct) -> list[str]:
        return self._store.database_names()

    def get_databases(self, arguments: Struct) -> list[str]:
        return matching_names(self._store.database_names(), arguments.pattern)

    def get_database(self, arguments: Struct) -> Struct:
        return database_to_wire(self._store.database(plain_name(arguments.name)))

    def get_database_req(self, arguments: Struct) -> Struct:
        return database_to_wire(self._store.database(plain_name(arguments.request.name)))

    # -- tables

    def get_all_tables(self, arguments: Struct) -> list[str]:
        return self._table_names(arguments.db_name)

    def get_tables(self, arguments: Struct) -> list[str]:
        return matching_names(self._table_names(arguments.db_name), arguments.pattern)

    def get_tables_by_type(self, arguments: Struct) -> list[str]:
        database = plain_name(arguments.db_name)
        names = matching_names(self._table_names(database), arguments.pattern)
        return [name for name in names if self._store.table(database, name).table_type == arguments.tableType]

    def get_table_meta(self, arguments: Struct) -> list[Struct]:
        found = []
        for database in matching_names(self._store.database_names(), arguments.db_patterns):
            for name in matching_names(self._store.table_names(database), arguments.tbl_patterns):
                kind = self._store.table(database, name).table_type
                if not arguments.tbl_types or kind in arguments.tbl_types:
                    found.append(api.TableMeta(dbName=database, tableName=name, tableType=kind))
        return found

    def get_table(self, arguments: Struct) -> Struct:
        return table_to_wire(self._store.table(plain_name(arguments.dbname), arguments.tbl_name))

    def get_table_req(self, arguments: Struct) -> Struct:
        table = self._store.table(plain_name(arguments.req.dbName), arguments.req.tblName)
        return api.GetTableResult(table=table_to_wire(table))  # type: ignore[no-any-return]

    def get_table_objects_by_name(self, arguments: Struct) -> list[Struct]:
        return self._tables_by_name(arguments.dbname, arguments.tbl_names)

    def get_table_objects_by_name_req(self, arguments: Struct) -> Struct:
        request = arguments.req
        names = request.tblNames
        if names is None:
            # A newer client that lists tables asks for what it will show of them in one call.
            names = matching_names(self._table_names(request.dbName), request.tablesPattern)
        found = self._tables_by_name(request.dbName, names)
        return api.GetTablesResult(tables=found)  # type: ignore[no-any-return]

    def get_fields(self, arguments: Struct) -> list[Struct]:
        table = self._store.table(plain_name(arguments.db_name), arguments.table_name)
        return [column_to_wire(column) for column in table.columns]

    def get_schema(self, arguments: Struct) -> list[Struct]:
        table = self._store.table(plain_name(arguments.db_name), arguments.table_name)
        return [column_to_wire(column) for column in (*table.columns, *table.partition_keys)]

    get_fields_with_environment_context = get_fields
    get_schema_with_environment_context = get_schema

    # -- partitions

    def get_partition_names(self, arguments: Struct) -> list[str]:
        names = self._store.partition_names(plain_name(arguments.db_name), arguments.tbl_name)
        return first_names(names, arguments.max_parts)

    def get_partitions(self, arguments: Struct) -> list[Struct]:
        return self._partitions(arguments, None, arguments.max_parts)

    def get_partition(self, arguments: Struct) -> Struct:
        table = self._store.table(plain_name(arguments.db_name), arguments.tbl_name)
        name = partition_name([key.name for key in table.partition_keys], arguments.part_vals or [])
        return partition_to_wire(self._store.partition(table.database, table.name, name), table)

    get_partition_with_auth = get_partition

    def get_partition_by_name(self, arguments: Struct) -> Struct:
        table = self._store.table(plain_name(arguments.db_name), arguments.tbl_name)
        return partition_to_wire(self._store.partition(table.database, table.name, arguments.part_name), table)

    def get_partitions_by_names(self, arguments: Struct) -> list[Struct]:
        return self._partitions(arguments, arguments.names or [], None)

    def get_partitions_by_names_req(self, arguments: Struct) -> Struct:
        found = self._partitions(arguments.req, arguments.req.names or [], None)
        return api.GetPartitionsByNamesResult(partitions=found)  # type: ignore[no-any-return]

    def partition_name_to_vals(self, arguments: Struct) -> list[str]:
        return list(parse_partition_name(arguments.part_name).values()) if arguments.part_name else []

    def partition_name_to_spec(self, arguments: Struct) -> dict[str, str]:
        return parse_partition_name(arguments.part_name) if arguments.part_name else {}

    def _table_names(self, database: str) -> list[str]:
        try:
            return self._store.table_names(plain_name(database))
        except NotFound:
            # The metastore answers so, and its clients count on it.
            return []

    def _tables_by_name(self, database: str, names: Any) -> list[Struct]:
        found = []
        for name in names or []:
            try:
                found.append(table_to_wire(self._store.table(plain_name(database), name)))
            except NotFound:
                continue
        return found

    def _partitions(self, arguments: Struct, names: list[str] | None, most: int | None) -> list[Struct]:
        table = self._store.table(plain_name(arguments.db_name), arguments.tbl_name)
        if names is None:
            names = first_names(self._store.partition_names(table.database, table.name), most)
        return [partition_to_wire(p, table) for p in self._store.partitions(table.database, table.name, names)]


def plain_name(database: str | None) -> str:
    """A database's name without the catalog that newer clients put before it: `@hive#default`."""
    name = database or ""
    if name.startswith("@") and "#" in name:
        name = name.partition("#")[2].removesuffix("!")
    return name


def matching_names(names: list[str], pattern: str | None) -> list[str]:
    """The names that one of Hive's patterns matches: `*` stands for anything, `|` for a choice."""
    pattern = plain_name(pattern)
    if pattern in ("", "*", ".*"):
        return names
    choices = [choice.strip().replace("[", "[[]").replace("?", "[?]").lower() for choice in pattern.split("|")]
    return [name for name in names if any(fnmatch.fnmatchcase(name.lower(), choice) for choice in choices)]


def first_names(names: list[str], most: int | None) -> list[str]:
    return names if most is None or most < 0 else names[:most]
