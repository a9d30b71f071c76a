"""The rows that a statement works out, once: what becomes of them, and what marks say about each.

They are asked for twice (where the old rows are, what the new ones are) and must be the same both times. A few are
brought here as Arrow, in one job, and written from here; of many, Spark keeps those that they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow
import pyarrow.compute
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)
from skipstone.plan.scan import ScanPlan
from skipstone.scan import Scan
from skipstone.spark.java import frame_of, java_class, java_static, java_type
from skipstone.spark.scan_names import quoted

pa: Any = pyarrow
pc: Any = pyarrow.compute

ACTION: Final = "__action"
_LITERAL: Final = "org.apache.spark.sql.catalyst.expressions.Literal"
_LIMIT: Final = "org.apache.spark.sql.catalyst.plans.logical.LocalLimit"
# Up to here rows come to this process: as many, of as many bytes, out of files of as many bytes.
ROWS_HERE_MAX: Final = 250_000
_BYTES_HERE_MAX: Final = 64 << 20
_READ_BYTES_MAX: Final = 2 << 30
# More partitions than a frame has.
_PARTITIONS_MAX: Final = 1 << 20
# What a row takes in memory for each byte that it takes in a file, about.
_UNPACKED: Final = 4
# Values that Spark hands over as they are.
_PLAIN: Final = (
    BooleanType, IntType, LongType, FloatType, DoubleType, DecimalType, StringType, BinaryType, DateType, TimestampType,
    TimestamptzType,
)  # fmt: skip


class Settled(Protocol):
    """Rows with marks; each has the number of an action, null where nothing is done."""

    @property
    def marks(self) -> Any:
        """What the marks say, as an Arrow table."""

    def rows(self, actions: Sequence[int]) -> Any:
        """The rows that these actions make, without marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparse:
    """The same rows for where they come here: without some values, which are `filled` in afterwards."""

    frame: Any
    filled: Callable[[Any], Any]


@contextmanager
def settled(
    found: Callable[[], Any],
    made: Callable[[Any], Any],
    marks: Sequence[str],
    scan: Scan,
    *,
    expected: int | None = None,
    sparse: Sparse | None = None,
) -> Iterator[Settled]:
    """The rows that `made` makes of those found; `marks` are no columns of the table.

    Rows `expected` to be few are brought here at once; Spark keeping what was found would be work for nothing.
    """
    rows_max = rows_here_max(scan)
    is_tried = is_few(expected, scan)
    if is_tried:
        way = sparse or Sparse(frame=made(found()), filled=_as_they_are)
        table = collect_up_to(way.frame, rows_max)
        if table is not None:
            yield _Collected(table, marks, way.filled)
            return
    kept = found().persist()
    try:
        frame = made(kept)
        table = collect_up_to(frame, rows_max) if rows_max and not is_tried else None
        yield _Kept(frame, marks) if table is None else _Collected(table, marks, _as_they_are)
    finally:
        kept.unpersist()


def _as_they_are(rows: Any) -> Any:
    return rows


def collect_up_to(frame: Any, rows_max: int) -> Any:
    """All rows as an Arrow table; None if there are more than so many. No task hands over more than one more.

    Spark compiles a limit under a new name each time, and with it whatever makes the rows: code that has to warm up
    again, over every row. Partitions that stay as they are keep the two apart.
    """
    spark = frame.sparkSession
    frame = frame.coalesce(_PARTITIONS_MAX)
    limit = java_static(spark._jvm, _LITERAL, "create")(rows_max + 1, java_type(spark, T.IntegerType()))
    plan = java_class(spark._jvm, _LIMIT)(limit, frame._jdf.queryExecution().analyzed())
    table = frame_of(spark, plan).toArrow()
    return table if table.num_rows <= rows_max else None


def rows_here_max(scan: Scan) -> int:
    """How many rows of a table may come here; 0 if none had better."""
    plan = scan.plan()
    read = _sum(plan, "file_size_in_bytes")
    if read > _READ_BYTES_MAX or not all(isinstance(f.type, _PLAIN) for f in scan.schema.fields):
        return 0
    row_bytes = max(1, _UNPACKED * read // max(1, _sum(plan, "record_count")))
    return min(ROWS_HERE_MAX, _BYTES_HERE_MAX // row_bytes)


def is_few(expected: int | None, scan: Scan) -> bool:
    """Whether rows of a table are expected to be few enough to come here."""
    return expected is not None and 0 < expected <= rows_here_max(scan)


def rows_in(scan: Scan) -> int:
    """How many rows the files of a scan hold."""
    return _sum(scan.plan(), "record_count")


def _sum(plan: ScanPlan, column: str) -> int:
    return int(pc.sum(plan.files.column(column)).as_py() or 0)


@dataclass(frozen=True, slots=True)
class _Collected:
    table: Any
    names: Sequence[str]
    filled: Callable[[Any], Any]

    @property
    def marks(self) -> Any:
        return self.table.select(self.names)

    def rows(self, actions: Sequence[int]) -> Any:
        chosen = pc.is_in(self.table.column(ACTION), value_set=pa.array(actions, pa.int32()))
        return self.filled(self.table.filter(chosen)).drop_columns(list(self.names))


@dataclass(frozen=True, slots=True)
class _Kept:
    frame: Any
    names: Sequence[str]

    @property
    def marks(self) -> Any:
        return self.frame.select(*map(quoted, self.names)).toArrow()

    def rows(self, actions: Sequence[int]) -> Any:
        return self.frame.where(F.col(ACTION).isin(list(actions))).drop(*self.names)
