"""Added files as the Arrow table that commits take: manifest entries without what the commit itself assigns.

Spec: "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skipstone.metadata.formats.arrow_types import nested_array
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, METRIC_COLUMNS, TRACKING_COLUMNS, DataFile
from skipstone.metadata.manifests.manifest_rows import partitions_to_arrow
from skipstone.metadata.types import StructType

SPEC_ID = "spec_id"


def added_files(files: Sequence[DataFile], partition_type: StructType, spec_ids: int | Sequence[int]) -> pa.Table:
    """One row a file. `partition_type` is the spec's, or the unified one when specs are mixed."""
    ids = [spec_ids] * len(files) if isinstance(spec_ids, int) else list(spec_ids)
    columns: dict[str, Any] = {}
    for name, arrow in ENTRY_COLUMNS.items():
        if name in TRACKING_COLUMNS:
            continue
        if name == "partition":
            columns[name] = partitions_to_arrow(files, partition_type)
            continue
        values = [getattr(f, name) for f in files]
        # Most columns of a small write hold nothing, and Arrow makes nulls faster than it looks at values.
        if values.count(None) == len(values):
            columns[name] = pa.nulls(len(files), arrow)
        else:
            columns[name] = _maps(values, arrow) if name in METRIC_COLUMNS else pa.array(values, arrow)
    columns[SPEC_ID] = pa.array(ids, pa.int32())
    return pa.table(columns)


def _maps(values: Sequence[Mapping[int, Any] | None], arrow: Any) -> Any:
    """Maps as one column, made of all their keys and all their items: a pair for each would cost more than the rest."""
    ends = np.cumsum([0, *(0 if v is None else len(v) for v in values)], dtype=np.int32)
    keys = pa.array([key for v in values if v for key in v], arrow.key_type)
    items = pa.array([item for v in values if v for item in v.values()], arrow.item_type)
    return nested_array(arrow, pa.array(ends), [keys, items], pa.array([v is None for v in values]))
