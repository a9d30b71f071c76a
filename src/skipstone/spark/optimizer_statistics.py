"""What Spark's optimizer is told about the rows of a frame: how many, how large, and what is in their columns.

Laws: statistics never change rows, only how Spark gets at them. They are looked up only where the session uses them,
and told only while they are fresh. Where files were skipped, the columns that the filter looks at are told narrower, so
that Spark does not count the same filter twice and take a large frame for a small one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import pyarrow.compute
from pyspark.sql import SparkSession

from skipstone.analysis.table_statistics import analysed_statistics
from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.types import BinaryType, PrimitiveType, StringType, Value
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.nodes import field_ids
from skipstone.scan import Scan
from skipstone.spark.columns import ScanColumn
from skipstone.stats.column_statistics import ColumnStatistics, TableStatistics
from skipstone.zones.bounds import without_odd

pc: Any = pyarrow.compute

SETTING: Final = "spark.skipstone.statistics"
_USED_BY: Final = ("spark.sql.cbo.enabled", "spark.sql.cbo.planStats.enabled")
# Statistics of a table of which more than this share has changed since are not told.
_STALE_SHARE: Final = 0.1
_BUCKETS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Buckets of `height` rows each: edges, one more than buckets, and distinct values in each."""

    height: float
    edges: tuple[float, ...]
    ndvs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedColumn:
    """One column. None is unknown, and then not told."""

    type: PrimitiveType
    null_count: int | None = None
    ndv: int | None = None
    low: Value = None
    high: Value = None
    average_length: int | None = None
    max_length: int | None = None
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A relation: the files of one frame, under the names that its columns have there."""

    table: str
    row_count: int
    size_in_bytes: int
    columns: Mapping[str, PublishedColumn] = field(default_factory=dict)


def is_wanted(spark: SparkSession) -> bool:
    """Whether the optimizer of a session looks at statistics, and nobody has asked to leave them out."""
    said = (spark.conf.get(SETTING, None) or "auto").lower()
    if said in ("on", "off"):
        return said == "on"
    if said != "auto":
        raise InvalidInput(f"Invalid Spark setting {SETTING}={said!r}: expected auto, on or off.")
    return any(spark.conf.get(key) == "true" for key in _USED_BY)


def fresh_statistics(plan: ScanPlan, scan: Scan) -> TableStatistics | None:
    """The last analysis that the scan's snapshot goes back to, if little has changed since."""
    if plan.snapshot is None:
        return None
    found = analysed_statistics(plan.metadata, scan.storage, plan.snapshot)
    if found is None:
        return None
    added, removed = found.freshness.rows_added_since, found.freshness.rows_removed_since
    if added is None or removed is None:
        return None
    return found if added + removed <= _STALE_SHARE * found.row_count.value else None


def published(
    scan: Scan, plan: ScanPlan, columns: Mapping[int, ScanColumn], known: TableStatistics | None
) -> Published:
    """What to tell about a frame that reads the files of a plan."""
    rows = int(pc.sum(plan.files.column("record_count")).as_py() or 0)
    told: dict[str, PublishedColumn] = {}
    if known is not None and known.row_count.value:
        share = min(1.0, rows / known.row_count.value)
        narrowed = field_ids(scan.predicate) if share < 1 else set()
        for field_id, column in columns.items():
            about = known.columns.get(field_id)
            if about is not None and about.type == column.field.type:
                told[column.name] = (
                    _narrowed(about, plan, rows, share) if field_id in narrowed else _column(about, rows, share)
                )
    return Published(
        table=scan.name,
        row_count=rows,
        size_in_bytes=int(pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0),
        columns=told,
    )


def _column(about: ColumnStatistics, rows: int, share: float) -> PublishedColumn:
    """A column of some of the table's files, which have nothing to do with its values."""
    nulls = min(rows, math.ceil(about.null_count.value * share))
    ndv = None if about.ndv is None else min(about.ndv.value, rows - nulls)
    return PublishedColumn(
        type=about.type,
        null_count=nulls,
        ndv=ndv,
        low=None if about.low is None else about.low.value,
        high=None if about.high is None else about.high.value,
        average_length=None if about.average_length is None else math.ceil(about.average_length.value),
        max_length=None if about.max_length is None else about.max_length.value,
        histogram=None if ndv is None else _histogram(about, rows - nulls, ndv),
    )


def _narrowed(about: ColumnStatistics, plan: ScanPlan, rows: int, share: float) -> PublishedColumn:
    """A column by which files were chosen: values lie between the files' bounds, and are as many fewer as rows are."""
    low, high = _bounds_in(plan, about)
    ndv = None if about.ndv is None else max(1, math.ceil(about.ndv.value * share))
    return PublishedColumn(
        type=about.type,
        null_count=min(rows, math.ceil(about.null_count.value * share)),
        ndv=None if ndv is None else min(ndv, rows),
        low=low,
        high=high,
        average_length=None if about.average_length is None else math.ceil(about.average_length.value),
        max_length=None if about.max_length is None else about.max_length.value,
    )


def _bounds_in(plan: ScanPlan, about: ColumnStatistics) -> tuple[Value, Value]:
    """The bounds of a column over the files of a plan; none unless every file has them."""
    facts = None if plan.facts is None else plan.facts.columns.get(about.field_id)
    if facts is None or facts.type != about.type or isinstance(about.type, StringType | BinaryType):
        return None, None
    lower, upper = without_odd(facts.lower, facts.upper)
    if lower is None or upper is None or lower.null_count or upper.null_count or not len(lower):
        return None, None
    return arrow_to_value(about.type, pc.min(lower)), arrow_to_value(about.type, pc.max(upper))


def _histogram(about: ColumnStatistics, rows: int, ndv: int) -> Histogram | None:
    if about.low is None or about.high is None or not isinstance(about.low.value, int | float):
        return None
    found = about.histogram(_BUCKETS)
    if found is None or not rows or not all(map(math.isfinite, found.value)):
        return None
    edges = (float(about.low.value), *found.value[1:-1], float(about.high.value))
    # Where a bucket begins and ends with the same value there is one value in it.
    wide = sum(a < b for a, b in pairwise(edges))
    each = max(1, round((ndv - (_BUCKETS - wide)) / wide)) if wide else 1
    ndvs = tuple(each if a < b else 1 for a, b in pairwise(edges))
    return Histogram(height=rows / _BUCKETS, edges=edges, ndvs=ndvs)
