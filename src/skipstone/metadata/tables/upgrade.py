"""Upgrades of a table's format version: one way, and only metadata changes.

Files and snapshots written before stay as they are; readers fill in what they lack. A v1 table gets a UUID if it has
none; from v2 on snapshots have sequence numbers, starting after 0; from v3 on rows get ids, starting at 0.

Spec: "Appendix E: Format version changes", "Row Lineage for Upgraded Tables".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.tables.table_metadata import FORMAT_VERSION_MAX, TableMetadata


def upgrade_format_version(
    metadata: TableMetadata, format_version: int, *, random_uuid: Callable[[], uuid.UUID] = uuid.uuid4
) -> TableMetadata:
    """The same table at a higher version; unchanged at its own."""
    if format_version > FORMAT_VERSION_MAX:
        raise Unsupported(
            f"Cannot upgrade a table to format version {format_version}: expected at most {FORMAT_VERSION_MAX}."
        )
    if format_version < metadata.format_version:
        raise InvalidInput(
            f"Cannot change format version {metadata.format_version} to {format_version}: expected an upgrade, "
            f"got a downgrade. Copy the data to a new table instead."
        )
    if format_version == metadata.format_version:
        return metadata
    return replace(
        metadata,
        format_version=format_version,
        table_uuid=metadata.table_uuid or random_uuid(),
    )
