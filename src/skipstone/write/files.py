"""Added files as the Arrow table that commits take: manifest entries without what the commit itself assigns.

Spec: "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skipstone.metadata.manifest import TRACKING_COLUMNS, DataFile, EntryStatus, ManifestEntry
from skipstone.metadata.manifest_rows import entries_to_arrow
from skipstone.metadata.types import StructType

SPEC_ID = "spec_id"


def added_files(files: Sequence[DataFile], partition_type: StructType, spec_ids: int | Sequence[int]) -> pa.Table:
    """One row a file. `partition_type` is the spec's, or the unified one when specs are mixed."""
    entries = [ManifestEntry(status=EntryStatus.ADDED, data_file=f) for f in files]
    table = entries_to_arrow(entries, partition_type).drop_columns(list(TRACKING_COLUMNS))
    ids: Any = np.full(len(files), spec_ids) if isinstance(spec_ids, int) else np.array(spec_ids)
    return table.append_column(SPEC_ID, pa.array(ids.astype(np.int32), pa.int32()))
