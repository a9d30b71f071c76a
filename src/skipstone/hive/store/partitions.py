"""Partitions in the store."""

# ruff: noqa: SIM300 -- a column in capitals is no constant
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.errors import AlreadyExists, InvalidInput
from skipstone.hive.objects import HivePartition, Storage
from skipstone.hive.partition_names import parse_partition_name, partition_name
from skipstone.hive.store.layout import Tables
from skipstone.hive.store.lookups import (
    TableRow,
    delete_storage,
    partition_id,
    partition_ids,
    put_parameters,
    storage_ids,
    table_row,
)
from skipstone.hive.store.tables import insert_storage, load_table, storage_in

CHUNK = 500


class PartitionRows:
    """The part of the store that keeps partitions."""

    _database: Database
    _tables: Tables

    def partition_names(self, database: str, table: str) -> list[str]:
        with self._database.reading() as connection:
            row = table_row(connection, self._tables, database, table)
            return sorted(partition_ids(connection, self._tables, row))

    def partition(self, database: str, table: str, name: str) -> HivePartition:
        with self._database.reading() as connection:
            row = table_row(connection, self._tables, database, table)
            number = partition_id(connection, self._tables, row, name)
            return self._loaded(connection, [number])[number]

    def partitions(self, database: str, table: str, names: Sequence[str] | None = None) -> list[HivePartition]:
        """The partitions of these names that there are, or all of them."""
        with self._database.reading() as connection:
            row = table_row(connection, self._tables, database, table)
            known = partition_ids(connection, self._tables, row)
            wanted = sorted(known) if names is None else [name for name in names if name in known]
            ids = [known[name] for name in wanted]
            found: dict[int, HivePartition] = {}
            for start in range(0, len(ids), CHUNK):
                found |= self._loaded(connection, ids[start : start + CHUNK])
            return [found[number] for number in ids]

    def add_partitions(self, database: str, table: str, partitions: Iterable[HivePartition]) -> None:
        """Add partitions, all or none."""
        try:
            with self._database.writing(f"Cannot add partitions to {database}.{table}") as connection:
                row = table_row(connection, self._tables, database, table)
                keys = [key.name for key in load_table(connection, self._tables, row).partition_keys]
                if not keys:
                    raise InvalidInput(f"Cannot add partitions to {database}.{table}: the table has no partition keys.")
                for partition in partitions:
                    self._insert(connection, row, keys, partition)
        except sa.exc.IntegrityError:
            raise AlreadyExists(f"Cannot add partitions to {database}.{table}: one of them is there already.") from None

    def add_partition_names(self, database: str, table: str, names: Iterable[str]) -> None:
        """Add partitions that have nothing but a name; those that are there stay as they are."""
        with self._database.writing(f"Cannot add partitions to {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            known = partition_ids(connection, self._tables, row)
            rows = [
                {"TBL_ID": row.table_id, "PART_NAME": name, "CREATE_TIME": 0} for name in names if name not in known
            ]
            if rows:
                connection.execute(sa.insert(self._tables.partitions), rows)

    def alter_partitions(self, database: str, table: str, changed: Iterable[HivePartition]) -> None:
        """Make the parameters and storage of partitions what is said of them, all or none."""
        with self._database.writing(f"Cannot change partitions of {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            keys = [key.name for key in load_table(connection, self._tables, row).partition_keys]
            for partition in changed:
                part_id = partition_id(connection, self._tables, row, partition_name(keys, partition.values))
                self._alter(connection, part_id, partition)

    def change_partition_parameters(
        self, database: str, table: str, change: Callable[[str, dict[str, str]], dict[str, str]]
    ) -> None:
        """Make the parameters of every partition what `change` makes of its name and what they are, all or none."""
        held = self._tables.partition_parameters
        with self._database.writing(f"Cannot change partitions of {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            names = {number: name for name, number in partition_ids(connection, self._tables, row).items()}
            ids = list(names)
            for start in range(0, len(ids), CHUNK):
                chunk = ids[start : start + CHUNK]
                before: dict[int, dict[str, str]] = {number: {} for number in chunk}
                for found in connection.execute(sa.select(held).where(held.c.PART_ID.in_(chunk))).mappings():
                    before[found["PART_ID"]][found["PARAM_KEY"]] = found["PARAM_VALUE"] or ""
                after = {number: change(names[number], dict(known)) for number, known in before.items()}
                changed = [number for number in chunk if after[number] != before[number]]
                connection.execute(sa.delete(held).where(held.c.PART_ID.in_(changed)))
                rows = [
                    {"PART_ID": number, "PARAM_KEY": key, "PARAM_VALUE": value}
                    for number in changed
                    for key, value in after[number].items()
                ]
                if rows:
                    connection.execute(sa.insert(held), rows)

    def drop_partitions(self, database: str, table: str, names: Iterable[str]) -> None:
        """Forget partitions with their statistics, all or none."""
        parts = self._tables.partitions
        with self._database.writing(f"Cannot drop partitions of {database}.{table}") as connection:
            row = table_row(connection, self._tables, database, table)
            ids = [partition_id(connection, self._tables, row, name) for name in names]
            for start in range(0, len(ids), CHUNK):
                chosen = parts.c.PART_ID.in_(ids[start : start + CHUNK])
                before = storage_ids(connection, self._tables, chosen)
                connection.execute(sa.delete(parts).where(chosen))
                delete_storage(connection, self._tables, before)

    def _alter(self, connection: sa.Connection, part_id: int, partition: HivePartition) -> None:
        put_parameters(connection, self._tables.partition_parameters, part_id, partition.parameters)
        if partition.storage != Storage():
            parts = self._tables.partitions
            before = storage_ids(connection, self._tables, parts.c.PART_ID == part_id)
            storage_id = insert_storage(connection, self._tables, partition.storage)
            connection.execute(sa.update(parts).where(parts.c.PART_ID == part_id).values(SD_ID=storage_id))
            delete_storage(connection, self._tables, before)

    def _insert(self, connection: sa.Connection, row: TableRow, keys: list[str], partition: HivePartition) -> None:
        has_storage = partition.storage != Storage()
        storage_id = insert_storage(connection, self._tables, partition.storage) if has_storage else None
        made = connection.execute(
            sa.insert(self._tables.partitions).values(
                TBL_ID=row.table_id,
                SD_ID=storage_id,
                PART_NAME=partition_name(keys, partition.values),
                CREATE_TIME=partition.create_time,
            )
        )
        part_id: Any = made.inserted_primary_key[0]  # type: ignore[index]
        put_parameters(connection, self._tables.partition_parameters, part_id, partition.parameters)

    def _loaded(self, connection: sa.Connection, ids: Sequence[int]) -> dict[int, HivePartition]:
        parts, held, sds = self._tables.partitions, self._tables.partition_parameters, self._tables.storage
        parameters: dict[int, dict[str, str]] = {number: {} for number in ids}
        for number, key, value in connection.execute(
            sa.select(held.c.PART_ID, held.c.PARAM_KEY, held.c.PARAM_VALUE).where(held.c.PART_ID.in_(ids))
        ):
            parameters[number][key] = value or ""
        of_parts = sa.select(parts.c.SD_ID).where(parts.c.PART_ID.in_(ids))
        storage = {
            row["SD_ID"]: storage_in(row)
            for row in connection.execute(sa.select(sds).where(sds.c.SD_ID.in_(of_parts))).mappings()
        }
        return {
            row["PART_ID"]: HivePartition(
                values=tuple(parse_partition_name(row["PART_NAME"]).values()),
                parameters=parameters[row["PART_ID"]],
                storage=storage.get(row["SD_ID"], Storage()),
                create_time=row["CREATE_TIME"],
            )
            for row in connection.execute(sa.select(parts).where(parts.c.PART_ID.in_(ids))).mappings()
        }
