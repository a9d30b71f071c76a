"""Databases in the store."""

# ruff: noqa: SIM300 -- a column in capitals is no constant
from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.errors import AlreadyExists, InvalidInput
from skipstone.hive.objects import HiveDatabase
from skipstone.hive.store.layout import Tables
from skipstone.hive.store.lookups import database_id, delete_storage, parameters, put_parameters, storage_ids

Clock = Callable[[], float]


class DatabaseRows:
    """The part of the store that keeps databases."""

    _database: Database
    _tables: Tables

    def database_names(self) -> list[str]:
        with self._database.reading() as connection:
            return sorted(connection.scalars(sa.select(self._tables.databases.c.NAME)))

    def database(self, name: str) -> HiveDatabase:
        dbs = self._tables.databases
        with self._database.reading() as connection:
            db_id, _ = database_id(connection, self._tables, name)
            row = connection.execute(sa.select(dbs).where(dbs.c.DB_ID == db_id)).mappings().one()
            return HiveDatabase(
                name=row["NAME"],
                location=row["DB_LOCATION_URI"],
                description=row["DESC"],
                owner=row["OWNER_NAME"],
                parameters=parameters(connection, self._tables.database_parameters, db_id),
            )

    def create_database(self, database: HiveDatabase) -> None:
        _check_name(database.name, "database")
        try:
            with self._database.writing(f"Cannot create database {database.name}") as connection:
                row = {
                    "NAME": database.name,
                    "DB_LOCATION_URI": database.location,
                    "DESC": database.description,
                    "OWNER_NAME": database.owner,
                }
                made = connection.execute(sa.insert(self._tables.databases).values(row))
                db_id = made.inserted_primary_key[0]  # type: ignore[index]
                put_parameters(connection, self._tables.database_parameters, db_id, database.parameters)
        except sa.exc.IntegrityError:
            raise AlreadyExists(f"Cannot create database {database.name}: there is one of this name.") from None

    def alter_database(self, name: str, database: HiveDatabase) -> None:
        """Change what is known of a database; its name stays."""
        dbs = self._tables.databases
        with self._database.writing(f"Cannot change database {name}") as connection:
            db_id, _ = database_id(connection, self._tables, name)
            changes = {"DB_LOCATION_URI": database.location, "DESC": database.description, "OWNER_NAME": database.owner}
            connection.execute(sa.update(dbs).where(dbs.c.DB_ID == db_id).values(changes))
            put_parameters(connection, self._tables.database_parameters, db_id, database.parameters)

    def drop_database(self, name: str, *, cascade: bool = False) -> None:
        tbls, parts = self._tables.tables, self._tables.partitions
        with self._database.writing(f"Cannot drop database {name}") as connection:
            db_id, stored = database_id(connection, self._tables, name)
            held = list(connection.scalars(sa.select(tbls.c.SD_ID).where(tbls.c.DB_ID == db_id)))
            if held and not cascade:
                raise InvalidInput(
                    f"Cannot drop database {stored}: expected it to be empty, got {len(held)} tables in it."
                )
            within = parts.c.TBL_ID.in_(sa.select(tbls.c.TBL_ID).where(tbls.c.DB_ID == db_id))
            held += storage_ids(connection, self._tables, within)
            connection.execute(sa.delete(self._tables.databases).where(self._tables.databases.c.DB_ID == db_id))
            delete_storage(connection, self._tables, held)


def _check_name(name: str, what: str) -> None:
    if not name or len(name) > 256 or "\0" in name:
        raise InvalidInput(f"Invalid {what} name {name!r}: expected 1 to 256 characters, none of them zero.")
