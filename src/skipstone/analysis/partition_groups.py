"""Files of a plan by partition, under names that the caller gives to partitions.

A name is given to a spec id and the partition's values by the names of its fields; None leaves the partition out.
Partitions of one name are one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Value
from skipstone.plan.entries import partition_codes
from skipstone.plan.scan import ScanPlan

PartitionNaming: TypeAlias = Callable[[int, Mapping[str, Value]], str | None]


def partitions_of(plan: ScanPlan, metadata: TableMetadata) -> Iterator[tuple[int, dict[str, Value], list[int]]]:
    """Spec id, values by name, and the rows of the plan that are the partition's files."""
    codes = partition_codes(plan.files.column("spec_id"), plan.files.column("partition"))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, starts) if len(order) else ():
        spec_id = plan.files.column("spec_id")[int(rows[0])].as_py()
        values = plan.partition_of(int(rows[0]))
        yield spec_id, {f.name: values.get(f.field_id) for f in metadata.spec(spec_id).fields}, rows.tolist()


def rows_by_name(plan: ScanPlan, metadata: TableMetadata, name_of: PartitionNaming) -> dict[str, list[int]]:
    """The rows of the plan under each name."""
    found: dict[str, list[int]] = {}
    for spec_id, values, rows in partitions_of(plan, metadata):
        name = name_of(spec_id, values)
        if name is not None:
            found.setdefault(name, []).extend(rows)
    return found
