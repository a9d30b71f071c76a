"""Statistics files that a table's metadata names: those of snapshots that are gone are told of, and not used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.labels import ignore_file

F = TypeVar("F", StatisticsFile, PartitionStatisticsFile)


def of_known_snapshots(files: Iterable[F], metadata: TableMetadata) -> dict[int, F]:
    """The files by snapshot; one whose snapshot is gone is left out with a warning that names it."""
    found: dict[int, F] = {}
    for file in files:
        if file.snapshot_id in metadata.snapshots_by_id:
            found[file.snapshot_id] = file
        else:
            ignore_file(file.statistics_path, f"snapshot {file.snapshot_id}, which it is of, is not in the table.")
    return found
