"""The Hive catalog: Iceberg tables in a metastore, registered as other engines expect them.

A table is external, says `table_type = ICEBERG` and points at its metadata file by `metadata_location`. A commit moves
that pointer while holding the metastore's lock on the table, and asks the metastore to change it only if it still is
what it was (newer metastores do, older ones rely on the lock). Names are the metastore's: it may fold their case.

Spec: "Metastore Tables".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from skipstone.catalog.identifiers import Identifier, Namespace, check_identifier, check_namespace, display
from skipstone.catalog.locations import location_under
from skipstone.catalog.metadata_store import MetadataStore, check_same_table, next_metadata_location
from skipstone.catalog.protocol import LoadedTable
from skipstone.errors import (
    AlreadyExists,
    CommitOutcomeUnknown,
    CommitRejected,
    FormatViolation,
    InvalidInput,
    NotFound,
    SkipstoneError,
    Unsupported,
    what_exists,
)
from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.client import HiveClient
from skipstone.hive.errors import MetastoreError
from skipstone.hive.iceberg_tables import (
    METADATA_LOCATION,
    MODIFIED,
    PREVIOUS_METADATA_LOCATION,
    check_columns,
    expecting,
    is_iceberg,
    new_table,
    updated_table,
)
from skipstone.hive.table_lock import locked, rejected
from skipstone.hive.thrift import Struct, api
from skipstone.lake import Lake
from skipstone.metadata.blobs.encryption import KeyManagement
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage import absolute_location, storage_for
from skipstone.storage.keyed import with_keys
from skipstone.storage.protocol import Storage


class HiveCatalog:
    """Tables of a metastore. Without `uses_locks` the metastore must check parameters itself (Hive 2.3.10, 4.0)."""

    def __init__(self, uri: str, *, warehouse: str, storage: Storage, uses_locks: bool = True) -> None:
        self._client = HiveClient(uri)
        self._warehouse = absolute_location(warehouse)
        self._storage = storage
        self._uses_locks = uses_locks
        self._store = MetadataStore(storage, is_unique=True)

    def __repr__(self) -> str:
        return f"HiveCatalog({self._client.uri!r}, warehouse={self._warehouse!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_reopen, (self._client.uri, self._warehouse, self._storage, self._uses_locks))

    @property
    def warehouse(self) -> str:
        return self._warehouse

    @property
    def storage(self) -> Storage:
        return self._storage

    def close(self) -> None:
        self._client.close()

    # -- namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        name = _one_level(namespace)
        given = dict(properties or {})
        database = api.Database(
            name=name,
            description=given.pop("comment", None),
            locationUri=given.pop("location", None) or location_under(self._warehouse, (f"{name}.db",)),
            parameters=given,
        )
        try:
            self._client.call("create_database", database=database)
        except AlreadyExists:
            raise AlreadyExists(f"Cannot create namespace {name}: there is one of this name.") from None
        except InvalidInput as error:
            raise _refused(f"create namespace {name!r}", error) from None

    def drop_namespace(self, namespace: Namespace) -> None:
        self._database(namespace)
        tables = self._client.call("get_all_tables", db_name=namespace[0])
        if tables:
            raise InvalidInput(
                f"Cannot drop namespace {display(namespace)}: expected it to be empty, got {len(tables)} tables and "
                f"0 namespaces in it. Drop those first."
            )
        self._client.call("drop_database", name=namespace[0], deleteData=False, cascade=False)

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            self._database(parent)
            return []
        return sorted((name,) for name in self._client.call("get_all_databases"))

    def namespace_exists(self, namespace: Namespace) -> bool:
        if len(namespace) != 1:
            return False
        try:
            self._client.call("get_database", name=namespace[0])
        except NotFound:
            return False
        return True

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        database = self._database(namespace)
        found: dict[str, str] = dict(database.parameters or {})
        if database.locationUri:
            found["location"] = database.locationUri
        # As a parameter there is only what an old metastore did not take as the description.
        comment = found.pop("comment", database.description)
        return {**found, "comment": comment} if comment else found

    def update_namespace_properties(
        self, namespace: Namespace, updates: Mapping[str, str] | None = None, removals: Iterable[str] = ()
    ) -> None:
        database = self._database(namespace)
        gone, new = set(removals), dict(updates or {})
        if both := sorted(gone & new.keys()):
            raise InvalidInput(
                f"Cannot update namespace {display(namespace)}: expected each key once, got {', '.join(both)} "
                f"both to set and to remove."
            )
        parameters = dict(database.parameters or {})
        comment = parameters.pop("comment", database.description)
        kept = {key: value for key, value in parameters.items() if key not in gone}
        database.locationUri = new.pop("location", database.locationUri)
        database.description = new.pop("comment", None if "comment" in gone else comment)
        database.parameters = {**kept, **new}
        self._alter_database(namespace, database)

    def _alter_database(self, namespace: Namespace, wanted: Any) -> None:
        """Change what can be changed: Hive 2 takes parameters only, and says nothing of the rest."""
        self._client.call("alter_database", dbname=namespace[0], db=wanted)
        got = self._database(namespace)
        if (got.description or "") != (wanted.description or ""):
            got.parameters = {**wanted.parameters, "comment": wanted.description or ""}
            self._client.call("alter_database", dbname=namespace[0], db=got)
        if _plain(got.locationUri or "") != _plain(wanted.locationUri or ""):
            raise Unsupported(
                f"Cannot move namespace {display(namespace)} to {wanted.locationUri}: the metastore leaves it at "
                f"{got.locationUri}. Its other properties were changed."
            )

    def default_location(self, identifier: Identifier) -> str:
        base = self._database(identifier[:-1]).locationUri
        return location_under(self._warehouse, identifier, namespace_location=_plain(base) if base else None)

    # -- tables

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        """The Iceberg tables; a metastore has others too."""
        self._database(namespace)
        names = self._client.call("get_all_tables", db_name=namespace[0])
        found = self._client.tables(namespace[0], names) if names else []
        return sorted((*namespace, table.tableName) for table in found if is_iceberg(table))

    def table_exists(self, identifier: Identifier) -> bool:
        return len(identifier) == 2 and (table := self._find(identifier)) is not None and is_iceberg(table)

    def load(self, identifier: Identifier) -> LoadedTable:
        _check(identifier)
        return self._loaded(identifier, _pointer(identifier, self._require(identifier)))

    def publish(self, identifier: Identifier, base: LoadedTable | None, metadata: TableMetadata) -> LoadedTable:
        table = display(_check(identifier))
        if base is None:
            self._database(identifier[:-1])
            if self._find(identifier) is not None:
                raise _name_taken("create", table)
        else:
            check_same_table(base.metadata, metadata, table=table)
        check_columns(metadata.current_schema, table=table)
        location, is_gzip = next_metadata_location(base.metadata_location if base else None, metadata)
        self._store.store(location, metadata, is_gzip=is_gzip)
        try:
            if base is None:
                self._create(identifier, location, metadata, verb="create")
            else:
                self._swap(identifier, base, location, metadata)
        except (CommitRejected, AlreadyExists, InvalidInput, NotFound):
            # Definitely not published, so nothing points at the file. After anything else something may.
            self._store.forget(location)
            raise
        return LoadedTable(identifier=identifier, metadata_location=location, metadata=metadata)

    def register(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        _check(identifier)
        self._database(identifier[:-1])
        loaded = self._loaded(identifier, metadata_location)
        check_columns(loaded.metadata.current_schema, table=display(identifier))
        self._create(identifier, metadata_location, loaded.metadata, verb="register")
        return loaded

    def rename(self, old: Identifier, new: Identifier) -> None:
        _check(old)
        _check(new)
        self._database(new[:-1])
        _check_kind(old, self._require(old))
        if self._find(new) is not None:
            raise _name_taken(f"rename {display(old)} to", display(new))
        with self._locked(old):
            # Read under the lock, and expected to be so still: an older entry would undo a commit in between.
            table = self._require(old)
            context = expecting(_pointer(old, table))
            table.dbName, table.tableName = new[0], new[1]
            try:
                self._change(old, table, context)
            except InvalidInput as error:
                raise _refused(f"rename table {display(old)} to {display(new)}", error) from None
            except MetastoreError as error:
                if MODIFIED in str(error):
                    raise rejected(old, f"the metastore says: {error}") from error
                raise

    def drop(self, identifier: Identifier) -> None:
        _check(identifier)
        _check_kind(identifier, self._require(identifier))
        with self._locked(identifier):
            self._client.call(
                "drop_table_with_environment_context", dbname=identifier[0], name=identifier[1], deleteData=False
            )

    def _create(self, identifier: Identifier, location: str, metadata: TableMetadata, *, verb: str) -> None:
        table = new_table(identifier, location, metadata)
        try:
            self._client.call("create_table", tbl=table)
        except AlreadyExists:
            raise _name_taken(verb, display(identifier)) from None
        except InvalidInput as error:
            raise _refused(f"{verb} table {display(identifier)}", error) from None
        except (ConnectionError, MetastoreError) as error:
            self._settle_unknown(identifier, location, error)

    def _swap(self, identifier: Identifier, base: LoadedTable, location: str, metadata: TableMetadata) -> None:
        expected = base.metadata_location
        with self._locked(identifier):
            try:
                now = self._find(identifier)
            except (ConnectionError, MetastoreError) as error:
                # Nothing was asked for yet, so nothing can have happened.
                raise rejected(identifier, f"the metastore does not say where the table is: {error}") from error
            got = None if now is None else (now.parameters or {}).get(METADATA_LOCATION)
            if now is None or got != expected:
                found = "no such table, it was dropped or renamed" if now is None else f"{got or 'none'}"
                raise rejected(identifier, f"expected current metadata {expected}, got {found}")
            changed = updated_table(now, location, metadata, base.metadata)
            changed.parameters[PREVIOUS_METADATA_LOCATION] = expected
            # Statistics in the metastore are of the rows before this commit.
            changed.parameters.pop(ACCURATE, None)
            self._alter(identifier, changed, expecting(expected), location)

    def _alter(self, identifier: Identifier, table: Struct, context: dict[str, str], location: str) -> None:
        try:
            self._change(identifier, table, context)
        except (ConnectionError, MetastoreError) as error:
            if isinstance(error, MetastoreError) and MODIFIED in str(error):
                raise rejected(identifier, f"the metastore says: {error}") from error
            self._settle_unknown(identifier, location, error)

    def _change(self, identifier: Identifier, table: Struct, context: dict[str, str]) -> None:
        self._client.call(
            "alter_table_with_environment_context",
            dbname=identifier[0],
            tbl_name=identifier[1],
            new_tbl=table,
            environment_context=api.EnvironmentContext(properties=context),
        )

    def _settle_unknown(self, identifier: Identifier, location: str, error: Exception) -> None:
        """After an answer that was lost: the commit happened if the pointer is ours."""
        with suppress(SkipstoneError, OSError):
            table = self._find(identifier)
            if table is not None and (table.parameters or {}).get(METADATA_LOCATION) == location:
                return
        raise CommitOutcomeUnknown(
            f"Cannot commit to {display(identifier)}: the metastore did not say whether it did: {error}. "
            f"Load the table again to see; the new files are kept."
        ) from error

    def _locked(self, identifier: Identifier) -> AbstractContextManager[None]:
        return locked(self._client, identifier) if self._uses_locks else nullcontext()

    def _loaded(self, identifier: Identifier, location: str) -> LoadedTable:
        metadata = self._store.load(location, table=display(identifier))
        return LoadedTable(identifier=identifier, metadata_location=location, metadata=metadata)

    def _find(self, identifier: Identifier) -> Any:
        try:
            return self._client.table(identifier[0], identifier[1])
        except NotFound:
            return None

    def _require(self, identifier: Identifier) -> Any:
        table = self._find(identifier)
        if table is None:
            self._database(identifier[:-1])
            names = [name[-1] for name in self.list_tables(identifier[:-1])]
            raise NotFound(
                f"Cannot find table {display(identifier)}. "
                f"{what_exists(f'Tables of {identifier[0]}', identifier[-1], names)}"
            )
        return table

    def _database(self, namespace: Namespace) -> Any:
        name = _one_level(namespace)
        try:
            return self._client.call("get_database", name=name)
        except NotFound:
            known = sorted(self._client.call("get_all_databases"))
            raise NotFound(f"Cannot find namespace {name}. {what_exists('Namespaces', name, known)}") from None


def open_hive_catalog(
    uri: str,
    *,
    warehouse: str,
    options: Mapping[str, str] | None = None,
    uses_locks: bool = True,
    kms: KeyManagement | None = None,
) -> Lake:
    """A metastore's catalog with the verbs that make and find tables."""
    storage = with_keys(storage_for(options), kms)
    return Lake(HiveCatalog(uri, warehouse=absolute_location(warehouse), storage=storage, uses_locks=uses_locks))


