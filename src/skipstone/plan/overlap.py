"""Whether an equality delete file can hold a key of a data file, by the bounds of its delete columns.

The keys of a delete file are equal to rows of a data file only if, in each delete column, the two can share a value:
a null, a NaN, or an ordinary value within both bounds. Unknown facts keep the pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

pa: Any = pyarrow
pc: Any = pyarrow.compute

Ints = npt.NDArray[np.int64]


def columns_may_meet(data: Any, deletes: Any, data_rows: Ints, delete_rows: Ints) -> npt.NDArray[np.bool_]:
    """For each pair: false only if one delete column proves that no row can be equal."""
    meets = np.ones(len(data_rows), bool)
    if len(data_rows) == 0:
        return meets
    ids = deletes.column("equality_ids").combine_chunks()
    for field_id in pc.unique(pc.list_flatten(ids)).to_pylist():
        name = f"{field_id}.lower"
        if name not in data.column_names or name not in deletes.column_names:
            continue
        used = np.array([field_id in (row or ()) for row in ids.to_pylist()])[delete_rows]
        apart = _apart(data, deletes, pa.array(data_rows), pa.array(delete_rows), field_id)
        meets &= ~(used & apart)
    return meets


def _apart(data: Any, deletes: Any, data_rows: Any, delete_rows: Any, field_id: int) -> npt.NDArray[np.bool_]:
    def side(table: Any, rows: Any, kind: str) -> Any:
        return table.column(f"{field_id}.{kind}").take(rows)

    def absent(kind: str) -> Any:
        """On one of the two sides there is certainly no such value."""
        return pc.or_kleene(pc.equal(side(data, data_rows, kind), 0), pc.equal(side(deletes, delete_rows, kind), 0))

    low, high = side(data, data_rows, "lower"), side(data, data_rows, "upper")
    key_low, key_high = side(deletes, delete_rows, "lower"), side(deletes, delete_rows, "upper")
    if pa.types.is_nested(low.type):
        return np.zeros(len(data_rows), bool)
    ranges_apart = pc.or_kleene(pc.less(key_high, low), pc.greater(key_low, high))
    apart = pc.and_kleene(ranges_apart, absent("null_count"))
    if pa.types.is_floating(low.type):
        apart = pc.and_kleene(apart, absent("nan_count"))
    proven: npt.NDArray[np.bool_] = pc.fill_null(apart, False).to_numpy()
    return proven
