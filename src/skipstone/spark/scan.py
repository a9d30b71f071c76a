"""A planned scan as a native Spark DataFrame.

The frame reads the files that the plan kept and no others: Spark's own vectorised Parquet reader where it can give the
columns, our reader in Spark tasks where it cannot. Floats are compared as Spark does, whatever the scan says: the plan
is made for the engine that will run it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from skipstone.plan.scan import ScanPlan
from skipstone.predicate.float_order import FloatOrder
from skipstone.scan import Scan
from skipstone.spark.native import native_frames
from skipstone.spark.session import active
from skipstone.spark.through_arrow import read_through_arrow
from skipstone.spark.types import to_spark_struct


def read_scan(scan: Scan, spark: SparkSession | None = None) -> DataFrame:
    """The scan's rows in a session: the given one, the active one, or a new one."""
    meant = as_spark_reads(scan)
    shown = to_spark_struct(meant.wanted, all_optional=True)
    host = active(spark)
    plan = meant.plan()
    frames = _frames(host, meant, plan) if len(plan) else []
    if not frames:
        return host.createDataFrame([], shown)
    frame = reduce(lambda a, b: a.unionAll(b), frames)
    return frame if scan.limit is None else frame.limit(scan.limit)


def as_spark_reads(scan: Scan) -> Scan:
    """The same scan with floats compared as Spark does: its plan names the files that the frame reads."""
    return scan if scan.float_order is FloatOrder.SPARK else replace(scan, float_order=FloatOrder.SPARK)


def _frames(spark: SparkSession, scan: Scan, plan: ScanPlan) -> list[Any]:
    """A frame for each kind of treatment that some file needs."""
    native, others = native_frames(spark, scan, plan)
    if len(others):
        native.append(read_through_arrow(spark, plan.taking(others), scan.storage, scan.wanted))
    return native
