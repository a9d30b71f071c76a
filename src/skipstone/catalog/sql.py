"""The SQL catalog: a row per table, pointing at its metadata file.

Publishing writes the metadata file under a new unique name, then moves the row's pointer from the old file to the new
one in a single statement that names both: of two writers exactly one finds the old pointer. PyIceberg's SqlCatalog
and Iceberg Java's JdbcCatalog do the same on the same tables.

Spec: "Metastore Tables".
"""

from __future__ import annotations

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.catalog.identifiers import Identifier, check_identifier, display
from skipstone.catalog.locations import place_of
from skipstone.catalog.metadata_store import MetadataStore, check_same_table, next_metadata_location
from skipstone.catalog.protocol import LoadedTable
from skipstone.catalog.sql_namespaces import SqlNamespaces
from skipstone.catalog.sql_schema import TABLE_TYPE, TABLES, open_schema
from skipstone.errors import (
    AlreadyExists,
    CommitRejected,
    FormatViolation,
    InvalidInput,
    NotFound,
    what_exists,
)
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.paths import absolute_location
from skipstone.storage.protocol import Storage

_LOCATION_CHARACTERS_MAX = 1000

# What every load and every commit asks for, as text: SQLAlchemy takes longer to put such a statement together than the
# database to answer it. By whether the database tells tables from views.
_ROW = "catalog_name = :catalog AND table_namespace = :namespace AND table_name = :name"
_TABLE_ONLY = {False: "", True: f" AND (iceberg_type = '{TABLE_TYPE}' OR iceberg_type IS NULL)"}
_FIND = {
    has_type: sa.text(f"SELECT metadata_location FROM {TABLES.name} WHERE {_ROW}{only}")
    for has_type, only in _TABLE_ONLY.items()
}
_SWAP = {
    has_type: sa.text(
        f"UPDATE {TABLES.name} SET metadata_location = :location, previous_metadata_location = :expected "
        f"WHERE {_ROW} AND metadata_location = :expected{only}"
    )
    for has_type, only in _TABLE_ONLY.items()
}


