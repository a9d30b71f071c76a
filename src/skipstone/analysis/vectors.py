"""Deletion vectors whose data file is gone: they delete nothing, so their records must not be subtracted.

Paths of data files are read only where a snapshot has deletion vectors at all.

Spec: "Deletion Vectors", "Partition Statistics File".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.analysis.partition_counts import places_in
from skipstone.metadata.manifests.manifest import FileContent, ManifestContent, ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import read_live_entries
from skipstone.stats.partition_layout import DV_COUNT, PARTITION
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

Ints = npt.NDArray[np.int64]
_VECTOR: Final = ("content", PARTITION, "record_count", "referenced_data_file", "content_offset")


def dangling_records(
    manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage, rows: Any
) -> Ints | None:
    """For each row of partition counts, the records of vectors that delete nothing; None for no vectors."""
    if not (rows.column(DV_COUNT).to_numpy() > 0).any():
        return None
    deletes = read_live_entries(of(manifests, ManifestContent.DELETES), metadata, storage, columns=_VECTOR)
    vectors = deletes.filter(
        pc.and_(deletes.column("content_offset").is_valid(), pc.equal(deletes.column("content"), _POSITIONS))
    )
    wanted = vectors.column("referenced_data_file").combine_chunks()
    found = np.zeros(len(wanted), bool)
    for manifest in of(manifests, ManifestContent.DATA):
        paths = live_paths([manifest], metadata, storage)
        found |= pc.is_in(wanted, value_set=paths).to_numpy(zero_copy_only=False)
    lost = vectors.filter(pa.array(~found))
    return _by_partition(lost, rows)


_POSITIONS: Final = int(FileContent.POSITION_DELETES)


def loses_data_files(
    added: Sequence[ManifestFile], gone: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage
) -> bool:
    """Whether a data file is live in the manifests that are gone and not in those that were added."""
    before = live_paths(of(gone, ManifestContent.DATA), metadata, storage)
    after = live_paths(of(added, ManifestContent.DATA), metadata, storage)
    return len(before) > 0 and not pc.all(pc.is_in(before, value_set=after)).as_py()


def of(manifests: Collection[ManifestFile], content: ManifestContent) -> list[ManifestFile]:
    return [m for m in manifests if m.content == content]


def live_paths(manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage) -> Any:
    entries = read_live_entries(manifests, metadata, storage, columns=("file_path", PARTITION))
    column = entries.column("file_path").combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _by_partition(vectors: Any, rows: Any) -> Ints:
    lost = np.zeros(rows.num_rows, np.int64)
    np.add.at(lost, places_in(rows, vectors), vectors.column("record_count").to_numpy())
    return lost
