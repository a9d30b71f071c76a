"""How many different values a column has, and how that is known."""

from __future__ import annotations

from skipstone.layout.overlap import Sweep
from skipstone.metadata.types import BooleanType
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.nodes import Column
from skipstone.stats.registered import of_known_snapshots

SKETCH_TYPE = "apache-datasketches-theta-v1"
FROM_SKETCH = "from a sketch of this snapshot"
FROM_OLD_SKETCH = "from a sketch of an older snapshot"
FROM_BOUNDS = "at least as many as there are different bounds"
BOTH = "a boolean has no others"
EXACTLY_ONE_EACH = "every file has one value"


def distinct_values(plan: ScanPlan, column: Column, sweep: Sweep) -> tuple[int | None, str]:
    """The number of distinct values with its basis; None where nothing is known."""
    sketched = _sketched(plan, column)
    if sketched is not None:
        return sketched
    if sweep.num_cells == 0:
        return None, "unknown"
    if (sweep.low == sweep.high).all() and len(sweep.low) == len(plan):
        return sweep.num_bounds, EXACTLY_ONE_EACH
    if isinstance(column.type, BooleanType) and sweep.num_bounds == 2:
        return 2, BOTH
    return sweep.num_bounds, FROM_BOUNDS


def _sketched(plan: ScanPlan, column: Column) -> tuple[int, str] | None:
    """The newest registered sketch of the column alone."""
    order = {s.snapshot_id: s.sequence_number for s in plan.metadata.snapshots}
    newest: tuple[int, int, int] | None = None
    for file in of_known_snapshots(plan.metadata.statistics, plan.metadata).values():
        for blob in file.blob_metadata:
            text = blob.properties.get("ndv", "")
            if blob.type == SKETCH_TYPE and blob.fields == (column.field_id,) and text.isdigit():
                found = (order[file.snapshot_id], file.snapshot_id, int(text))
                newest = found if newest is None else max(newest, found)
    if newest is None:
        return None
    is_current = plan.snapshot is not None and newest[1] == plan.snapshot.snapshot_id
    return max(newest[2], 1), FROM_SKETCH if is_current else FROM_OLD_SKETCH
