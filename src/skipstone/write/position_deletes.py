"""Position delete files: rows of v2 tables marked deleted by data file and position.

Laws: rows are sorted by file and position; a file holds deletes of one partition only, or of one data file
(`write.delete.granularity`); bounds of paths are never truncated, because readers match by them. v1 has no deletes,
and v3 wants deletion vectors.

Spec: "Position Delete Files".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.blobs.deletion_vector import Positions, positions_of
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.manifests.manifest import DataFile, FileContent
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS
from skipstone.metadata.tables.properties import DELETE_GRANULARITY, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.storage.protocol import Storage
from skipstone.write.delete_targets import DeleteTargets
from skipstone.write.locations import DataLocations
from skipstone.write.metrics import plan_metrics
from skipstone.write.metrics_modes import FULL, all_columns
from skipstone.write.rolling import FileKind, RollingFiles
from skipstone.write.settings import delete_settings

_STRUCT: Final = StructType((DELETE_FILE_PATH, DELETE_POS))


def write_position_deletes(
    positions: Mapping[str, Positions],
    *,
    data_files: pa.Table,
    metadata: TableMetadata,
    storage: Storage,
    file_format: str | None = None,
    granularity: str | None = None,
    task: int = 0,
) -> pa.Table:
    """Delete files for these positions by data file, ready for a commit.

    `data_files` says which spec and partition each data file belongs to, as a scan plan's files do.
    """
    if metadata.format_version != 2:
        wanted = "needs v2" if metadata.format_version < 2 else "is for v2 only. Write deletion vectors"
        raise InvalidInput(f"Cannot write position deletes to a v{metadata.format_version} table: this {wanted}.")
    targets = DeleteTargets(data_files, metadata)
    bitmaps = targets.check(positions)
    # The format orders paths by their bytes, which is Python's order of code points.
    paths = sorted(bitmaps)
    chosen = granularity or property_value(metadata.properties, DELETE_GRANULARITY)
    groups = [[path] for path in paths] if chosen == "file" else targets.groups(paths)
    kind = FileKind(
        storage=storage,
        struct=_STRUCT,
        settings=delete_settings(metadata.properties, file_format=file_format),
        metrics=plan_metrics(_STRUCT, all_columns(_STRUCT, FULL)),
        content=FileContent.POSITION_DELETES,
    )
    locations = DataLocations(metadata, task=task)
    opened: list[RollingFiles] = []
    files: list[DataFile] = []
    owners: list[str] = []
    try:
        for group in groups:
            directory = targets.partition_path(group[0])
            rolling = RollingFiles(kind, {}, _namer(locations, directory, kind.extension))
            opened.append(rolling)
            rolling.write(_rows(group, bitmaps))
            rolling.close()
            files += [_with_reference(f) for f in rolling.files]
            owners += [group[0]] * len(rolling.files)
        return targets.added(files, owners)
    except BaseException:
        for rolling in opened:
            rolling.abandon()
        raise


def _namer(locations: DataLocations, directory: str, extension: str) -> Any:
    return lambda: locations.new(directory, extension, suffix="-deletes")


def _rows(paths: list[str], bitmaps: Mapping[str, Any]) -> pa.Table:
    counts = [len(bitmaps[path]) for path in paths]
    names = pa.array(paths, pa.string()).take(np.repeat(np.arange(len(paths)), counts))
    places = np.concatenate([positions_of(bitmaps[path]) for path in paths]).astype(np.int64)
    return pa.table([names, pa.array(places)], schema=to_arrow_schema(_STRUCT))


def _with_reference(file: DataFile) -> DataFile:
    """The file with the one data file it refers to, if it is one."""
    lower = (file.lower_bounds or {}).get(DELETE_FILE_PATH.id)
    upper = (file.upper_bounds or {}).get(DELETE_FILE_PATH.id)
    if lower is None or lower != upper:
        return file
    return replace(file, referenced_data_file=lower.decode())
