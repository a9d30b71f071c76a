"""The file system catalog: a directory per namespace and table, and `metadata/v<N>.metadata.json` in it.

To commit, metadata is written to a file of its own and then renamed to the next version's name; the rename never
replaces a file, so of two writers one fails. The version hint is a hint: the search starts there and goes on to the
last version that exists. Safe for all processes of one host, and where renaming is one step for all hosts.

A directory is the table: dropping the table removes it, and there is no renaming and no registering, because every
location in the metadata would have to move along.

Spec: "File System Tables", Appendix F "Naming for GZIP compressed Metadata JSON files".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from skipstone.catalog.identifiers import Identifier, Namespace, check_identifier, check_namespace, display
from skipstone.catalog.locations import location_under
from skipstone.catalog.metadata_store import MetadataStore, check_same_table
from skipstone.catalog.protocol import LoadedTable
from skipstone.catalog.versions import VERSION_HINT, find_current, version_files
from skipstone.errors import (
    AlreadyExists,
    CommitOutcomeUnknown,
    CommitRejected,
    InvalidInput,
    NotFound,
    Unsupported,
    what_exists,
)
from skipstone.metadata.tables.metadata_files import MetadataFileName, parse_metadata_file_name
from skipstone.metadata.tables.properties import METADATA_COMPRESSION, METADATA_PATH, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.paths import absolute_location, canonical, join
from skipstone.storage.protocol import Storage


class FilesystemCatalog:
    """Tables under one warehouse directory."""

    def __init__(self, *, warehouse: str, storage: Storage) -> None:
        self._warehouse = absolute_location(warehouse)
        self._storage = storage
        # Versions count from 1 again after a drop, so a location alone does not tell what is in the file.
        self._store = MetadataStore(storage, is_unique=False)

    def __repr__(self) -> str:
        return f"FilesystemCatalog(warehouse={self._warehouse!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_reopen, (self._warehouse, self._storage))

    @property
    def warehouse(self) -> str:
        return self._warehouse

    @property
    def storage(self) -> Storage:
        return self._storage

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        if properties:
            raise _no_properties(namespace)
        if self.namespace_exists(namespace):
            raise AlreadyExists(f"Cannot create namespace {display(namespace)}: there is one of this name.")
        if self._is_table(self._directory(namespace)):
            raise AlreadyExists(f"Cannot create namespace {display(namespace)}: there is a table of this name.")
        self._storage.make_directory(self._directory(namespace))

    def drop_namespace(self, namespace: Namespace) -> None:
        self._require_namespace(namespace)
        tables, namespaces = self.list_tables(namespace), self.list_namespaces(namespace)
        if tables or namespaces:
            raise InvalidInput(
                f"Cannot drop namespace {display(namespace)}: expected it to be empty, got {len(tables)} tables and "
                f"{len(namespaces)} namespaces in it. Drop those first."
            )
        self._storage.remove_directory(self._directory(namespace))

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            self._require_namespace(parent)
        return [(*parent, name) for name, is_table in self._directories(parent) if not is_table]

    def namespace_exists(self, namespace: Namespace) -> bool:
        if not namespace:
            return False
        siblings = self._storage.children(self._directory(namespace[:-1]))
        is_there = any(child.is_directory and child.name == namespace[-1] for child in siblings)
        return is_there and not self._is_table(self._directory(namespace))

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        self._require_namespace(namespace)
        return {"location": self._directory(namespace)}

    def update_namespace_properties(
        self, namespace: Namespace, updates: Mapping[str, str] | None = None, removals: Iterable[str] = ()
    ) -> None:
        self._require_namespace(namespace)
        if updates or list(removals):
            raise _no_properties(namespace)

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        self._require_namespace(namespace)
        return [(*namespace, name) for name, is_table in self._directories(namespace) if is_table]

    def table_exists(self, identifier: Identifier) -> bool:
        return len(identifier) > 1 and find_current(self._storage, self._metadata_of(identifier)) is not None

    def default_location(self, identifier: Identifier) -> str:
        return location_under(self._warehouse, identifier)

    def load(self, identifier: Identifier) -> LoadedTable:
        location = find_current(self._storage, self._metadata_of(check_identifier(identifier)))
        if location is None:
            raise self._no_such_table(identifier)
        metadata = self._store.load(location, table=display(identifier))
        return LoadedTable(identifier=identifier, metadata_location=location, metadata=metadata)

    def publish(self, identifier: Identifier, base: LoadedTable | None, metadata: TableMetadata) -> LoadedTable:
        table = display(check_identifier(identifier))
        self._check_place(identifier, metadata)
        directory = self._metadata_of(identifier)
        if base is None:
            self._require_namespace(identifier[:-1])
            if find_current(self._storage, directory) is not None:
                raise _name_taken(table)
            self._check_holds_no_tables(identifier)
            # All first versions have one name, whatever their compression, so that one of two creators fails.
            name = MetadataFileName(version=1)
        else:
            check_same_table(base.metadata, metadata, table=table)
            self._check_current(identifier, base)
            # The compression is the base's, not the new one: two writers of one version must meet at one name.
            is_gzip = property_value(base.metadata.properties, METADATA_COMPRESSION) == "gzip"
            name = parse_metadata_file_name(base.metadata_location).next_name(is_gzip=is_gzip)
        location = join(directory, str(name))
        unique = join(directory, f"{uuid.uuid4()}{str(name).removeprefix(f'v{name.version}')}")
        self._store.store(unique, metadata, is_gzip=name.is_gzip)
        self._rename(unique, location, table=table, is_create=base is None)
        self._hint(directory, name.version)
        return LoadedTable(identifier=identifier, metadata_location=location, metadata=metadata)

    def register(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        raise Unsupported(
            f"Cannot register {metadata_location} as {display(identifier)}: in a file system catalog the directory is "
            f"the table. Open it by its metadata file, or register it in a SQL catalog."
        )

    def rename(self, old: Identifier, new: Identifier) -> None:
        raise Unsupported(
            f"Cannot rename {display(old)} to {display(new)}: in a file system catalog the directory is the table. "
            f"Use a SQL catalog to rename tables."
        )

    def drop(self, identifier: Identifier) -> None:
        directory = self._metadata_of(check_identifier(identifier))
        if find_current(self._storage, directory) is None:
            raise self._no_such_table(identifier)
        # Newest first: whoever looks in between sees an older state of the table, never a damaged one.
        self._storage.delete(join(directory, VERSION_HINT))
        for _, path in sorted(version_files(self._storage, directory), reverse=True):
            self._storage.delete(path)
        location = self._directory(identifier)
        self._storage.delete_many([info.path for info in self._storage.list(location)])
        self._storage.remove_directory(location)

    def _rename(self, unique: str, location: str, *, table: str, is_create: bool) -> None:
        try:
            self._storage.move_new(unique, location)
            self._storage.settle()
        except AlreadyExists as error:
            self._store.forget(unique)
            if is_create:
                raise _name_taken(table) from error
            raise CommitRejected(
                f"Cannot commit to {table}: {location} was written by somebody else. Nothing was published. "
                f"Retry is safe."
            ) from error
        except OSError as error:
            raise CommitOutcomeUnknown(
                f"Cannot commit to {table}: renaming to {location} failed without an answer: {error}. "
                f"Load the table again to see; the new files are kept."
            ) from error
        self._store.moved(unique, location)

    def _hint(self, directory: str, version: int) -> None:
        try:
            self._storage.write_over(join(directory, VERSION_HINT), str(version).encode("ascii"))
        except OSError:
            # The commit is done; readers find the version without the hint.
            return

    def _check_current(self, identifier: Identifier, base: LoadedTable) -> None:
        now = find_current(self._storage, self._metadata_of(identifier))
        if now != base.metadata_location:
            got = "no such table, it was dropped" if now is None else now
            raise CommitRejected(
                f"Cannot commit to {display(identifier)}: expected current metadata {base.metadata_location}, "
                f"got {got}. Nothing was published. Retry is safe."
            )
        # After a drop the same name may hold another table.
        if self._store.load(now, table=display(identifier)) != base.metadata:
            raise CommitRejected(
                f"Cannot commit to {display(identifier)}: expected {now} as it was loaded, got another content, the "
                f"table was replaced. Nothing was published. Load the table again."
            )

    def _check_place(self, identifier: Identifier, metadata: TableMetadata) -> None:
        place = self.default_location(identifier)
        if canonical(metadata.location).rstrip("/") != canonical(place):
            raise InvalidInput(
                f"Cannot commit to {display(identifier)}: expected location {place}, got {metadata.location}. "
                f"A table of a file system catalog cannot be elsewhere."
            )
        if property_value(metadata.properties, METADATA_PATH) is not None:
            raise InvalidInput(
                f"Cannot commit to {display(identifier)}: expected no table property {METADATA_PATH.key}. "
                f"A table of a file system catalog keeps its metadata in its own directory."
            )

    def _check_holds_no_tables(self, identifier: Identifier) -> None:
        """A namespace that becomes a table would hide the tables in it, and they would go when it is dropped."""
        waiting: list[Namespace] = [identifier]
        while waiting:
            space = waiting.pop()
            for name, is_table in self._directories(space):
                if is_table:
                    raise AlreadyExists(
                        f"Cannot create table {display(identifier)}: it is a namespace, with table "
                        f"{display((*space, name))} in it. Choose another name."
                    )
                waiting.append((*space, name))

    def _directory(self, parts: Namespace) -> str:
        return location_under(self._warehouse, parts)

    def _metadata_of(self, identifier: Identifier) -> str:
        return join(self._directory(identifier), "metadata")

    def _directories(self, namespace: Namespace) -> list[tuple[str, bool]]:
        """Directories in a namespace, and whether each is a table."""
        base = self._directory(namespace)
        names = [child.name for child in self._storage.children(base) if child.is_directory]
        return [(name, self._is_table(join(base, name))) for name in names if not name.startswith((".", "_"))]

    def _is_table(self, directory: str) -> bool:
        return next(iter(version_files(self._storage, join(directory, "metadata"))), None) is not None

    def _require_namespace(self, namespace: Namespace) -> None:
        if not namespace:
            raise InvalidInput("Invalid namespace (): expected at least one level.")
        check_namespace(namespace)
        if not self.namespace_exists(namespace):
            parent = namespace[:-1] if len(namespace) > 1 and self.namespace_exists(namespace[:-1]) else ()
            known = [display(ns) for ns in self.list_namespaces(parent)]
            name = display(namespace)
            raise NotFound(f"Cannot find namespace {name}. {what_exists('Namespaces', name, known)}")

    def _no_such_table(self, identifier: Identifier) -> NotFound:
        namespace = identifier[:-1]
        self._require_namespace(namespace)
        names = [name[-1] for name in self.list_tables(namespace)]
        return NotFound(
            f"Cannot find table {display(identifier)}. "
            f"{what_exists(f'Tables of {display(namespace)}', identifier[-1], names)}"
        )


def _reopen(warehouse: str, storage: Storage) -> FilesystemCatalog:
    return FilesystemCatalog(warehouse=warehouse, storage=storage)


def _name_taken(table: str) -> AlreadyExists:
    return AlreadyExists(f"Cannot create table {table}: the name is taken. Choose another name, or load the table.")


def _no_properties(namespace: Namespace) -> Unsupported:
    return Unsupported(
        f"Cannot keep properties of namespace {display(namespace)}: a file system catalog has directories only. "
        f"Use a SQL catalog."
    )
