"""One query, several ways: which files are left when only some levels may skip.

The rows are checked against the whole query in any case; a way decides only what is read. Row groups are Spark's own
business once it has the files: a way says whether its Parquet reader may skip them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.schemas.projection import resolve
from skipstone.plan import ScanPlan, plan_scan
from skipstone.plan.entries import partition_codes
from skipstone.predicate import FloatOrder, Predicate
from skipstone.predicate.nodes import TRUE, field_ids
from skipstone.scan import Scan
from skipstone.table import Table
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_row_groups
from skipstone.zones.merge import merge_zones
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute
pq: Any = pyarrow.parquet


@dataclass(frozen=True, kw_only=True)
class ChosenScan(Scan):
    """A scan over files that were chosen before."""

    chosen: ScanPlan

    @cached_property
    def _plan(self) -> ScanPlan:
        return self.chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Which levels may skip: `scan_of` plans, `skips_row_groups` is whether Spark's reader may look at footers."""

    name: str
    scan_of: Callable[[Table, str], Scan]
    skips_row_groups: bool = False


def scan_with_all_levels(table: Table, query: str) -> Scan:
    """The product's own path."""
    return _wanted(table, query)


def scan_without_skipping(table: Table, query: str) -> Scan:
    return _chosen(table, query, lambda _, plan: np.arange(len(plan)))


def scan_by_partitions(table: Table, query: str) -> Scan:
    """Bounds of whole partitions, merged from their files, and nothing finer."""

    def kept(predicate: Predicate, plan: ScanPlan) -> Any:
        codes = _partition_codes(plan)
        numbers, group = np.unique(codes, return_inverse=True)
        proofs = prove(predicate, merge_zones(_facts(plan), pa.array(group), len(numbers)), FloatOrder.SPARK)
        return np.flatnonzero(~proofs.none.to_numpy(zero_copy_only=False)[group])

    return _chosen(table, query, kept)


def scan_by_files(table: Table, query: str) -> Scan:
    """Bounds of files, and nothing coarser or finer."""

    def kept(predicate: Predicate, plan: ScanPlan) -> Any:
        return np.flatnonzero(~prove(predicate, _facts(plan), FloatOrder.SPARK).none.to_numpy(zero_copy_only=False))

    return _chosen(table, query, kept)


WAYS: Final = (
    Way(name="off", scan_of=scan_without_skipping),
    Way(name="row groups", scan_of=scan_without_skipping, skips_row_groups=True),
    Way(name="partitions", scan_of=scan_by_partitions),
    Way(name="files", scan_of=scan_by_files),
    Way(name="all levels", scan_of=scan_with_all_levels, skips_row_groups=True),
)


def partitions_of(plan: ScanPlan) -> int:
    """How many partitions the files of a plan lie in."""
    return len(np.unique(_partition_codes(plan)))


def row_groups_of(scan: Scan, *, skips: bool) -> tuple[int, int]:
    """How many row groups are left to read, and their bytes, from the footers of the files that are left."""
    groups = size = 0
    for path in scan.plan().files.column("file_path").to_pylist():
        with scan.storage.open(path) as file:
            footer = pq.ParquetFile(file).metadata
        for number in _groups_left(scan, footer) if skips else range(footer.num_row_groups):
            groups += 1
            size += _compressed_size(footer.row_group(number))
    return groups, size


def _groups_left(scan: Scan, footer: Any) -> list[int]:
    projection = resolve(scan.schema, from_parquet_schema(footer.schema))
    proofs = prove_row_groups(scan.predicate, footer, projection, float_order=FloatOrder.SPARK)
    return [int(n) for n in np.flatnonzero(~proofs.none.to_numpy(zero_copy_only=False))]


def _compressed_size(group: Any) -> int:
    return sum(int(group.column(i).total_compressed_size) for i in range(group.num_columns))


def _chosen(table: Table, query: str, kept: Callable[[Predicate, ScanPlan], Any]) -> Scan:
    wanted = _wanted(table, query)
    everything = plan_scan(
        table.metadata,
        table.storage,
        snapshot=wanted.snapshot,
        schema=wanted.schema,
        predicate=TRUE,
        float_order=FloatOrder.SPARK,
        facts_of=tuple(field_ids(wanted.predicate)),
    )
    left = everything.taking(kept(wanted.predicate, everything))
    undecided = pa.repeat(pa.scalar(int(Verdict.UNKNOWN), pa.int8()), len(left))
    place = left.files.schema.get_field_index("verdict")
    plan = replace(left, predicate=wanted.predicate, files=left.files.set_column(place, "verdict", undecided))
    return ChosenScan(
        name=table.name,
        metadata=table.metadata,
        storage=table.storage,
        filter=query,
        columns=wanted.columns,
        float_order=FloatOrder.SPARK,
        chosen=plan,
    )


def _wanted(table: Table, query: str) -> Scan:
    """Counting needs the columns of the filter and no others."""
    bound = table.scan(query).predicate
    columns = [table.schema.name_of(i) for i in sorted(field_ids(bound))]
    return table.scan(query, columns=columns, float_order=FloatOrder.SPARK)


def _facts(plan: ScanPlan) -> Any:
    assert plan.facts is not None
    return plan.facts


def _partition_codes(plan: ScanPlan) -> Any:
    return partition_codes(plan.files.column("spec_id"), plan.files.column("partition"))
