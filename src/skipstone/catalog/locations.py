"""Where a table of a given name is kept: one directory per level under the warehouse.

Law: no two tables are given one directory, nor one inside the other's: whoever looks for files that a table does not
know would find another table's. A renamed table keeps its directory, and so may a dropped one that is registered again.
"""

from __future__ import annotations

import uuid
from typing import Protocol, runtime_checkable

from skipstone.catalog.identifiers import Identifier, display
from skipstone.catalog.protocol import Catalog, LoadedTable
from skipstone.errors import InvalidInput, NotFound
from skipstone.storage.paths import FILE, join, local_path, scheme_of, split_authority
from skipstone.storage.protocol import Storage


@runtime_checkable
class KnowsPlaces(Protocol):
    """A catalog that can tell which tables lie in a directory."""

    def tables_under(self, location: str) -> list[Identifier]:
        """The tables whose current metadata file lies under a location, sorted."""


def location_under(warehouse: str, identifier: Identifier, *, namespace_location: str | None = None) -> str:
    """The table's directory under the warehouse, or under its namespace's own location."""
    for part in identifier:
        if part in (".", "..") or "/" in part:
            raise InvalidInput(
                f"Cannot derive a location for table {display(identifier)}: expected names without '/' that are not "
                f"'.' or '..', got {part!r}. Pass a location."
            )
    location = namespace_location.rstrip("/") if namespace_location else warehouse
    for part in (identifier[-1],) if namespace_location else identifier:
        location = join(location, part)
    return location


def free_location(catalog: Catalog, identifier: Identifier) -> str:
    """The default location of a new table, or one beside it where another table lies there already."""
    location = catalog.default_location(identifier)
    storage, fresh = catalog.storage, uuid.uuid4().hex[:8]
    # A namespace may have the name of a table: then its tables would lie in that table's directory.
    place, inside = location, ""
    for _ in range(len(identifier) - 2):
        place, _, name = place.rpartition("/")
        inside = f"/{name}{inside}"
        if _has_metadata(storage, place):
            return f"{place}-{fresh}{inside}"
    if catalog.namespace_exists(identifier) or _has_metadata(storage, location):
        return f"{location}-{fresh}"
    return location


def check_under_one_name(catalog: Catalog, table: LoadedTable, what: str) -> None:
    """Refuse to remove files that the same table has under another name: it was registered twice."""
    if not isinstance(catalog, KnowsPlaces):
        return
    for name in catalog.tables_under(table.metadata.location):
        if name != table.identifier and _uuid_of(catalog, name) == table.metadata.table_uuid:
            raise InvalidInput(
                f"Cannot {what}: expected files of one table, got files that {display(name)} has too. Drop one of the "
                f"two names, without purging."
            )


def _uuid_of(catalog: Catalog, name: Identifier) -> uuid.UUID | None:
    try:
        return catalog.load(name).metadata.table_uuid
    except NotFound:
        # Of another catalog in the same database, or a row that points nowhere.
        return None


def _has_metadata(storage: Storage, location: str) -> bool:
    return any(not child.is_directory for child in storage.children(join(location, "metadata")))


def place_of(location: str) -> tuple[str, str]:
    """Host or bucket, and path, however the location is spelled."""
    if scheme_of(location) == FILE:
        return "", local_path(location)
    authority, path = split_authority(location)
    return authority, f"/{path}"
