"""A planned scan as a native Spark DataFrame.

The frame reads the files that the plan kept and no others: Spark's own vectorised Parquet reader where it can give the
columns, our reader in Spark tasks where it cannot. Floats are compared as Spark does, whatever the scan says: the plan
is made for the engine that will run it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from skipstone.metadata.types import walk
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import field_ids
from skipstone.scan import Scan
from skipstone.spark.native import native_frames
from skipstone.spark.session import active
from skipstone.spark.through_arrow import read_through_arrow
from skipstone.spark.treatments import identity_sources
from skipstone.spark.types import to_spark_struct


def read_scan(scan: Scan, spark: SparkSession | None = None) -> DataFrame:
    """The scan's rows in a session: the given one, the active one, or a new one."""
    meant = as_spark_reads(scan)
    shown = to_spark_struct(meant.wanted, all_optional=True)
    host = active(spark)
    plan = plan_for_spark(meant)
    frames = _frames(host, meant, plan) if len(plan) else []
    if not frames:
        return host.createDataFrame([], shown)
    frame = reduce(lambda a, b: a.unionAll(b), frames)
    return frame if scan.limit is None else frame.limit(scan.limit)


def as_spark_reads(scan: Scan) -> Scan:
    """The same scan with floats compared as Spark does: its plan names the files that the frame reads."""
    return scan if scan.float_order is FloatOrder.SPARK else replace(scan, float_order=FloatOrder.SPARK)


def plan_for_spark(scan: Scan) -> ScanPlan:
    """The plan, with the facts that prove which files hold the columns that their partition could tell."""
    asked = {f.id for top in scan.wanted.fields for f in (top, *walk(top.type))} | field_ids(scan.predicate)
    doubtful = identity_sources(scan.metadata) & asked
    if not doubtful:
        return scan.plan()
    plan = plan_scan(
        scan.metadata,
        scan.storage,
        snapshot=scan.snapshot,
        schema=scan.schema,
        predicate=scan.predicate,
        float_order=scan.float_order,
        facts_of=doubtful,
    )
    return plan if scan.limit is None else plan.limited(scan.limit)


def _frames(spark: SparkSession, scan: Scan, plan: ScanPlan) -> list[DataFrame]:
    """A frame for each kind of treatment that some file needs."""
    native, others = native_frames(spark, scan, plan)
    if len(others):
        native.append(read_through_arrow(spark, plan.taking(others), scan.storage, scan.wanted))
    return native
