"""Where the files of our own analyses are: beside the table's location, where no engine looks for orphan files.

Their content is nobody else's business: sketches that other engines know are in registered Puffin files.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from skipstone.metadata.tables.properties import STATS_PATH, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.paths import join

HIDDEN: Final = ".skipstone-stats"
RECORD: Final = ".analysis.json"


def stats_directory(metadata: TableMetadata) -> str:
    """The directory of a table's analyses; a hidden one, which catalogs of directories pass over."""
    parent, _, name = metadata.location.rstrip("/").rpartition("/")
    # Another table may take the location after this one is dropped.
    whose = str(metadata.table_uuid or metadata.location)
    own = f"{name}-{blake2b(whose.encode(), digest_size=8).hexdigest()}"
    told = property_value(metadata.properties, STATS_PATH)
    if told is not None:
        # Other tables may be told the same one, and other things may lie in it.
        return join(told.rstrip("/"), own)
    if not parent or parent.endswith((":", "/")):
        return join(metadata.location, join(HIDDEN, own))  # the root of a bucket has no neighbourhood
    return join(join(parent, HIDDEN), own)


def record_path(directory: str, snapshot_id: int) -> str:
    return join(directory, f"{snapshot_id}{RECORD}")
