"""Deleted positions of data files: from position delete files and from deletion vectors.

Spec: "Position Delete Files", "Deletion Vectors".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.metadata.blobs import deletion_vector
from skipstone.metadata.blobs.encryption import decrypt_file
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS
from skipstone.metadata.types import StructType
from skipstone.plan.scan import ScanPlan
from skipstone.read.once import Once
from skipstone.read.whole_file import project_file
from skipstone.storage.protocol import Storage, check_range

pa: Any = pyarrow

Positions = npt.NDArray[np.int64]

_NONE: Final = np.empty(0, np.int64)
_PAIRS: Final = StructType((DELETE_FILE_PATH, DELETE_POS))


class PositionDeletes:
    """The deleted positions of each data file of a plan. A delete file is read once, however many files it touches."""

    def __init__(self, plan: ScanPlan, storage: Storage) -> None:
        self._deletes: Any = plan.deletes
        self._storage = storage
        self._vectors: Once[int, Positions] = Once()
        self._by_path: Once[int, dict[str, Positions]] = Once()

    def of(self, file_path: str, delete_rows: list[int]) -> Positions:
        """Ascending positions that the given rows of the plan's deletes remove from a data file."""
        found = [self._positions(row, file_path) for row in delete_rows]
        if not found:
            return _NONE
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found))

    def _positions(self, row: int, file_path: str) -> Positions:
        if self._deletes.column("content_offset")[row].is_valid:
            return self._vectors.get(row, lambda: self._vector(row))
        return self._by_path.get(row, lambda: self._load(row)).get(file_path, _NONE)

    def _vector(self, row: int) -> Positions:
        path = self._deletes.column("file_path")[row].as_py()
        key = self._deletes.column("key_metadata")[row].as_py()
        bitmap = deletion_vector.load(
            lambda start, length: _range(self._storage, path, start, length, key),
            content_offset=self._deletes.column("content_offset")[row].as_py(),
            content_size_in_bytes=self._deletes.column("content_size_in_bytes")[row].as_py(),
            cardinality=self._deletes.column("record_count")[row].as_py(),
            source=path,
        )
        return deletion_vector.positions_of(bitmap).astype(np.int64)

    def _load(self, row: int) -> dict[str, Positions]:
        path = self._deletes.column("file_path")[row].as_py()
        file_format = self._deletes.column("file_format")[row].as_py()
        key = self._deletes.column("key_metadata")[row].as_py()
        return by_path(read_pairs(self._storage, path, file_format, key_metadata=key))


def _range(storage: Storage, path: str, offset: int, length: int, key_metadata: bytes | None) -> bytes:
    """Bytes of a file; of an encrypted one those of what is in it, and it is opened whole."""
    if key_metadata is None:
        return storage.read_range(path, offset, length)
    plain = decrypt_file(storage.read(path), key_metadata, source=path)
    check_range(path, offset, length, size=len(plain))
    return plain[offset : offset + length]


def by_path(pairs: Any) -> dict[str, Positions]:
    """Ascending positions of each file in a table of `file_path` and `pos`."""
    if pairs.num_rows == 0:
        return {}
    paths = pairs.column("file_path").combine_chunks().dictionary_encode()
    codes = paths.indices.to_numpy()
    positions = pairs.column("pos").to_numpy()
    if not _is_ordered(codes, positions):
        order = np.lexsort((positions, codes))
        codes, positions = codes[order], positions[order]
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    names = paths.dictionary.to_pylist()
    parts = np.split(positions, starts[1:])
    return {names[codes[start]]: _distinct(part) for start, part in zip(starts, parts, strict=True)}


def _is_ordered(codes: Any, positions: Positions) -> bool:
    """Whether pairs come file by file, each ascending: a table read in one piece gives them so."""
    step = np.diff(codes)
    return bool((step >= 0).all() and (np.diff(positions)[step == 0] >= 0).all())


def _distinct(ascending: Positions) -> Positions:
    is_first = np.ones(len(ascending), bool)
    is_first[1:] = ascending[1:] != ascending[:-1]
    return ascending[is_first]


def read_pairs(storage: Storage, path: str, file_format: str, *, key_metadata: bytes | None = None) -> Any:
    """A position delete file as a table of `file_path` and `pos`."""
    batches = [b for _, b in project_file(storage, path, file_format, _PAIRS, key_metadata=key_metadata)]
    if not batches:
        return pa.schema([("file_path", pa.string()), ("pos", pa.int64())]).empty_table()
    return pa.Table.from_batches(batches)
