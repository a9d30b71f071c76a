"""Calls of Hive 4 clients: older questions, with their arguments in one request, and some that Hive 3 added."""

from __future__ import annotations

from collections.abc import Sequence

from skipstone.errors import InvalidInput, NotFound
from skipstone.hive.objects import HivePartition, HiveTable
from skipstone.hive.partition_names import parse_partition_name, partition_name
from skipstone.hive.service.conversion import (
    CATALOG,
    column_to_wire,
    database_from_wire,
    database_to_wire,
    partition_from_wire,
    partition_to_wire,
)
from skipstone.hive.service.reading import first_names, matching_names, plain_name
from skipstone.hive.service.table_filters import is_kept
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Struct, api


class RequestReadingCalls:
    """Method names are the interface's."""

    _store: HiveStore

    def get_catalog(self, arguments: Struct) -> Struct:
        name = arguments.catName.name if arguments.catName is not None else None
        if name not in (None, "", CATALOG):
            raise NotFound(f"Cannot find catalog {name!r}. Catalogs: {CATALOG}.")
        return api.GetCatalogResponse(  # type: ignore[no-any-return]
            catalog=api.Catalog(name=CATALOG, description="", locationUri="")
        )

    def get_databases_req(self, arguments: Struct) -> Struct:
        names = matching_names(self._store.database_names(), arguments.request.pattern)
        found = [database_to_wire(self._store.database(name)) for name in names]
        return api.GetDatabaseObjectsResponse(databases=found)  # type: ignore[no-any-return]

    def get_table_names_by_filter(self, arguments: Struct) -> list[str]:
        database = plain_name(arguments.dbname)
        tables = (self._store.table(database, name) for name in self._store.table_names(database))
        return first_names([t.name for t in tables if is_kept(t, arguments.filter or "")], arguments.max_tables)

    def get_schema_req(self, arguments: Struct) -> Struct:
        table = self._store.table(plain_name(arguments.req.dbName), arguments.req.tblName)
        return api.GetFieldsResponse(  # type: ignore[no-any-return]
            fields=[column_to_wire(column) for column in (*table.columns, *table.partition_keys)]
        )

    def get_fields_req(self, arguments: Struct) -> Struct:
        table = self._store.table(plain_name(arguments.req.dbName), arguments.req.tblName)
        return api.GetFieldsResponse(  # type: ignore[no-any-return]
            fields=[column_to_wire(column) for column in table.columns]
        )

    # -- what this store has none of

    def get_not_null_constraints(self, _: Struct) -> Struct:
        return api.NoConstraints(keys=[])  # type: ignore[no-any-return]

    get_unique_constraints = get_not_null_constraints
    get_default_constraints = get_not_null_constraints
    get_check_constraints = get_not_null_constraints

    def get_all_table_constraints(self, _: Struct) -> Struct:
        none: dict[str, list[Struct]] = {name: [] for name in api.AllConstraints._names}
        return api.AllConstraintsResponse(allTableConstraints=api.AllConstraints(**none))  # type: ignore[no-any-return]

    def get_materialized_views_for_rewriting(self, _: Struct) -> list[str]:
        return []

    def get_all_materialized_view_objects_for_rewriting(self, _: Struct) -> list[Struct]:
        return []

    def get_functions(self, _: Struct) -> list[str]:
        return []

    def get_functions_req(self, _: Struct) -> Struct:
        return api.GetFunctionsResponse(function_names=[], functions=[])  # type: ignore[no-any-return]

    # -- partitions

    def get_partition_req(self, arguments: Struct) -> Struct:
        request = arguments.req
        table = self._store.table(plain_name(request.dbName), request.tblName)
        found = self._store.partition(table.database, table.name, name_by_values(table, request.partVals))
        return api.GetPartitionResponse(partition=partition_to_wire(found, table))  # type: ignore[no-any-return]

    def get_partitions_req(self, arguments: Struct) -> Struct:
        request = arguments.req
        found = self._chosen(request.dbName, request.tblName, None, request.maxParts)
        return api.PartitionsResponse(partitions=found)  # type: ignore[no-any-return]

    def get_partitions_with_auth(self, arguments: Struct) -> list[Struct]:
        return self._chosen(arguments.db_name, arguments.tbl_name, None, arguments.max_parts)

    def fetch_partition_names_req(self, arguments: Struct) -> list[str]:
        request = arguments.partitionReq
        return self._chosen_names(request.dbName, request.tblName, None, request.maxParts)

    def get_partition_names_ps(self, arguments: Struct) -> list[str]:
        return self._chosen_names(arguments.db_name, arguments.tbl_name, arguments.part_vals, arguments.max_parts)

    def get_partition_names_ps_req(self, arguments: Struct) -> Struct:
        request = arguments.req
        names = self._chosen_names(request.dbName, request.tblName, request.partValues, request.maxParts)
        return api.GetPartitionNamesPsResponse(names=names)  # type: ignore[no-any-return]

    def get_partitions_ps(self, arguments: Struct) -> list[Struct]:
        return self._chosen(arguments.db_name, arguments.tbl_name, arguments.part_vals, arguments.max_parts)

    get_partitions_ps_with_auth = get_partitions_ps

    def get_partitions_ps_with_auth_req(self, arguments: Struct) -> Struct:
        request = arguments.req
        if request.partNames:
            table = self._store.table(plain_name(request.dbName), request.tblName)
            held = self._store.partitions(table.database, table.name, request.partNames)
            found = [partition_to_wire(one, table) for one in held]
        else:
            found = self._chosen(request.dbName, request.tblName, request.partVals, request.maxParts)
        return api.PartitionsResponse(partitions=found)  # type: ignore[no-any-return]

    def get_partitions_by_expr(self, arguments: Struct) -> Struct:
        """All partitions, each one that the client's filter has to look at: the expression is Java's own bytes."""
        found = self._chosen(arguments.req.dbName, arguments.req.tblName, None, None)
        return api.PartitionsByExprResult(partitions=found, hasUnknownPartitions=True)  # type: ignore[no-any-return]

    def _chosen(self, database: str, name: str, values: Sequence[str] | None, most: int | None) -> list[Struct]:
        table = self._store.table(plain_name(database), name)
        names = self._chosen_names(table.database, table.name, values, most)
        return [partition_to_wire(one, table) for one in self._store.partitions(table.database, table.name, names)]

    def _chosen_names(self, database: str, name: str, values: Sequence[str] | None, most: int | None) -> list[str]:
        """Names of the partitions that have these values, of the first keys; an empty one stands for any."""
        table = self._store.table(plain_name(database), name)
        if values and len(values) > len(table.partition_keys):
            keys = ", ".join(key.name for key in table.partition_keys) or "none"
            raise InvalidInput(
                f"Invalid partition values {list(values)} of {table.database}.{table.name}: expected at most one for "
                f"each partition key ({keys})."
            )
        if values and any(values):
            held = self._store.partitions(table.database, table.name)
            same = [one for one in held if all(v in ("", had) for v, had in zip(values, one.values, strict=False))]
            names = [name_by_values(table, one.values) for one in same]
        else:
            names = self._store.partition_names(table.database, table.name)
        return first_names(names, most)


