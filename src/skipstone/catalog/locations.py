"""Where a table of a given name is kept: one directory per level under the warehouse."""

from __future__ import annotations

from skipstone.catalog.identifiers import Identifier, display
from skipstone.errors import InvalidInput
from skipstone.storage.paths import join


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
