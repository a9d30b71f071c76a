"""Catalogs as users open them, and tables by path.

skipstone.catalog("sqlite:///lake/catalog.db", warehouse="lake")      # made on first use
skipstone.catalog("postgresql://user@host/db", warehouse="s3://bucket/lake")
skipstone.catalog("thrift://host:9083", warehouse="s3://bucket/lake")  # a Hive metastore
skipstone.catalog("lake")                                             # a directory of file system tables
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skipstone.catalog import Catalog, FilesystemCatalog, LoadedTable, SqlCatalog, parse_identifier, parse_namespace
from skipstone.catalog.identifiers import Identifier, display
from skipstone.catalog.locations import check_under_one_name, free_location
from skipstone.commit import Transaction
from skipstone.errors import AlreadyExists, InvalidInput
from skipstone.hosts import hive_host
from skipstone.maintenance.purge import files_of
from skipstone.metadata.blobs.encryption import KeyManagement
from skipstone.metadata.partitions.partition_evolution import build_spec
from skipstone.metadata.partitions.sorting import build_sort_order
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.metadata.tables.column_properties import check_columns_exist
from skipstone.metadata.tables.new_table import check_new_version, new_table_metadata
from skipstone.metadata.tables.properties import check_levels, check_properties
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.storage import MovedStorage, absolute_location, storage_for
from skipstone.storage.keyed import with_keys
from skipstone.table import Table

FORMAT_VERSION_DEFAULT = 2


class Lake:
    """A catalog with the verbs that make and find tables."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __repr__(self) -> str:
        return f"Lake({self.catalog!r})"

    # -- namespaces

    def create_namespace(
        self, namespace: str | Sequence[str], properties: Mapping[str, str] | None = None, *, exist_ok: bool = False
    ) -> None:
        try:
            self.catalog.create_namespace(parse_namespace(namespace), properties)
        except AlreadyExists:
            if not exist_ok:
                raise

    def drop_namespace(self, namespace: str | Sequence[str]) -> None:
        self.catalog.drop_namespace(parse_namespace(namespace))

    def list_namespaces(self, parent: str | Sequence[str] = ()) -> list[str]:
        return [display(n) for n in self.catalog.list_namespaces(parse_namespace(parent) if parent else ())]

    def namespace_properties(self, namespace: str | Sequence[str]) -> dict[str, str]:
        return self.catalog.namespace_properties(parse_namespace(namespace))

    def update_namespace_properties(
        self,
        namespace: str | Sequence[str],
        updates: Mapping[str, str] | None = None,
        removals: Iterable[str] = (),
    ) -> None:
        self.catalog.update_namespace_properties(parse_namespace(namespace), updates, removals)

    # -- tables

    def create_table(
        self,
        name: str | Sequence[str],
        schema: Any,
        *,
        partition_by: Sequence[str] = (),
        sort_by: Sequence[str] = (),
        format_version: int | None = None,
        properties: Mapping[str, str] | None = None,
        location: str | None = None,
    ) -> Table:
        """Make a table. Its namespace is made too if it is not there."""
        identifier = parse_identifier(name)
        settings = dict(properties or {})
        check_properties(settings)
        check_levels(settings, settings)
        version = int(
            settings.pop("format-version", FORMAT_VERSION_DEFAULT if format_version is None else format_version)
        )
        check_new_version(version)
        columns = schema_of(schema, format_version=version)
        check_columns_exist(settings, columns)
        for what, terms in (("partition_by", partition_by), ("sort_by", sort_by)):
            if isinstance(terms, str):
                raise InvalidInput(
                    f"Cannot create table {display(identifier)}: expected {what} as a list, got {terms!r}."
                )
        spec, sort_order = build_spec(columns, partition_by), build_sort_order(columns, sort_by)
        self.create_namespace(identifier[:-1], exist_ok=True)
        metadata = new_table_metadata(
            columns,
            location=absolute_location(location) if location else self._new_location(identifier),
            now_ms=time.time_ns() // 1_000_000,
            spec=spec,
            sort_order=sort_order,
            properties=settings,
            format_version=version,
        )
        created = Transaction.create(self.catalog, identifier, metadata).commit().unwrap()
        return self._table(created)

    def load_table(self, name: str | Sequence[str]) -> Table:
        return self._table(self.catalog.load(parse_identifier(name)))

    def table_exists(self, name: str | Sequence[str]) -> bool:
        return self.catalog.table_exists(parse_identifier(name))

    def list_tables(self, namespace: str | Sequence[str]) -> list[str]:
        return [display(t) for t in self.catalog.list_tables(parse_namespace(namespace))]

    def register_table(self, name: str | Sequence[str], metadata_location: str) -> Table:
        return self._table(self.catalog.register(parse_identifier(name), absolute_location(metadata_location)))

    def rename_table(self, old: str | Sequence[str], new: str | Sequence[str]) -> None:
        self.catalog.rename(parse_identifier(old), parse_identifier(new))

    def drop_table(self, name: str | Sequence[str], *, purge: bool = False) -> None:
        """Forget a table; with `purge`, remove the files it names as well."""
        identifier = parse_identifier(name)
        paths: list[str] = []
        if purge:
            loaded = self.catalog.load(identifier)
            check_under_one_name(self.catalog, loaded, f"purge {display(identifier)}")
            paths = files_of(loaded.metadata, loaded.metadata_location, self.catalog.storage)
        self.catalog.drop(identifier)
        self.catalog.storage.delete_many(paths)

    def _new_location(self, identifier: Identifier) -> str:
        if isinstance(self.catalog, FilesystemCatalog):
            return self.catalog.default_location(identifier)  # there the directory is the table
        return free_location(self.catalog, identifier)

    def _table(self, loaded: LoadedTable) -> Table:
        return Table(loaded, catalog=self.catalog, storage=self.catalog.storage)


