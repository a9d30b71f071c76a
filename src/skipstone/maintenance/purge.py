"""Removing the files of a table that was dropped.

Only files that the table names go, wherever they are; what else lies under its location may belong to somebody else.
A table whose files other tables share (`gc.enabled` is false) keeps its data.
"""

from __future__ import annotations

from collections.abc import Iterable

from skipstone.index.cleaning import index_files
from skipstone.maintenance.reachable import list_paths, live_files, manifests_by_path, statistics_paths
from skipstone.metadata.tables.properties import GC_ENABLED, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.cleaning import analysis_files
from skipstone.storage.protocol import Storage


def files_of(metadata: TableMetadata, metadata_location: str, storage: Storage) -> list[str]:
    """Every file the table names, metadata last, so that a broken-off removal can be taken up again."""
    manifests = manifests_by_path(metadata.snapshots, metadata, storage, may_be_missing=True)
    data: Iterable[str] = ()
    if property_value(metadata.properties, GC_ENABLED):
        found = live_files(manifests.values(), metadata, storage, may_be_missing=True)
        data = (path for path, _ in found.values())
    return [
        *data,
        *(m.manifest_path for m in manifests.values()),
        *list_paths(metadata.snapshots).values(),
        *statistics_paths(metadata).values(),
        *(info.path for info in index_files(metadata, storage)),
        *(info.path for info in analysis_files(metadata, storage)),
        *(entry.metadata_file for entry in metadata.metadata_log),
        metadata_location,
    ]