class RequestWritingCalls:
    """Method names are the interface's."""

    _store: HiveStore

    def create_database_req(self, arguments: Struct) -> None:
        request = arguments.createDatabaseRequest
        sent = api.Database(
            name=request.databaseName,
            description=request.description,
            locationUri=request.locationUri,
            parameters=request.parameters,
            ownerName=request.ownerName,
        )
        self._store.create_database(database_from_wire(sent))

    def alter_database_req(self, arguments: Struct) -> None:
        request = arguments.alterDbReq
        self._store.alter_database(plain_name(request.oldDbName), database_from_wire(request.newDb))

    def add_partitions_req(self, arguments: Struct) -> Struct:
        request = arguments.request
        table = self._store.table(plain_name(request.dbName), request.tblName)
        new = [partition_from_wire(one) for one in request.parts]
        if request.ifNotExists:
            known = set(self._store.partition_names(table.database, table.name))
            new = [one for one in new if name_by_values(table, one.values) not in known]
        if new:
            self._store.add_partitions(table.database, table.name, new)
        shown = [partition_to_wire(one, table) for one in new] if request.needResult is not False else None
        return api.AddPartitionsResult(partitions=shown)  # type: ignore[no-any-return]

    def append_partition(self, arguments: Struct) -> Struct:
        return self._append(arguments.db_name, arguments.tbl_name, arguments.part_vals)

    def append_partition_req(self, arguments: Struct) -> Struct:
        request = arguments.appendPartitionsReq
        values = request.partVals
        if not values and request.name:
            table = self._store.table(plain_name(request.dbName), request.tableName)
            values = partition_values(table, request.name)
        return self._append(request.dbName, request.tableName, values)

    def alter_partition_with_environment_context(self, arguments: Struct) -> None:
        self._alter_partitions(arguments.db_name, arguments.tbl_name, [arguments.new_part])

    def alter_partitions_with_environment_context(self, arguments: Struct) -> None:
        self._alter_partitions(arguments.db_name, arguments.tbl_name, arguments.new_parts)

    def alter_partitions_req(self, arguments: Struct) -> Struct:
        self._alter_partitions(arguments.req.dbName, arguments.req.tableName, arguments.req.partitions)
        return api.AlterTableResponse()  # type: ignore[no-any-return]

    def drop_partition_with_environment_context(self, arguments: Struct) -> bool:
        return self._drop_partition(arguments.db_name, arguments.tbl_name, None, arguments.part_vals)

    def drop_partition_by_name_with_environment_context(self, arguments: Struct) -> bool:
        return self._drop_partition(arguments.db_name, arguments.tbl_name, arguments.part_name, None)

    def drop_partition_req(self, arguments: Struct) -> bool:
        request = arguments.dropPartitionReq
        return self._drop_partition(request.dbName, request.tblName, request.partName, request.partVals)

    def drop_partitions_req(self, arguments: Struct) -> Struct:
        request = arguments.req
        if request.parts.names is None:
            raise InvalidInput("Cannot drop partitions by an expression: its bytes are Java's. Name the partitions.")
        table = self._store.table(plain_name(request.dbName), request.tblName)
        names = list(dict.fromkeys(request.parts.names))
        if request.ifExists:
            known = set(self._store.partition_names(table.database, table.name))
            names = [name for name in names if name in known]
        gone = self._store.partitions(table.database, table.name, names)
        self._store.drop_partitions(table.database, table.name, names)
        shown = [partition_to_wire(one, table) for one in gone] if request.needResult is not False else None
        return api.AddPartitionsResult(partitions=shown)  # type: ignore[no-any-return]

    def _append(self, database: str, name: str, values: Sequence[str] | None) -> Struct:
        table = self._store.table(plain_name(database), name)
        new = HivePartition(values=tuple(values or ()))
        self._store.add_partitions(table.database, table.name, [new])
        return partition_to_wire(new, table)

    def _alter_partitions(self, database: str, name: str, changed: Sequence[Struct] | None) -> None:
        new = [partition_from_wire(one) for one in changed or ()]
        self._store.alter_partitions(plain_name(database), name, new)

    def _drop_partition(self, database: str, name: str, part: str | None, values: Sequence[str] | None) -> bool:
        table = self._store.table(plain_name(database), name)
        self._store.drop_partitions(table.database, table.name, [part or name_by_values(table, values)])
        return True


def partition_values(table: HiveTable, name: str) -> list[str]:
    """The values in a partition's name, in the order of the table's keys."""
    found = {key.lower(): value for key, value in parse_partition_name(name).items()}
    missing = [key.name for key in table.partition_keys if key.name.lower() not in found]
    if missing:
        raise InvalidInput(f"Invalid partition name {name!r}: expected a value for {', '.join(missing)}.")
    return [found[key.name.lower()] for key in table.partition_keys]


def name_by_values(table: HiveTable, values: Sequence[str] | None) -> str:
    """The name of a table's partition that has these values."""
    return partition_name([key.name for key in table.partition_keys], values or [])
