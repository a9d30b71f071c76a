"""Namespaces of a SQL catalog: those with properties, and those that a table or another namespace lies in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.catalog.identifiers import Identifier, Namespace, check_namespace, display
from skipstone.catalog.locations import location_under
from skipstone.catalog.sql_schema import EXISTS_KEY, NAMESPACE_PROPERTIES, PROPERTY_CHARACTERS_MAX, TABLES
from skipstone.errors import AlreadyExists, InvalidInput, NotFound, what_exists

_PROPERTIES = NAMESPACE_PROPERTIES.c


class SqlNamespaces:
    """The half of the SQL catalog that knows no tables."""

    def __init__(self, database: Database, *, name: str, warehouse: str) -> None:
        self._database = database
        self._name = name
        self._warehouse = warehouse

    @property
    def warehouse(self) -> str:
        return self._warehouse

    @property
    def name(self) -> str:
        """What keeps this catalog apart from others in the same database."""
        return self._name

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        _require_levels(namespace)
        wanted = _checked(properties or {})
        try:
            with self._database.writing(f"Cannot create namespace {display(namespace)}") as connection:
                if self._known(connection, namespace):
                    raise _name_taken(namespace)
                self._insert_properties(connection, namespace, {EXISTS_KEY: "true", **wanted})
        except sa.exc.IntegrityError:
            raise _name_taken(namespace) from None

    def drop_namespace(self, namespace: Namespace) -> None:
        self._require_namespace(namespace)
        name = display(namespace)
        with self._database.writing(f"Cannot drop namespace {name}") as connection:
            held = sa.select(sa.func.count()).where(
                TABLES.c.catalog_name == self._name, TABLES.c.table_namespace == name
            )
            tables = connection.scalar(held) or 0
            children = {ns for ns in self._namespaces(connection, namespace) if ns != namespace}
            if tables or children:
                raise InvalidInput(
                    f"Cannot drop namespace {name}: expected it to be empty, got {tables} tables and {len(children)} "
                    f"namespaces in it. Drop those first."
                )
            connection.execute(sa.delete(NAMESPACE_PROPERTIES).where(*self._rows(namespace)))

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            self._require_namespace(parent)
        depth = len(parent) + 1
        with self._database.reading() as connection:
            return sorted({ns[:depth] for ns in self._namespaces(connection, parent) if len(ns) >= depth})

    def namespace_exists(self, namespace: Namespace) -> bool:
        if not namespace:
            return False
        with self._database.reading() as connection:
            return self._known(connection, namespace)

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        with self._database.reading() as connection:
            query = sa.select(_PROPERTIES.property_key, _PROPERTIES.property_value).where(*self._rows(namespace))
            found = {key: value for key, value in connection.execute(query) if key != EXISTS_KEY}
            is_known = bool(found) or self._known(connection, namespace)
        if not is_known:
            raise self._no_such_namespace(namespace)
        return found

    def update_namespace_properties(
        self, namespace: Namespace, updates: Mapping[str, str] | None = None, removals: Iterable[str] = ()
    ) -> None:
        self._require_namespace(namespace)
        wanted, gone = _checked(updates or {}), set(removals)
        if both := sorted(gone & wanted.keys()):
            raise InvalidInput(
                f"Cannot update namespace {display(namespace)}: expected each key once, got {', '.join(both)} "
                f"both to set and to remove."
            )
        with self._database.writing(f"Cannot update namespace {display(namespace)}") as connection:
            replaced = sorted((gone | wanted.keys()) - {EXISTS_KEY})
            connection.execute(
                sa.delete(NAMESPACE_PROPERTIES).where(*self._rows(namespace), _PROPERTIES.property_key.in_(replaced))
            )
            # A namespace whose last property goes must not go with it.
            present = sa.select(_PROPERTIES.property_key).where(
                *self._rows(namespace), _PROPERTIES.property_key == EXISTS_KEY
            )
            kept = {} if connection.scalar(present) else {EXISTS_KEY: "true"}
            self._insert_properties(connection, namespace, {**kept, **wanted})

    def default_location(self, identifier: Identifier) -> str:
        base = self.namespace_properties(identifier[:-1]).get("location")
        return location_under(self._warehouse, identifier, namespace_location=base)

    def _insert_properties(
        self, connection: sa.Connection, namespace: Namespace, properties: Mapping[str, str]
    ) -> None:
        rows = [
            {
                "catalog_name": self._name,
                "namespace": display(namespace),
                "property_key": key,
                "property_value": value,
            }
            for key, value in properties.items()
        ]
        if rows:
            connection.execute(sa.insert(NAMESPACE_PROPERTIES), rows)

    def _rows(self, namespace: Namespace) -> tuple[sa.ColumnElement[bool], ...]:
        return (_PROPERTIES.catalog_name == self._name, _PROPERTIES.namespace == display(namespace))

    def _known(self, connection: sa.Connection, namespace: Namespace) -> bool:
        return next(iter(self._namespaces(connection, namespace)), None) is not None

    def _namespaces(self, connection: sa.Connection, parent: Namespace) -> set[Namespace]:
        """The namespaces that have a row, at and under a parent."""
        found: set[Namespace] = set()
        for table, column in ((TABLES, TABLES.c.table_namespace), (NAMESPACE_PROPERTIES, _PROPERTIES.namespace)):
            query = sa.select(column).distinct().where(table.c.catalog_name == self._name)
            if parent:
                name = display(parent)
                query = query.where(sa.or_(column == name, column.startswith(name + ".", autoescape=True)))
            found |= {tuple(text.split(".")) for text in connection.scalars(query)}
        # LIKE ignores case in some databases.
        return {namespace for namespace in found if namespace[: len(parent)] == parent}

    def _require_namespace(self, namespace: Namespace) -> None:
        _require_levels(namespace)
        if not self.namespace_exists(namespace):
            raise self._no_such_namespace(namespace)

    def _no_such_namespace(self, namespace: Namespace) -> NotFound:
        with self._database.reading() as connection:
            known = sorted(display(ns) for ns in self._namespaces(connection, ()))
        name = display(namespace)
        return NotFound(f"Cannot find namespace {name}. {what_exists('Namespaces', name, known)}")


def _require_levels(namespace: Namespace) -> None:
    if not namespace:
        raise InvalidInput("Invalid namespace (): expected at least one level.")
    check_namespace(namespace)


def _checked(properties: Mapping[str, str]) -> dict[str, str]:
    pairs: list[tuple[object, object]] = [*properties.items()]
    for key, value in pairs:
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidInput(f"Invalid namespace property {key!r}: expected text for key and value, got {value!r}.")
        if key == EXISTS_KEY:
            raise InvalidInput(
                f"Invalid namespace property {EXISTS_KEY!r}: expected another key, this one is reserved."
            )
        if not key or len(key) > 255 or len(value) > PROPERTY_CHARACTERS_MAX:
            raise InvalidInput(
                f"Invalid namespace property {key[:60]!r}: expected 1 to 255 characters of key and at most "
                f"{PROPERTY_CHARACTERS_MAX} of value, got {len(key)} and {len(value)}."
            )
    return dict(properties)


def _name_taken(namespace: Namespace) -> AlreadyExists:
    return AlreadyExists(f"Cannot create namespace {display(namespace)}: there is one of this name.")
