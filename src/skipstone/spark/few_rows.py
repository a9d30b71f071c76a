"""Scans of a few rows, which one task reads: their frames say that they are one partition.

Spark then has nothing to exchange before it groups, sorts or joins the rows, and a query for a few of them is one job
and not two or three. It is said only where one task reads everything anyway and few rows are left: that task does all
that follows too.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow.compute
from pyspark.sql import DataFrame

from skipstone.plan.scan import ScanPlan
from skipstone.predicate.nodes import And, Compare, In, Op, Predicate

pc: Any = pyarrow.compute

_READ_BYTES_MAX: Final = 256 << 20
# Of files of less than this Spark makes no more than a task a core, most of them for nothing.
_ONE_TASK_BYTES_MAX: Final = 4 << 20
_ROWS_MAX: Final = 100_000
# Values asked for by a filter, of which each is taken to be that of few rows.
_VALUES_MAX: Final = 16


def in_one_partition(frame: DataFrame, plan: ScanPlan, predicate: Predicate) -> DataFrame:
    """The frame, as one partition where it holds few rows. `predicate` is what the rows are asked for by."""
    return frame.coalesce(1) if _is_one_task(plan) and _are_few(plan, predicate) else frame


def _is_one_task(plan: ScanPlan) -> bool:
    """Whether there is nothing that a second task could read."""
    begins = plan.files.column("split_offsets")
    is_one_piece = len(plan) == 1 and len(begins[0].as_py() or ()) == 1
    return _sum(plan, "file_size_in_bytes") <= (_READ_BYTES_MAX if is_one_piece else _ONE_TASK_BYTES_MAX)


def _are_few(plan: ScanPlan, predicate: Predicate) -> bool:
    return _sum(plan, "record_count") <= _ROWS_MAX or _asks_for_values(predicate)


def _sum(plan: ScanPlan, name: str) -> int:
    return int(pc.sum(plan.files.column(name)).as_py() or 0)


def _asks_for_values(predicate: Predicate) -> bool:
    """Whether all rows asked for have one of a few values in some column."""
    match predicate:
        case And():
            return any(_asks_for_values(p) for p in predicate.children)
        case Compare(op=Op.EQ):
            return True
        case In():
            return len(predicate.values) <= _VALUES_MAX
        case _:
            return False
