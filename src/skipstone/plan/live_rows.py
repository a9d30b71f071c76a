"""How many rows of each planned file are not deleted, where metadata alone says so.

The law: a number is given only where it is exact. Deletion vectors say how many rows they delete; position and equality
delete files do not, as they may name a row twice or none at all.

Spec: "Deletion Vectors", "Data File Fields".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

pa: Any = pyarrow
pc: Any = pyarrow.compute

Longs = npt.NDArray[np.int64]

UNKNOWN_ROWS: Final = -1


def live_rows(files: Any, deletes: Any) -> Longs:
    """One number a file of a plan, `UNKNOWN_ROWS` where only reading tells."""
    rows: Longs = files.column("record_count").to_numpy().astype(np.int64)
    lists = _one(files.column("deletes"))
    applied = pc.list_flatten(lists)
    if len(applied) == 0:
        return np.maximum(rows, UNKNOWN_ROWS)
    owner = pc.list_parent_indices(lists).to_numpy()
    used = deletes.select(["content_offset", "record_count"]).take(applied)
    gone = used.column("record_count").to_numpy().astype(np.int64)
    is_exact = used.column("content_offset").is_valid().to_numpy() & (gone >= 0)
    left: Longs = rows - np.bincount(owner, np.where(is_exact, gone, 0), len(rows)).astype(np.int64)
    left[owner[~is_exact]] = UNKNOWN_ROWS
    left[rows < 0] = UNKNOWN_ROWS
    # A vector that deletes more rows than there are is odd, and proves nothing.
    return np.maximum(left, UNKNOWN_ROWS)


def deleted_from(files: Any) -> npt.NDArray[np.bool_]:
    """Whether any delete may apply to a file."""
    found: npt.NDArray[np.bool_] = pc.list_value_length(_one(files.column("deletes"))).to_numpy() > 0
    return found


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
