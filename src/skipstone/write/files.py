"""Added files as the Arrow table that commits take: manifest entries without what the commit itself assigns.

Spec: "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

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
        if name in METRIC_COLUMNS:
            values = [None if v is None else list(v.items()) for v in values]
        # Most columns of a small write hold nothing, and Arrow makes nulls faster than it looks at values.
        columns[name] = (
            pa.nulls(len(files), arrow) if not any(v is not None for v in values) else pa.array(values, arrow)
        )
    columns[SPEC_ID] = pa.array(ids, pa.int32())
    return pa.table(columns)
