"""Metadata columns of a data file's rows.

Row ids and last-updated numbers that the file stores win; the rest is inherited from the file's entry. Rows of a file
without a first row id have neither.

Spec: "Reserved Field IDs", "Row Lineage Assignment".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.metadata.reserved import (
    DELETED,
    FILE,
    LAST_UPDATED_SEQUENCE_NUMBER,
    PARTITION_ID,
    POS,
    ROW_ID,
    SPEC_ID,
)
from skipstone.metadata.types import StructType
from skipstone.plan.scan import ScanPlan

pa: Any = pyarrow


def supplied_columns(
    plan: ScanPlan, row: int, wanted: StructType, positions: npt.NDArray[np.int64] | range
) -> dict[int, Any]:
    """The metadata columns among the wanted ones, by field id, for rows at these positions of a file."""
    ids = {f.id for f in wanted.fields}
    files = plan.files
    made: dict[int, Any] = {}
    if FILE.id in ids:
        made[FILE.id] = files.column("file_path")[row].as_py()
    if POS.id in ids:
        made[POS.id] = pa.array(_as_array(positions))
    if DELETED.id in ids:
        made[DELETED.id] = False
    if SPEC_ID.id in ids:
        made[SPEC_ID.id] = files.column("spec_id")[row].as_py()
    if PARTITION_ID in ids:
        # A table that never was partitioned has null here, as other engines show it, and not a struct of nothing.
        made[PARTITION_ID] = dict(plan.partition_of(row)) if _has_partitions(wanted) else None
    first_row_id = files.column("first_row_id")[row].as_py()
    if ROW_ID.id in ids:
        made[ROW_ID.id] = None if first_row_id is None else pa.array(_as_array(positions) + first_row_id)
    if LAST_UPDATED_SEQUENCE_NUMBER.id in ids:
        number = files.column("sequence_number")[row].as_py()
        made[LAST_UPDATED_SEQUENCE_NUMBER.id] = None if first_row_id is None else number
    return made


def _as_array(positions: npt.NDArray[np.int64] | range) -> npt.NDArray[np.int64]:
    return np.arange(positions.start, positions.stop) if isinstance(positions, range) else positions


def _has_partitions(wanted: StructType) -> bool:
    return any(f.id == PARTITION_ID and isinstance(f.type, StructType) and f.type.fields for f in wanted.fields)
