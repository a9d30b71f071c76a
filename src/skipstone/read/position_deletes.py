"""Deleted positions of data files: from position delete files and from deletion vectors.

Spec: "Position Delete Files", "Deletion Vectors".
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata import deletion_vector
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS
from skipstone.metadata.types import StructType
from skipstone.plan.scan import ScanPlan
from skipstone.read.whole_file import project_file
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

Positions = npt.NDArray[np.int64]

_PAIRS = StructType((DELETE_FILE_PATH, DELETE_POS))


class PositionDeletes:
    """The deleted positions of each data file of a plan. A delete file is read once, however many files it touches."""

    def __init__(self, plan: ScanPlan, storage: Storage) -> None:
        self._deletes: Any = plan.deletes
        self._storage = storage
        self._pairs: dict[int, Any] = {}
        self._lock = Lock()

    def of(self, file_path: str, delete_rows: list[int]) -> Positions:
        """Ascending positions that the given rows of the plan's deletes remove from a data file."""
        found = [self._positions(row, file_path) for row in delete_rows]
        if not found:
            return np.empty(0, np.int64)
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found))

    def _positions(self, row: int, file_path: str) -> Positions:
        path = self._deletes.column("file_path")[row].as_py()
        offset = self._deletes.column("content_offset")[row].as_py()
        if offset is not None:
            bitmap = deletion_vector.load(
                lambda start, length: self._storage.read_range(path, start, length),
                content_offset=offset,
                content_size_in_bytes=self._deletes.column("content_size_in_bytes")[row].as_py(),
                cardinality=self._deletes.column("record_count")[row].as_py(),
                source=path,
            )
            return deletion_vector.positions_of(bitmap).astype(np.int64)
        pairs = self._load(row, path)
        mine = pairs.filter(pc.equal(pairs.column("file_path"), file_path)).column("pos").to_numpy()
        return np.unique(mine)

    def _load(self, row: int, path: str) -> Any:
        with self._lock:
            if row not in self._pairs:
                self._pairs[row] = read_pairs(self._storage, path, self._deletes.column("file_format")[row].as_py())
            return self._pairs[row]


def read_pairs(storage: Storage, path: str, file_format: str) -> Any:
    """A position delete file as a table of `file_path` and `pos`."""
    batches = [b for _, b in project_file(storage, path, file_format, _PAIRS)]
    if not batches:
        return pa.schema([("file_path", pa.string()), ("pos", pa.int64())]).empty_table()
    return pa.Table.from_batches(batches)
