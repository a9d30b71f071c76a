"""Directories of our own beside a table's location, where no engine looks for orphan files."""

from __future__ import annotations

from hashlib import blake2b

from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.paths import join


def directory_beside(metadata: TableMetadata, hidden: str, *, told: str | None) -> str | None:
    """A table's own directory in the hidden one beside its location, or in the one that it was told.

    None where the location, such as the root of a bucket, has no neighbourhood.
    """
    if told is not None:
        # Other tables may be told the same one, and other things may lie in it.
        return join(told.rstrip("/"), own_name(metadata))
    parent, _, name = metadata.location.rstrip("/").rpartition("/")
    if not name or not parent or parent.endswith((":", "/")):
        return None
    return join(join(parent, hidden), own_name(metadata))


def own_name(metadata: TableMetadata) -> str:
    # Another table may take the location after this one is dropped.
    whose = str(metadata.table_uuid or metadata.location)
    return f"{metadata.location.rstrip('/').rpartition('/')[2]}-{blake2b(whose.encode(), digest_size=8).hexdigest()}"
