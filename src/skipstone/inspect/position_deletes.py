"""Deleted positions, one row each, from position delete files and deletion vectors.

Spec: "Position Delete Files", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.inspect.entries import read_entries, shown_partition_type, whole
from skipstone.metadata.blobs import deletion_vector
from skipstone.metadata.manifests.manifest import FileContent, ManifestContent, ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.read.position_deletes import read_pairs
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

_COLUMNS: Final = (
    "status", "content", "file_path", "file_format", "partition", "record_count", "referenced_data_file",
    "content_offset", "content_size_in_bytes",
)  # fmt: skip
_VECTOR_PLACE: Final = ("content_offset", "content_size_in_bytes")


def position_deletes(manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage) -> Any:
    """Every deleted position of the delete files of a snapshot. Tables from v3 on also say where each vector lies."""
    deletes = [m for m in manifests if m.content == ManifestContent.DELETES]
    found = read_entries(deletes, metadata, storage, columns=_COLUMNS, is_live=True)
    found = found.filter(pc.equal(found.column("content"), int(FileContent.POSITION_DELETES)))
    pairs = [_pairs(row, storage) for row in found.drop_columns(["partition"]).to_pylist()]
    paths = pa.concat_arrays([pa.array([], pa.string()), *(whole(p) for p, _ in pairs)])
    positions = np.concatenate([np.empty(0, np.int64), *(p for _, p in pairs)])
    source = pa.array(np.repeat(np.arange(len(pairs)), [len(p) for _, p in pairs]))
    columns = {"file_path": paths, "pos": pa.array(positions)}
    if shown_partition_type(metadata).fields:
        columns["partition"] = whole(found.column("partition")).take(source)
    columns["spec_id"] = found.column("spec_id").take(source)
    columns["delete_file_path"] = found.column("file_path").take(source)
    if metadata.format_version >= 3:
        columns |= {name: found.column(name).take(source) for name in _VECTOR_PLACE}
    return pa.table(columns)


def _pairs(row: dict[str, Any], storage: Storage) -> tuple[Any, Any]:
    """The data files and positions of one delete file or vector."""
    path = row["file_path"]
    if row["content_offset"] is None:
        pairs = read_pairs(storage, path, row["file_format"])
        return pairs.column("file_path").cast(pa.string()), pairs.column("pos").to_numpy()
    bitmap = deletion_vector.load(
        lambda start, length: storage.read_range(path, start, length),
        content_offset=row["content_offset"],
        content_size_in_bytes=row["content_size_in_bytes"],
        cardinality=row["record_count"],
        source=path,
    )
    positions = deletion_vector.positions_of(bitmap).astype(np.int64)
    paths = pa.repeat(pa.scalar(row["referenced_data_file"], pa.string()), len(positions))
    return pa.chunked_array([paths]), positions