def _reopen(uri: str, warehouse: str, storage: Storage, uses_locks: bool) -> HiveCatalog:
    return HiveCatalog(uri, warehouse=warehouse, storage=storage, uses_locks=uses_locks)


def _check_kind(identifier: Identifier, table: Any) -> None:
    if not is_iceberg(table):
        kind = (table.parameters or {}).get("table_type") or table.tableType
        raise NotFound(f"Cannot load table {display(identifier)}: expected an Iceberg table, got {kind}.")


def _pointer(identifier: Identifier, table: Any) -> str:
    _check_kind(identifier, table)
    location = (table.parameters or {}).get(METADATA_LOCATION)
    if not location:
        raise FormatViolation(
            f"Invalid metastore entry of table {display(identifier)}: expected a {METADATA_LOCATION}, got none."
        )
    return str(location)


def _check(identifier: Identifier) -> Identifier:
    check_identifier(identifier)
    _one_level(identifier[:-1])
    return identifier


def _one_level(namespace: Namespace) -> str:
    if not namespace:
        raise InvalidInput("Invalid namespace (): expected at least one level.")
    check_namespace(namespace)
    if len(namespace) > 1:
        raise InvalidInput(f"Invalid namespace {display(namespace)}: expected one level, a metastore has no others.")
    return namespace[0]


def _plain(location: str) -> str:
    """A local location without its scheme, which a metastore adds in a form of its own."""
    return location.removeprefix("file:").replace("//", "/") if location.startswith("file:") else location


def _refused(what: str, error: InvalidInput) -> InvalidInput:
    return InvalidInput(f"Cannot {what}: the metastore says: {error}. It takes letters, digits and underscores.")


def _name_taken(verb: str, table: str) -> AlreadyExists:
    return AlreadyExists(f"Cannot {verb} table {table}: the name is taken. Choose another name, or load the table.")
