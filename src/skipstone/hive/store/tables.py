"""Tables in the store. A column's statistics go when the column goes, or becomes another type or name."""

# ruff: noqa: SIM300 -- a column in capitals is no constant
from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.errors import AlreadyExists, CommitRejected, InvalidInput
from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.accurate import without_columns
from skipstone.hive.objects import Column, HiveTable, Storage
from skipstone.hive.store.layout import Tables
from skipstone.hive.store.lookups import (
    TableRow,
    database_id,
    delete_storage,
    parameters,
    put_parameters,
    storage_ids,
    table_row,
)


class TableRows:
    """The part of the store that keeps tables."""

    _database: Database
    _tables: Tables

    def table_names(self, database: str) -> list[str]:
        tbls = self._tables.tables
        with self._database.reading() as connection:
            db_id, _ = database_id(connection, self._tables, database)
            return sorted(connection.scalars(sa.select(tbls.c.TBL_NAME).where(tbls.c.DB_ID == db_id)))

    def table(self, database: str, name: str) -> HiveTable:
        with self._database.reading() as connection:
            return load_table(connection, self._tables, table_row(connection, self._tables, database, name))

    def create_table(self, table: HiveTable) -> None:
        _check_table(table)
        try:
            with self._database.writing(f"Cannot create table {table.database}.{table.name}") as connection:
                db_id, _ = database_id(connection, self._tables, table.database)
                storage_id = insert_storage(connection, self._tables, table.storage)
                row = {
                    "DB_ID": db_id,
                    "SD_ID": storage_id,
                    "TBL_NAME": table.name,
                    "TBL_TYPE": table.table_type,
                    "OWNER": table.owner,
                    "CREATE_TIME": table.create_time,
                }
                made = connection.execute(sa.insert(self._tables.tables).values(row))
                table_id: int = made.inserted_primary_key[0]  # type: ignore[index]
                _put_columns(connection, self._tables, storage_id, table.columns)
                _put_partition_keys(connection, self._tables, table_id, table.partition_keys)
                put_parameters(connection, self._tables.table_parameters, table_id, table.parameters)
        except sa.exc.IntegrityError:
            raise AlreadyExists(
                f"Cannot create table {table.database}.{table.name}: there is one of this name."
            ) from None

    def alter_table(
        self,
        database: str,
        name: str,
        table: HiveTable,
        *,
        expected: Mapping[str, str | None] | None = None,
        replaced: Collection[str] = (),
    ) -> None:
        """Make a table what `table` says. With `expected`, only if these parameters still have these values.

        Of columns in `replaced`, which are others now under the same name, no statistics are kept.
        """
        _check_table(table)
        try:
            with self._database.writing(f"Cannot change table {database}.{name}") as connection:
                row = table_row(connection, self._tables, database, name)
                self._check_expected(connection, row, expected or {})
                gone = self._drop_stale(connection, row, table.columns, replaced)
                self._update_row(connection, row, table)
                _put_columns(connection, self._tables, row.storage_id, table.columns)
                values = without_columns(table.parameters, gone)
                put_parameters(connection, self._tables.table_parameters, row.table_id, values)
        except sa.exc.IntegrityError:
            raise AlreadyExists(
                f"Cannot rename table {database}.{name} to {table.database}.{table.name}: the name is taken."
            ) from None

    def drop_table(self, database: str, name: str) -> None:
        """Forget a table with its partitions and all their statistics."""
        tbls, parts = self._tables.tables, self._tables.partitions
        with self._database.writing(f"Cannot drop table {database}.{name}") as connection:
            row = table_row(connection, self._tables, database, name)
            held = [row.storage_id, *storage_ids(connection, self._tables, parts.c.TBL_ID == row.table_id)]
            connection.execute(sa.delete(tbls).where(tbls.c.TBL_ID == row.table_id))
            delete_storage(connection, self._tables, held)

    def _check_expected(self, connection: sa.Connection, row: TableRow, expected: Mapping[str, str | None]) -> None:
        now = parameters(connection, self._tables.table_parameters, row.table_id)
        for key, value in expected.items():
            if now.get(key) != value:
                raise CommitRejected(
                    f"Cannot change table {row.database}.{row.name}: expected parameter {key} = {value}, "
                    f"got {now.get(key)}. The table has been modified. Retry is safe."
                )

    def _drop_stale(
        self, connection: sa.Connection, row: TableRow, columns: Iterable[Column], replaced: Collection[str]
    ) -> list[str]:
        """Remove the statistics of columns that are gone, are another type now, or another column."""
        kept = {(column.name, column.type.lower()) for column in columns if column.name not in replaced}
        had = read_columns(connection, self._tables, row.storage_id)
        gone = [column.name for column in had if (column.name, column.type.lower()) not in kept]
        if gone:
            own, parts = self._tables.table_statistics, self._tables.partition_statistics
            connection.execute(sa.delete(own).where(own.c.TBL_ID == row.table_id, own.c.COLUMN_NAME.in_(gone)))
            ids = sa.select(self._tables.partitions.c.PART_ID).where(self._tables.partitions.c.TBL_ID == row.table_id)
            connection.execute(sa.delete(parts).where(parts.c.PART_ID.in_(ids), parts.c.COLUMN_NAME.in_(gone)))
            self._mark_partitions(connection, ids, gone)
        return gone

    def _mark_partitions(self, connection: sa.Connection, ids: sa.Select[tuple[int]], gone: Collection[str]) -> None:
        """Say of no partition that statistics of columns that are gone are accurate."""
        held = self._tables.partition_parameters
        of_parts = (held.c.PARAM_KEY == ACCURATE, held.c.PART_ID.in_(ids))
        for number, value in list(connection.execute(sa.select(held.c.PART_ID, held.c.PARAM_VALUE).where(*of_parts))):
            left = without_columns({ACCURATE: value}, gone).get(ACCURATE)
            one = (held.c.PARAM_KEY == ACCURATE, held.c.PART_ID == number)
            if left is None:
                connection.execute(sa.delete(held).where(*one))
            elif left != value:
                connection.execute(sa.update(held).where(*one).values(PARAM_VALUE=left))

    def _update_row(self, connection: sa.Connection, row: TableRow, table: HiveTable) -> None:
        tbls, sds = self._tables.tables, self._tables.storage
        db_id, db_name = database_id(connection, self._tables, table.database)
        connection.execute(
            sa.update(tbls)
            .where(tbls.c.TBL_ID == row.table_id)
            .values(DB_ID=db_id, TBL_NAME=table.name, TBL_TYPE=table.table_type, OWNER=table.owner)
        )
        connection.execute(sa.update(sds).where(sds.c.SD_ID == row.storage_id).values(_storage_row(table.storage)))
        if self._tables.layout.has_names and (db_name, table.name) != (row.database, row.name):
            self._rename_statistics(connection, row.table_id, db_name, table.name)

    def _rename_statistics(self, connection: sa.Connection, table_id: int, database: str, name: str) -> None:
        own, parts = self._tables.table_statistics, self._tables.partition_statistics
        ids = sa.select(self._tables.partitions.c.PART_ID).where(self._tables.partitions.c.TBL_ID == table_id)
        for table, which in ((own, own.c.TBL_ID == table_id), (parts, parts.c.PART_ID.in_(ids))):
            connection.execute(sa.update(table).where(which).values(DB_NAME=database, TABLE_NAME=name))


