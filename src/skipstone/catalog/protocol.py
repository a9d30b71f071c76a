"""What every catalog can do: names of tables, each pointing at one metadata file, swapped by check-and-put.

A catalog never changes metadata and never looks into it; it decides which of two writers was first. After
CommitRejected nothing was published. After CommitOutcomeUnknown the new metadata may be the table's current one, so
its file, and all files it names, must be kept. An OSError means that the metadata file could not be written: nothing
was published.

Spec: "Metastore Tables", "File System Tables".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from skipstone.catalog.identifiers import Identifier, Namespace
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTable:
    """A table as one metadata file describes it."""

    identifier: Identifier
    metadata_location: str
    metadata: TableMetadata


@runtime_checkable
class Catalog(Protocol):
    """Namespaces and tables. Safe for several threads and across fork; pickles."""

    @property
    def warehouse(self) -> str:
        """Where tables without a location of their own are kept."""

    @property
    def storage(self) -> Storage:
        """Where the tables' files are read and written."""

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        """AlreadyExists if it is there."""

    def drop_namespace(self, namespace: Namespace) -> None:
        """InvalidInput if there are tables or namespaces in it."""

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        """The namespaces directly under a namespace, sorted."""

    def namespace_exists(self, namespace: Namespace) -> bool: ...

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]: ...

    def update_namespace_properties(
        self, namespace: Namespace, updates: Mapping[str, str] | None = None, removals: Iterable[str] = ()
    ) -> None: ...

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        """The tables directly in a namespace, sorted."""

    def table_exists(self, identifier: Identifier) -> bool: ...

    def default_location(self, identifier: Identifier) -> str:
        """Where a new table of this name is kept unless the caller says otherwise."""

    def load(self, identifier: Identifier) -> LoadedTable:
        """The table's current metadata; NotFound if there is no such table."""

    def publish(self, identifier: Identifier, base: LoadedTable | None, metadata: TableMetadata) -> LoadedTable:
        """Make `metadata` the table's current metadata if `base` still is; no base creates the table."""

    def register(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        """Give a name to a table that exists in storage."""

    def rename(self, old: Identifier, new: Identifier) -> None:
        """Give a table another name; its files stay where they are."""

    def drop(self, identifier: Identifier) -> None:
        """Forget a table. Its files are the caller's to remove, except where the directory is the table."""
