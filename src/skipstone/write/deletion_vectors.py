"""Deletion vectors of v3 tables: one per data file, all those of a commit in one Puffin file.

Law: a new vector holds everything that was deleted before by a vector or by position delete files, for readers look at
nothing else once there is one. The caller removes what it replaces in the same commit.

Spec: "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.blobs.deletion_vector import Positions, bitmap_of
from skipstone.metadata.blobs.deletion_vector import write_deletion_vectors as encode_vectors
from skipstone.metadata.manifests.manifest import DataFile, FileContent
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.storage.protocol import Storage
from skipstone.write.delete_targets import DeleteTargets
from skipstone.write.files import added_files
from skipstone.write.locations import DataLocations


def write_deletion_vectors(
    positions: Mapping[str, Positions],
    *,
    data_files: pa.Table,
    metadata: TableMetadata,
    storage: Storage,
    previous: Mapping[str, Positions] | None = None,
    task: int = 0,
) -> pa.Table:
    """Vectors for these positions by data file, ready for a commit.

    `data_files` says which spec and partition each data file belongs to, as a scan plan's files do. `previous` are the
    positions deleted so far by the vectors and position delete files that these vectors replace.
    """
    if metadata.format_version < 3:
        raise InvalidInput(
            f"Cannot write deletion vectors to a v{metadata.format_version} table: they need v3. "
            f"Write position deletes, or upgrade the table."
        )
    targets = DeleteTargets(data_files, metadata)
    bitmaps = targets.check(positions)
    for path, before in targets.check({p: b for p, b in (previous or {}).items() if p in bitmaps}).items():
        bitmaps[path] = bitmap_of(bitmaps[path]) | before
    if not bitmaps:
        return added_files([], StructType(()), [])
    written = encode_vectors(bitmaps)
    location = DataLocations(metadata, task=task).new("", "puffin", suffix="-deletes")
    storage.write_new(location, written.data)
    files = [
        DataFile(
            content=FileContent.POSITION_DELETES,
            file_path=location,
            file_format="PUFFIN",
            record_count=vector.cardinality,
            file_size_in_bytes=len(written.data),
            referenced_data_file=vector.referenced_data_file,
            content_offset=vector.content_offset,
            content_size_in_bytes=vector.content_size_in_bytes,
        )
        for vector in written.vectors
    ]
    return targets.added(files, [vector.referenced_data_file for vector in written.vectors])