def load_table(connection: sa.Connection, tables: Tables, row: TableRow) -> HiveTable:
    tbls, keys = tables.tables, tables.partition_keys
    found = connection.execute(sa.select(tbls).where(tbls.c.TBL_ID == row.table_id)).mappings().one()
    in_order = sa.select(keys).where(keys.c.TBL_ID == row.table_id).order_by(keys.c.INTEGER_IDX)
    return HiveTable(
        database=row.database,
        name=row.name,
        columns=read_columns(connection, tables, row.storage_id),
        partition_keys=tuple(
            Column(name=key["PKEY_NAME"], type=key["PKEY_TYPE"], comment=key["PKEY_COMMENT"])
            for key in connection.execute(in_order).mappings()
        ),
        parameters=parameters(connection, tables.table_parameters, row.table_id),
        storage=read_storage(connection, tables, row.storage_id),
        owner=found["OWNER"],
        table_type=found["TBL_TYPE"],
        create_time=found["CREATE_TIME"],
    )


def read_columns(connection: sa.Connection, tables: Tables, storage_id: int) -> tuple[Column, ...]:
    columns = tables.columns
    query = sa.select(columns).where(columns.c.SD_ID == storage_id).order_by(columns.c.INTEGER_IDX)
    return tuple(
        Column(name=row["COLUMN_NAME"], type=row["TYPE_NAME"], comment=row["COMMENT"])
        for row in connection.execute(query).mappings()
    )


