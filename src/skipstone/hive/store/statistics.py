"""Column statistics in the store: put, get, delete; of a table, of one partition, of many.

A put replaces what there was of the same columns, or merges with it. Either all of a put is stored or nothing.
"""

# ruff: noqa: SIM300 -- a column in capitals is no constant
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.errors import InvalidInput, NotFound, what_exists
from skipstone.hive.accurate import with_columns, without_columns
from skipstone.hive.objects import HiveTable
from skipstone.hive.statistics import ColumnStatistics, merge_statistics
from skipstone.hive.store.layout import ENGINE_DEFAULT, Tables
from skipstone.hive.store.lookups import (
    TableRow,
    parameters,
    partition_id,
    partition_ids,
    put_parameters,
    table_row,
)
from skipstone.hive.store.partitions import CHUNK
from skipstone.hive.store.rows import row_of, statistics_in, value_columns
from skipstone.hive.store.tables import load_table
from skipstone.hive.types import fits

PartitionStatistics = Mapping[str, Sequence[ColumnStatistics]]


class StatisticsRows:
    """The part of the store that keeps column statistics."""

    _database: Database
    _tables: Tables

    def table_statistics(
        self, database: str, table: str, columns: Iterable[str] | None = None, *, engine: str = ENGINE_DEFAULT
    ) -> list[ColumnStatistics]:
        """The statistics there are of these columns, or of all."""
        own = self._tables.table_statistics
        with self._database.reading() as connection:
            row = table_row(connection, self._tables, database, table)
            names = self._column_names(load_table(connection, self._tables, row), columns)
            where = (own.c.TBL_ID == row.table_id, own.c.COLUMN_NAME.in_(names), *self._of_engine(own, engine))
            found = connection.execute(sa.select(*value_columns(own)).where(*where)).mappings()
            return sorted((statistics_in(r, self._tables.layout) for r in found), key=lambda s: names.index(s.column))

    def partition_statistics(
        self,
        database: str,
        table: str,
        partitions: Sequence[str],
        columns: Iterable[str] | None = None,
        *,
        engine: str = ENGINE_DEFAULT,
    ) -> dict[str, list[ColumnStatistics]]:
        """The statistics there are, by partition; partitions that do not exist or have none are left out."""
        by_name: dict[str, list[ColumnStatistics]] = {}
        for name, row in self.partition_rows(database, table, partitions, columns, engine=engine):
            by_name.setdefault(name, []).append(statistics_in(row, self._tables.layout))
        return by_name

    def partition_rows(
        self,
        database: str,
        table: str,
        partitions: Sequence[str],
        columns: Iterable[str] | None = None,
        *,
        engine: str = ENGINE_DEFAULT,
    ) -> Iterator[tuple[str, Mapping[Any, Any]]]:
        """Rows of statistics with their partition's name, those of one partition together."""
        parts = self._tables.partition_statistics
        with self._database.reading() as connection:
            row = table_row(connection, self._tables, database, table)
            names = self._column_names(load_table(connection, self._tables, row), columns)
            known = partition_ids(connection, self._tables, row)
            ids = {known[name]: name for name in partitions if name in known}
            wanted = sa.select(parts.c.PART_ID, *value_columns(parts)).where(*self._of_engine(parts, engine))
            if columns is not None:
                wanted = wanted.where(parts.c.COLUMN_NAME.in_(names))
            for chunk in _chunks(list(ids)):
                query = wanted.where(parts.c.PART_ID.in_(chunk)).order_by(parts.c.PART_ID, parts.c.COLUMN_NAME)
                for found in connection.execute(query).mappings():
                    yield ids[found["PART_ID"]], found

    def last_analyzed(
        self, database: str, table: str, column: str, partition: str | None = None, *, engine: str = ENGINE_DEFAULT
    ) -> int | None:
        """When a column's statistics were stored, in seconds since 1970; None where there are none."""
        tables = self._tables
        with self._database.reading() as connection:
            row = table_row(connection, tables, database, table)
            names = self._column_names(load_table(connection, tables, row), [column])
            if partition is None:
                held, owner = tables.table_statistics, tables.table_statistics.c.TBL_ID == row.table_id
            else:
                held = tables.partition_statistics
                owner = held.c.PART_ID == partition_id(connection, tables, row, partition)
            where = (owner, held.c.COLUMN_NAME.in_(names), *self._of_engine(held, engine))
            found: int | None = connection.scalar(sa.select(sa.func.max(held.c.LAST_ANALYZED)).where(*where))
            return found

    def put_table_statistics(
        self,
        database: str,
        table: str,
        statistics: Sequence[ColumnStatistics],
        *,
        now: int,
        engine: str = ENGINE_DEFAULT,
        is_merged: bool = False,
    ) -> None:
        with self._database.writing(f"Cannot store statistics of {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            described = load_table(connection, self._tables, row)
            named = self._checked(described, statistics)
            own = self._tables.table_statistics
            if is_merged:
                named = self._merged(connection, own, {row.table_id: named}, engine)[row.table_id]
            self._replace(connection, own, row, {row.table_id: (None, named)}, now=now, engine=engine)
            accurate = with_columns(described.parameters, (s.column for s in named))
            put_parameters(connection, self._tables.table_parameters, row.table_id, accurate)

    def put_partition_statistics(
        self,
        database: str,
        table: str,
        statistics: PartitionStatistics,
        *,
        now: int,
        engine: str = ENGINE_DEFAULT,
        is_merged: bool = False,
    ) -> None:
        """Store the statistics of many partitions, all or none."""
        parts = self._tables.partition_statistics
        with self._database.writing(f"Cannot store statistics of {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            described = load_table(connection, self._tables, row)
            ids = self._ids(connection, row, statistics)
            named = {ids[name]: self._checked(described, values) for name, values in statistics.items()}
            if is_merged:
                named = self._merged(connection, parts, named, engine)
            by_id = {ids[name]: (name, named[ids[name]]) for name in statistics}
            self._replace(connection, parts, row, by_id, now=now, engine=engine)
            self._mark_accurate(connection, named)

    def delete_table_statistics(
        self, database: str, table: str, columns: Iterable[str] | None = None, *, engine: str | None = None
    ) -> None:
        """Remove the statistics of these columns, or of all. A column that has none is not found."""
        own = self._tables.table_statistics
        with self._database.writing(f"Cannot delete statistics of {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            described = load_table(connection, self._tables, row)
            names = self._column_names(described, columns, is_strict=columns is not None)
            gone = self._delete(connection, own, [row.table_id], names, engine)
            if columns is not None and not gone:
                raise NotFound(
                    f"Cannot find statistics of column {', '.join(names)} of {row.database}.{row.name}. "
                    f"Compute them first."
                )
            changed = without_columns(described.parameters, names)
            put_parameters(connection, self._tables.table_parameters, row.table_id, changed)

    def delete_partition_statistics(
        self,
        database: str,
        table: str,
        partitions: Sequence[str],
        columns: Iterable[str] | None = None,
        *,
        engine: str | None = None,
    ) -> None:
        parts = self._tables.partition_statistics
        with self._database.writing(f"Cannot delete statistics of {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            described = load_table(connection, self._tables, row)
            names = self._column_names(described, columns, is_strict=columns is not None)
            ids = [partition_id(connection, self._tables, row, name) for name in partitions]
            gone = self._delete(connection, parts, ids, names, engine)
            if columns is not None and not gone:
                raise NotFound(
                    f"Cannot find statistics of column {', '.join(names)} of partition {', '.join(partitions)} of "
                    f"{row.database}.{row.name}. Compute them first."
                )
            held = self._tables.partition_parameters
            for part_id in ids:
                changed = without_columns(parameters(connection, held, part_id), names)
                put_parameters(connection, held, part_id, changed)

    def _ids(self, connection: sa.Connection, row: TableRow, statistics: PartitionStatistics) -> dict[str, int]:
        known = partition_ids(connection, self._tables, row)
        for name in statistics:
            if name not in known:
                raise NotFound(
                    f"Cannot find partition {name} of {row.database}.{row.name}. "
                    f"{what_exists('Partitions', name, sorted(known))}"
                )
        return known

    def _checked(self, table: HiveTable, statistics: Sequence[ColumnStatistics]) -> list[ColumnStatistics]:
        """The statistics under the names that the columns have, each column once."""
        named: dict[str, ColumnStatistics] = {}
        for one in statistics:
            column = self._column_names(table, [one.column], is_strict=True)[0]
            own = table.column(column)
            if own is not None and not fits(one.kind, own.type):
                raise InvalidInput(
                    f"Cannot store statistics of column {column!r} of {table.database}.{table.name}: expected those of "
                    f"its type {own.type}, got {one.kind.value}."
                )
            if column in named:
                raise InvalidInput(f"Cannot store statistics of column {column!r}: expected one object, got two.")
            named[column] = _renamed(one.checked(), column)
        return list(named.values())

    def _column_names(self, table: HiveTable, columns: Iterable[str] | None, *, is_strict: bool = False) -> list[str]:
        if columns is None:
            return [column.name for column in table.columns]
        names = []
        for wanted in columns:
            column = table.column(wanted)
            if column is not None:
                names.append(column.name)
            elif is_strict:
                known = [c.name for c in table.columns]
                raise NotFound(
                    f"Cannot find column {wanted!r} in {table.database}.{table.name}. "
                    f"{what_exists('Columns', wanted, known)}"
                )
        return names

    def _merged(
        self, connection: sa.Connection, table: sa.Table, new: Mapping[int, list[ColumnStatistics]], engine: str
    ) -> dict[int, list[ColumnStatistics]]:
        owner = table.c.TBL_ID if "TBL_ID" in table.c else table.c.PART_ID
        old: dict[tuple[int, str], ColumnStatistics] = {}
        for chunk in _chunks(list(new)):
            query = sa.select(owner, *value_columns(table)).where(owner.in_(chunk), *self._of_engine(table, engine))
            for row in connection.execute(query).mappings():
                old[row[owner.name], row["COLUMN_NAME"]] = statistics_in(row, self._tables.layout)
        return {
            number: [
                merge_statistics([before, one]) if (before := old.get((number, one.column))) is not None else one
                for one in values
            ]
            for number, values in new.items()
        }

    def _replace(
        self,
        connection: sa.Connection,
        table: sa.Table,
        row: TableRow,
        by_owner: Mapping[int, tuple[str | None, list[ColumnStatistics]]],
        *,
        now: int,
        engine: str,
    ) -> None:
        layout = self._tables.layout
        columns = sorted({one.column for _, values in by_owner.values() for one in values})
        self._delete_exact(connection, table, by_owner, columns, engine)
        owner = "TBL_ID" if "TBL_ID" in table.c else "PART_ID"
        fixed: dict[str, Any] = {"LAST_ANALYZED": now}
        if layout.has_engine:
            fixed["ENGINE"] = engine
        if layout.has_names:
            fixed |= {"DB_NAME": row.database, "TABLE_NAME": row.name}
        if "CAT_NAME" in table.c:
            fixed["CAT_NAME"] = "hive"
        part = next((n for n in ("PARTITION_NAME", "PART_NAME") if n in table.c), None)
        rows = [
            {**row_of(one, layout), **fixed, owner: number, **({part: name} if part else {})}
            for number, (name, values) in by_owner.items()
            for one in values
        ]
        if rows:
            connection.execute(sa.insert(table), rows)

    def _delete_exact(
        self,
        connection: sa.Connection,
        table: sa.Table,
        by_owner: Mapping[int, tuple[str | None, list[ColumnStatistics]]],
        columns: list[str],
        engine: str,
    ) -> None:
        """Remove the rows that will be written again, and no other."""
        same: dict[tuple[str, ...], list[int]] = {}
        for number, (_, values) in by_owner.items():
            same.setdefault(tuple(sorted(one.column for one in values)), []).append(number)
        for names, ids in same.items():
            self._delete(connection, table, ids, names, engine)

    def _delete(
        self, connection: sa.Connection, table: sa.Table, ids: list[int], columns: Iterable[str], engine: str | None
    ) -> int:
        owner = table.c.TBL_ID if "TBL_ID" in table.c else table.c.PART_ID
        names, gone = list(columns), 0
        for chunk in _chunks(ids):
            where: list[sa.ColumnElement[bool]] = [owner.in_(chunk), table.c.COLUMN_NAME.in_(names)]
            if engine is not None:
                where += self._of_engine(table, engine)
            gone += connection.execute(sa.delete(table).where(*where)).rowcount
        return gone

    def _mark_accurate(self, connection: sa.Connection, named: Mapping[int, list[ColumnStatistics]]) -> None:
        held = self._tables.partition_parameters
        before: dict[int, dict[str, str]] = {number: {} for number in named}
        for chunk in _chunks(list(named)):
            query = sa.select(held).where(held.c.PART_ID.in_(chunk), held.c.PARAM_KEY == "COLUMN_STATS_ACCURATE")
            for row in connection.execute(query).mappings():
                before[row["PART_ID"]] = {row["PARAM_KEY"]: row["PARAM_VALUE"]}
            connection.execute(
                sa.delete(held).where(held.c.PART_ID.in_(chunk), held.c.PARAM_KEY == "COLUMN_STATS_ACCURATE")
            )
        rows = [
            {"PART_ID": number, "PARAM_KEY": key, "PARAM_VALUE": value}
            for number, values in named.items()
            for key, value in with_columns(before[number], (one.column for one in values)).items()
        ]
        if rows:
            connection.execute(sa.insert(held), rows)

    def _of_engine(self, table: sa.Table, engine: str) -> list[sa.ColumnElement[bool]]:
        return [table.c.ENGINE == engine] if self._tables.layout.has_engine else []


def _renamed(statistics: ColumnStatistics, column: str) -> ColumnStatistics:
    return statistics if statistics.column == column else replace(statistics, column=column)


def _chunks(ids: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]
