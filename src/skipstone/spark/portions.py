"""A plan in portions, one a task, and what a task does with its portion. Nothing here needs a session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow
from pyspark.sql.datasource import InputPartition

from skipstone.metadata.types import StructType
from skipstone.plan.scan import ScanPlan
from skipstone.read import read_plan
from skipstone.spark.shown_arrow import shown_batch, spark_arrow_schema
from skipstone.spark.task_writes import slim
from skipstone.storage.protocol import Storage

pa: Any = pyarrow


@dataclass(frozen=True, kw_only=True)
class Portion(InputPartition):
    """Some files of a plan, with all that a task needs to read them."""

    plan: ScanPlan
    storage: Storage
    wanted: StructType


def portions_of(plan: ScanPlan, count: int) -> list[Any]:
    """The rows of the plan's files in so many portions of about as many bytes; fewer if there are fewer files."""
    sizes = plan.files.column("file_size_in_bytes").to_numpy()
    order = np.argsort(-sizes, kind="stable")
    count = max(1, min(len(order), count))
    return [plan.files.take(pa.array(np.sort(order[i::count]))).combine_chunks() for i in range(count)]


def input_partitions(plan: ScanPlan, storage: Storage, wanted: StructType, count: int) -> list[Portion]:
    """The plan as what Spark hands to the tasks of a data source."""
    if len(plan) == 0:
        return []
    rest = replace(plan, metadata=slim(plan.metadata), snapshot=None, facts=None)
    return [
        Portion(plan=replace(rest, files=files), storage=storage, wanted=wanted) for files in portions_of(plan, count)
    ]


def read_portion(portion: Portion) -> Iterator[Any]:
    """The rows of a portion as the Arrow batches that Spark takes."""
    schema = spark_arrow_schema(portion.wanted)
    for rows in read_plan(portion.plan, portion.storage, wanted=portion.wanted, threads=1):
        yield shown_batch(rows, portion.wanted, schema)