def read_storage(connection: sa.Connection, tables: Tables, storage_id: int | None) -> Storage:
    sds = tables.storage
    row = connection.execute(sa.select(sds).where(sds.c.SD_ID == storage_id)).mappings().first()
    return Storage() if row is None else storage_in(row)


def storage_in(row: Mapping[Any, Any]) -> Storage:
    """The storage that a row says."""
    return Storage(
        location=row["LOCATION"],
        input_format=row["INPUT_FORMAT"],
        output_format=row["OUTPUT_FORMAT"],
        serde=row["SLIB"],
        serde_parameters=json.loads(row["SERDE_PARAMS"] or "{}"),
    )


def insert_storage(connection: sa.Connection, tables: Tables, storage: Storage) -> int:
    made = connection.execute(sa.insert(tables.storage).values(_storage_row(storage)))
    return int(made.inserted_primary_key[0])  # type: ignore[index]


def _storage_row(storage: Storage) -> dict[str, Any]:
    return {
        "LOCATION": storage.location,
        "INPUT_FORMAT": storage.input_format,
        "OUTPUT_FORMAT": storage.output_format,
        "SLIB": storage.serde,
        "SERDE_PARAMS": json.dumps(dict(storage.serde_parameters)),
    }


def _put_columns(connection: sa.Connection, tables: Tables, storage_id: int, columns: Iterable[Column]) -> None:
    table = tables.columns
    connection.execute(sa.delete(table).where(table.c.SD_ID == storage_id))
    rows = [
        {
            "SD_ID": storage_id,
            "COLUMN_NAME": column.name,
            "TYPE_NAME": column.type,
            "COMMENT": column.comment,
            "INTEGER_IDX": position,
        }
        for position, column in enumerate(columns)
    ]
    if rows:
        connection.execute(sa.insert(table), rows)


def _put_partition_keys(connection: sa.Connection, tables: Tables, table_id: int, keys: Iterable[Column]) -> None:
    rows = [
        {
            "TBL_ID": table_id,
            "PKEY_NAME": key.name,
            "PKEY_TYPE": key.type,
            "PKEY_COMMENT": key.comment,
            "INTEGER_IDX": position,
        }
        for position, key in enumerate(keys)
    ]
    if rows:
        connection.execute(sa.insert(tables.partition_keys), rows)


def _check_table(table: HiveTable) -> None:
    if not table.name or len(table.name) > 256 or "\0" in table.name:
        raise InvalidInput(f"Invalid table name {table.name!r}: expected 1 to 256 characters, none of them zero.")
    names = [column.name for column in (*table.columns, *table.partition_keys)]
    for name in names:
        if not name or len(name) > 767 or "\0" in name:
            raise InvalidInput(f"Invalid column name {name!r}: expected 1 to 767 characters, none of them zero.")
        if names.count(name) > 1:
            raise InvalidInput(f"Invalid columns of table {table.name!r}: expected each name once, got {name!r} again.")
