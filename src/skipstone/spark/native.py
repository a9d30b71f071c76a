"""The files of a plan that Spark's own Parquet reader reads, in a few frames: one for each kind of treatment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame, SparkSession

from skipstone.metadata.reserved import FIELD_ID_MAX
from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY
from skipstone.metadata.types import Field
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.nodes import TRUE, field_ids
from skipstone.scan import Scan
from skipstone.spark.columns import column_of, is_native, read_schema, scan_columns
from skipstone.spark.file_list import file_frame
from skipstone.spark.filters import Untranslatable, to_spark_filter
from skipstone.spark.paths import hadoop_uris
from skipstone.spark.scan_names import name_owners
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute


def native_frames(spark: SparkSession, scan: Scan, plan: ScanPlan) -> tuple[list[DataFrame], Any]:
    """The frames, and the rows of the plan's files that are left to another reader."""
    everything = np.arange(len(plan))
    if not all(f.id <= FIELD_ID_MAX and is_native(f) for f in scan.wanted.fields):
        return [], everything
    if NAME_MAPPING_PROPERTY in plan.metadata.properties:
        return [], everything
    files = plan.files
    possible = pc.equal(pc.utf8_lower(files.column("file_format")), "parquet").to_numpy()
    possible &= files.column("key_metadata").is_null().to_numpy()
    possible &= pc.list_value_length(files.column("deletes")).to_numpy() == 0
    is_sure = files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES
    frames = []
    for rows, filtered in ((possible & is_sure, False), (possible & ~is_sure, True)):
        if not rows.any():
            continue
        try:
            frames.append(_frame(spark, scan, plan.taking(np.flatnonzero(rows)), filtered))
        except Untranslatable:
            possible &= ~rows
    return frames, np.flatnonzero(~possible)


def _frame(spark: SparkSession, scan: Scan, plan: ScanPlan, filtered: bool) -> DataFrame:
    owners = name_owners(plan.metadata)
    needed: dict[int, Field] = {f.id: f for f in scan.wanted.fields}
    if filtered:
        for field_id in field_ids(plan.predicate):
            top = next(iter(reversed([*plan.schema.ancestors(field_id)])), plan.schema.field(field_id))
            needed[top.id] = top
    columns = scan_columns(list(needed.values()), owners)
    frame = file_frame(
        spark,
        hadoop_uris(scan.storage, plan.files.column("file_path")),
        plan.files.column("file_size_in_bytes").combine_chunks(),
        np.arange(len(plan)),
        read_schema(columns),
    )
    if filtered and plan.predicate != TRUE:
        frame = frame.where(to_spark_filter(plan.predicate, column_of(columns, plan.schema)))
    wanted = scan_columns(list(scan.wanted.fields), owners)
    return frame.select(*[c.shown for c in wanted.values()])
