"""Finding rows by name: the exact name, else the only one that differs in case, as Hive's users expect."""

# ruff: noqa: SIM300 -- a column in capitals is no constant
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from skipstone.errors import NotFound, what_exists
from skipstone.hive.store.layout import Tables

_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A table's place in the store."""

    table_id: int
    storage_id: int
    database: str
    name: str


def database_id(connection: sa.Connection, tables: Tables, name: str) -> tuple[int, str]:
    """A database's number and its name as stored."""
    dbs = tables.databases
    found = connection.execute(sa.select(dbs.c.DB_ID, dbs.c.NAME).where(dbs.c.NAME == name)).first()
    if found is not None:
        return found[0], found[1]
    known: dict[str, int] = {n: i for i, n in connection.execute(sa.select(dbs.c.DB_ID, dbs.c.NAME))}
    same = same_but_case(name, known)
    if same is None:
        raise NotFound(f"Cannot find database {name}. {what_exists('Databases', name, sorted(known))}")
    return known[same], same


def table_row(connection: sa.Connection, tables: Tables, database: str, name: str) -> TableRow:
    """A table's row; NotFound says which tables there are."""
    db_id, db_name = database_id(connection, tables, database)
    tbls = tables.tables
    query = sa.select(tbls.c.TBL_ID, tbls.c.SD_ID, tbls.c.TBL_NAME).where(tbls.c.DB_ID == db_id)
    found = connection.execute(query.where(tbls.c.TBL_NAME == name)).first()
    if found is None:
        known: dict[str, Any] = {row[2]: row for row in connection.execute(query)}
        same = same_but_case(name, known)
        if same is None:
            raise NotFound(
                f"Cannot find table {db_name}.{name}. {what_exists(f'Tables of {db_name}', name, sorted(known))}"
            )
        found = known[same]
    return TableRow(table_id=found[0], storage_id=found[1], database=db_name, name=found[2])


def partition_ids(connection: sa.Connection, tables: Tables, table: TableRow) -> dict[str, int]:
    """The numbers of all partitions of a table by name."""
    parts = tables.partitions
    query = sa.select(parts.c.PART_NAME, parts.c.PART_ID).where(parts.c.TBL_ID == table.table_id)
    return {name: number for name, number in connection.execute(query)}  # noqa: C416 -- rows are not pairs to dict()


def partition_id(connection: sa.Connection, tables: Tables, table: TableRow, name: str) -> int:
    parts = tables.partitions
    query = sa.select(parts.c.PART_ID).where(parts.c.TBL_ID == table.table_id, parts.c.PART_NAME == name)
    found = connection.scalar(query)
    if found is None:
        known = sorted(partition_ids(connection, tables, table))
        raise NotFound(
            f"Cannot find partition {name} of {table.database}.{table.name}. {what_exists('Partitions', name, known)}"
        )
    return int(found)


def parameters(connection: sa.Connection, table: sa.Table, owner_id: int) -> dict[str, str]:
    owner = next(iter(table.primary_key.columns))
    query = sa.select(table.c.PARAM_KEY, table.c.PARAM_VALUE).where(owner == owner_id)
    return {key: value or "" for key, value in connection.execute(query)}


def put_parameters(connection: sa.Connection, table: sa.Table, owner_id: int, values: Mapping[str, str]) -> None:
    """Make the parameters of an owner exactly these."""
    owner = next(iter(table.primary_key.columns))
    connection.execute(sa.delete(table).where(owner == owner_id))
    rows = [{owner.name: owner_id, "PARAM_KEY": key, "PARAM_VALUE": value} for key, value in values.items()]
    if rows:
        connection.execute(sa.insert(table), rows)


def storage_ids(connection: sa.Connection, tables: Tables, which: sa.ColumnElement[bool]) -> list[int]:
    """The storage that partitions have of their own."""
    parts = tables.partitions
    return list(connection.scalars(sa.select(parts.c.SD_ID).where(which, parts.c.SD_ID.is_not(None))))


def delete_storage(connection: sa.Connection, tables: Tables, ids: Sequence[int]) -> None:
    """Remove storage that nothing refers to any more, with the columns described there."""
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        connection.execute(sa.delete(tables.storage).where(tables.storage.c.SD_ID.in_(chunk)))


def same_but_case(name: str, names: Iterable[str]) -> str | None:
    """The only name that is the same in another case; None if there is none or more than one."""
    same = [known for known in names if known.lower() == name.lower()]
    return same[0] if len(same) == 1 else None