def open_catalog(
    uri: str,
    *,
    warehouse: str | None = None,
    name: str = "default",
    options: Mapping[str, str] | None = None,
    kms: KeyManagement | None = None,
) -> Lake:
    """Open a catalog, or make it on first use.

    `uri` is a database (sqlite, postgresql), a Hive metastore (thrift) or a directory of file system tables. `options`
    are for object stores. `kms` opens encrypted tables, to be read.
    """
    storage = with_keys(storage_for(options), kms)
    is_metastore = uri.startswith("thrift:")
    if is_metastore or uri.startswith(("sqlite:", "postgresql:", "postgresql+", "postgres:")):
        if warehouse is None:
            raise InvalidInput(f"Cannot open catalog {uri!r}: expected a warehouse, where tables are kept, got none.")
        if is_metastore:
            opened: Lake = hive_host().open_hive_catalog(uri, warehouse=warehouse, options=options, kms=kms)
            return opened
        _make_parent(uri)
        return Lake(SqlCatalog(uri, warehouse=absolute_location(warehouse), storage=storage, name=name))
    if warehouse is not None and absolute_location(warehouse) != absolute_location(uri):
        raise InvalidInput(
            f"Cannot open catalog {uri!r}: a directory of tables is its own warehouse, got {warehouse!r}."
        )
    return Lake(FilesystemCatalog(warehouse=absolute_location(uri), storage=storage))


def _make_parent(uri: str) -> None:
    """The directory of a SQLite file, so that the first use makes everything it needs."""
    path = uri.removeprefix("sqlite:///")
    if path != uri and path not in ("", ":memory:") and not path.startswith("file:"):
        Path(path.partition("?")[0]).parent.mkdir(parents=True, exist_ok=True)


def open_table(
    metadata_location: str,
    *,
    moved: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    kms: KeyManagement | None = None,
) -> Table:
    """A table by its metadata file, read only. `moved` maps path prefixes of a table that was copied elsewhere.

    `kms` opens an encrypted table: whatever can unwrap the keys in its metadata with the master key they name.
    """
    location = absolute_location(metadata_location)
    plain = storage_for(options)
    metadata = parse_table_metadata(plain.read(location), source=location)
    storage = with_keys(MovedStorage(plain, moved) if moved else plain, kms)
    name = metadata.location.rstrip("/").rpartition("/")[2] or "table"
    loaded = LoadedTable(identifier=(name,), metadata_location=location, metadata=metadata)
    return Table(loaded, catalog=None, storage=storage)
