"""Rows of partitions counted by reading: what metadata cannot tell where equality or position deletes reach.

Spec: "Partition Statistics File" (total_record_count).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow

from skipstone.analysis.partition_counts import places_in
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.plan.scan import plan_scan
from skipstone.read.rows import read_plan
from skipstone.stats.partition_layout import TOTAL_RECORD_COUNT
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.storage.protocol import Storage

pa: Any = pyarrow


def with_counted_rows(
    statistics: PartitionStatistics, metadata: TableMetadata, storage: Storage, snapshot: Snapshot
) -> PartitionStatistics:
    """The same with every `total_record_count`."""
    rows = statistics.rows
    totals = rows.column(TOTAL_RECORD_COUNT).combine_chunks()
    unknown = np.flatnonzero(totals.is_null().to_numpy(zero_copy_only=False))
    if not len(unknown):
        return statistics
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=metadata.current_schema)
    places = places_in(rows, plan.files)
    counted = totals.fill_null(0).to_numpy(zero_copy_only=False).copy()
    for place in unknown.tolist():
        part = replace(plan, files=plan.files.take(pa.array(np.flatnonzero(places == place))))
        counted[place] = sum(b.num_rows for b in read_plan(part, storage, wanted=StructType(())))
    at = rows.schema.get_field_index(TOTAL_RECORD_COUNT)
    return replace(statistics, rows=rows.set_column(at, TOTAL_RECORD_COUNT, pa.array(counted, pa.int64())))
