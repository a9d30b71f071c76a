"""Where the files of our own analyses are: beside the table's location, where no engine looks for orphan files.

Their content is nobody else's business: sketches that other engines know are in registered Puffin files.
"""

from __future__ import annotations

from typing import Final

from skipstone.metadata.tables.properties import STATS_PATH, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.beside import directory_beside, own_name
from skipstone.storage.paths import join

HIDDEN: Final = ".skipstone-stats"
RECORD: Final = ".analysis.json"


def stats_directory(metadata: TableMetadata) -> str:
    """The directory of a table's analyses; a hidden one, which catalogs of directories pass over."""
    found = directory_beside(metadata, HIDDEN, told=property_value(metadata.properties, STATS_PATH))
    # The root of a bucket has no neighbourhood.
    return join(metadata.location, join(HIDDEN, own_name(metadata))) if found is None else found


def record_path(directory: str, snapshot_id: int) -> str:
    return join(directory, f"{snapshot_id}{RECORD}")