class SqlCatalog(SqlNamespaces):
    """Tables in a SQLite file or a PostgreSQL database. `name` keeps several catalogs of one database apart."""

    def __init__(self, uri: str, *, warehouse: str, storage: Storage, name: str = "default") -> None:
        database = Database(uri)
        super().__init__(database, name=name, warehouse=absolute_location(warehouse))
        self._uri = uri
        self._storage = storage
        self._store = MetadataStore(storage, is_unique=True)
        self._knows_types = open_schema(database)

    def __repr__(self) -> str:
        return f"SqlCatalog({str(self._database)!r}, name={self._name!r}, warehouse={self._warehouse!r})"

    def __reduce__(self) -> tuple[object, ...]:
        uri = self._database.uri.render_as_string(hide_password=False)
        return (_reopen, (uri, self._warehouse, self._storage, self._name))

    @property
    def storage(self) -> Storage:
        return self._storage

    def close(self) -> None:
        """Close the connections to the database; the next use opens new ones."""
        self._database.close()

    def list_tables(self, namespace: Identifier) -> list[Identifier]:
        self._require_namespace(namespace)
        query = sa.select(TABLES.c.table_name).where(
            TABLES.c.catalog_name == self._name, TABLES.c.table_namespace == display(namespace), self._is_table()
        )
        with self._database.reading() as connection:
            return sorted((*namespace, name) for name in connection.scalars(query))

    def tables_under(self, location: str) -> list[Identifier]:
        host, path = place_of(location.rstrip("/"))
        columns = TABLES.c.table_namespace, TABLES.c.table_name, TABLES.c.metadata_location
        # Tables of every catalog in this database, for they may share a warehouse.
        query = sa.select(*columns).where(TABLES.c.metadata_location.contains(f"{path}/", autoescape=True))
        with self._database.reading() as connection:
            found = [((*space.split("."), name), place_of(where)) for space, name, where in connection.execute(query)]
        # LIKE finds the path anywhere, and ignores case in some databases.
        return sorted(name for name, (on, there) in found if on == host and there.startswith(f"{path}/"))

    def table_exists(self, identifier: Identifier) -> bool:
        return len(identifier) > 1 and self._pointer(identifier) is not None

    def load(self, identifier: Identifier) -> LoadedTable:
        location = self._pointer(check_identifier(identifier))
        if location is None:
            raise self._no_such_table(identifier)
        if not location:
            raise FormatViolation(
                f"Invalid catalog row of table {display(identifier)}: expected a metadata location, got none."
            )
        return self._loaded(identifier, location)

    def publish(self, identifier: Identifier, base: LoadedTable | None, metadata: TableMetadata) -> LoadedTable:
        table = display(check_identifier(identifier))
        if base is None:
            self._require_namespace(identifier[:-1])
            if self._pointer(identifier) is not None:
                raise _name_taken("create", table)
        else:
            check_same_table(base.metadata, metadata, table=table)
        location, is_gzip = next_metadata_location(base.metadata_location if base else None, metadata)
        _check_length(location)
        self._store.store(location, metadata, is_gzip=is_gzip)
        try:
            if base is None:
                self._insert_table(identifier, location, verb="create")
            else:
                self._swap(identifier, base.metadata_location, location)
        except (CommitRejected, AlreadyExists):
            # Definitely not published, so nothing points at the file. After anything else something may.
            self._store.forget(location)
            raise
        return LoadedTable(identifier=identifier, metadata_location=location, metadata=metadata)

    def register(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        check_identifier(identifier)
        self._require_namespace(identifier[:-1])
        _check_length(metadata_location)
        loaded = self._loaded(identifier, metadata_location)
        self._insert_table(identifier, metadata_location, verb="register")
        return loaded

    def rename(self, old: Identifier, new: Identifier) -> None:
        check_identifier(old)
        check_identifier(new)
        self._require_namespace(new[:-1])
        change = (
            sa.update(TABLES)
            .where(*self._row(old), self._is_table())
            .values(table_namespace=display(new[:-1]), table_name=new[-1])
        )
        try:
            with self._database.writing(f"Cannot rename table {display(old)}") as connection:
                renamed = connection.execute(change).rowcount
        except sa.exc.IntegrityError:
            raise _name_taken(f"rename {display(old)} to", display(new)) from None
        if not renamed:
            raise self._no_such_table(old)

    def drop(self, identifier: Identifier) -> None:
        check_identifier(identifier)
        change = sa.delete(TABLES).where(*self._row(identifier), self._is_table())
        with self._database.writing(f"Cannot drop table {display(identifier)}") as connection:
            dropped = connection.execute(change).rowcount
        if not dropped:
            raise self._no_such_table(identifier)

    def _loaded(self, identifier: Identifier, location: str) -> LoadedTable:
        metadata = self._store.load(location, table=display(identifier))
        return LoadedTable(identifier=identifier, metadata_location=location, metadata=metadata)

    def _pointer(self, identifier: Identifier) -> str | None:
        """The metadata location in the table's row, empty if the row has none, None without a row."""
        query = _FIND[self._has_type()]
        with self._database.reading() as connection:
            found = connection.execute(query, self._key(identifier)).first()
        return None if found is None else found[0] or ""

    def _insert_table(self, identifier: Identifier, location: str, *, verb: str) -> None:
        row: dict[str, str | None] = {
            "catalog_name": self._name,
            "table_namespace": display(identifier[:-1]),
            "table_name": identifier[-1],
            "metadata_location": location,
            "previous_metadata_location": None,
        }
        if self._has_type():
            row["iceberg_type"] = TABLE_TYPE
        try:
            with self._database.writing(f"Cannot {verb} table {display(identifier)}") as connection:
                connection.execute(sa.insert(TABLES).values(row))
        except sa.exc.IntegrityError:
            raise _name_taken(verb, display(identifier)) from None

    def _swap(self, identifier: Identifier, expected: str, location: str) -> None:
        table = display(identifier)
        values = {**self._key(identifier), "expected": expected, "location": location}
        swap = _SWAP[self._has_type()]
        with self._database.writing(f"Cannot commit to {table}") as connection:
            if connection.execute(swap, values).rowcount == 1:
                return
        now = self._pointer(identifier)
        got = "no such table, it was dropped or renamed" if now is None else f"{now or 'none'}"
        raise CommitRejected(
            f"Cannot commit to {table}: expected current metadata {expected}, got {got}. "
            f"Nothing was published. Retry is safe."
        )

    def _row(self, identifier: Identifier) -> tuple[sa.ColumnElement[bool], ...]:
        return (
            TABLES.c.catalog_name == self._name,
            TABLES.c.table_namespace == display(identifier[:-1]),
            TABLES.c.table_name == identifier[-1],
        )

    def _key(self, identifier: Identifier) -> dict[str, str]:
        return {"catalog": self._name, "namespace": display(identifier[:-1]), "name": identifier[-1]}

    def _has_type(self) -> bool:
        """Whether the database tells tables from views. An old one is asked each time: others may have made it new."""
        if not self._knows_types:
            self._knows_types = open_schema(self._database)
        return self._knows_types

    def _is_table(self) -> sa.ColumnElement[bool]:
        if not self._has_type():
            return sa.true()
        return sa.or_(TABLES.c.iceberg_type == TABLE_TYPE, TABLES.c.iceberg_type.is_(None))

    def _no_such_table(self, identifier: Identifier) -> NotFound:
        namespace = identifier[:-1]
        if not self.namespace_exists(namespace):
            return self._no_such_namespace(namespace)
        names = [name[-1] for name in self.list_tables(namespace)]
        return NotFound(
            f"Cannot find table {display(identifier)}. "
            f"{what_exists(f'Tables of {display(namespace)}', identifier[-1], names)}"
        )


def _reopen(uri: str, warehouse: str, storage: Storage, name: str) -> SqlCatalog:
    return SqlCatalog(uri, warehouse=warehouse, storage=storage, name=name)


def _name_taken(verb: str, table: str) -> AlreadyExists:
    return AlreadyExists(f"Cannot {verb} table {table}: the name is taken. Choose another name, or load the table.")


def _check_length(location: str) -> None:
    if len(location) > _LOCATION_CHARACTERS_MAX:
        raise InvalidInput(
            f"Invalid metadata location {location}: expected at most {_LOCATION_CHARACTERS_MAX} characters."
        )
