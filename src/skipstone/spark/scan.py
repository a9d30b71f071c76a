"""A planned scan as a native Spark DataFrame.

The frame reads the files that the plan kept and no others: Spark's own vectorised Parquet reader where it can give the
columns, our reader in Spark tasks where it cannot. Floats are compared as Spark does, whatever the scan says: the plan
is made for the engine that will run it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any

import pyarrow.compute
from pyspark.sql import DataFrame, SparkSession

from skipstone.errors import Unsupported
from skipstone.metadata.reserved import FILE, POS
from skipstone.metadata.types import DoubleType, FloatType, StructType, walk
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import field_ids, leaves, term_type
from skipstone.scan import Scan
from skipstone.spark.deleted_positions import without_positions_by_path
from skipstone.spark.empty_relation import no_rows
from skipstone.spark.few_rows import in_one_partition
from skipstone.spark.native import native_frames
from skipstone.spark.optimizer_statistics import is_wanted
from skipstone.spark.scan_names import quoted
from skipstone.spark.session import active, is_remote
from skipstone.spark.through_arrow import read_through_arrow
from skipstone.spark.treatments import identity_sources
from skipstone.spark.types import to_spark_struct

pc: Any = pyarrow.compute


def read_scan(
    scan: Scan,
    spark: SparkSession | None = None,
    *,
    is_filtered: bool = True,
    without: Mapping[str, Any] = MappingProxyType({}),
    numbered: Sequence[str] = (),
) -> DataFrame:
    """The scan's rows in a session: the given one, the active one, or a new one.

    Not filtered, they are all rows of the files that the filter leaves, for those who look at each of them again.
    Rows `without` which they are wanted are told by position, ascending, for each path. In `_file`, files whose paths
    are `numbered` may stand by their number, as text: it is shorter to carry.
    """
    meant = as_spark_reads(scan)
    shown = to_spark_struct(meant.wanted, all_optional=True)
    host = active(spark)
    tells_statistics = is_wanted(host)
    plan = _with_proofs(meant, field_ids(meant.predicate) if tells_statistics else frozenset())
    plan = plan if is_filtered else plan.unfiltered()
    _refuse_encrypted(plan)
    frames = _frames(host, meant, plan, without, numbered) if len(plan) else []
    if not frames:
        return no_rows(host, shown)
    frame = reduce(lambda a, b: a.unionAll(b), frames)
    # What Spark is told about columns does not reach beyond a frame that says how many partitions it has.
    frame = frame if tells_statistics else in_one_partition(frame, plan, meant.predicate)
    return frame if scan.limit is None else frame.limit(scan.limit)


def as_spark_reads(scan: Scan) -> Scan:
    """The same scan with floats compared as Spark does: its plan names the files that the frame reads.

    A plan that the scan has already is kept where it looks at no floats.
    """
    if scan.float_order is FloatOrder.SPARK:
        return scan
    other = replace(scan, float_order=FloatOrder.SPARK)
    looks_at_floats = any(isinstance(term_type(leaf.term), FloatType | DoubleType) for leaf in leaves(scan.predicate))
    if "_plan" in scan.__dict__ and not looks_at_floats:
        return other.planned(replace(scan.plan(), float_order=FloatOrder.SPARK))
    return other


def _with_proofs(scan: Scan, told: Set[int]) -> ScanPlan:
    """The plan, with the facts that prove which files hold the columns that their partition could tell.

    And with those about columns of which the optimizer is told.
    """
    asked = {f.id for top in scan.wanted.fields for f in (top, *walk(top.type))} | field_ids(scan.predicate)
    doubtful = (identity_sources(scan.metadata) & asked) | told
    if not doubtful:
        return scan.plan()
    known = scan.plan_with_facts(doubtful)
    if "_plan" not in scan.__dict__:
        return known if scan.limit is None else known.limited(scan.limit)
    plan = scan.plan()
    places = pc.index_in(plan.files.column("file_path"), value_set=known.files.column("file_path"))
    if known.facts is None or places.null_count:
        return plan
    return replace(plan, facts=known.facts.take(places.combine_chunks()))


def _refuse_encrypted(plan: ScanPlan) -> None:
    keys = plan.files.column("key_metadata")
    if keys.null_count < len(keys):
        path = plan.files.column("file_path").filter(keys.is_valid())[0]
        raise Unsupported(
            f"Cannot read {path}: the file is encrypted, which Spark does not read here. Read it with to_arrow()."
        )


def _frames(
    spark: SparkSession, scan: Scan, plan: ScanPlan, without: Mapping[str, Any], numbered: Sequence[str]
) -> list[DataFrame]:
    """A frame for each kind of treatment that some file needs."""
    # A client of Spark Connect has no session of the JVM to clone.
    if is_remote(spark):
        return [_through_arrow(spark, scan, plan, without)]
    native, others = native_frames(spark, scan, plan, without, numbered)
    if len(others):
        native.append(_through_arrow(spark, scan, plan.taking(others), without))
    return native


def _through_arrow(spark: SparkSession, scan: Scan, plan: ScanPlan, without: Mapping[str, Any]) -> DataFrame:
    if not without:
        return read_through_arrow(spark, plan, scan.storage, scan.wanted)
    shown = scan.wanted.fields
    place = (f for f in (FILE, POS) if f not in shown)
    frame = read_through_arrow(spark, plan, scan.storage, StructType((*shown, *place)))
    return without_positions_by_path(spark, frame, without).select(*(quoted(f.name) for f in shown))
