"""Any data file through our own reader, in Spark tasks: correct for every format, type and delete, and slower than
Spark's own Parquet reader. It serves what that reader cannot.

Spark schedules and retries; a task reads whole files and hands out Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow
from pyspark.sql import DataFrame, SparkSession

from skipstone.metadata.types import StructType
from skipstone.plan.scan import ScanPlan
from skipstone.read import read_plan
from skipstone.spark.portions import portions_of
from skipstone.spark.session import cores_of
from skipstone.spark.shown_arrow import shown_batch, spark_arrow_schema
from skipstone.spark.types import to_spark_struct
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_TASKS_PER_CORE: Final = 4
_FILES: Final = "files"


def read_through_arrow(spark: SparkSession, plan: ScanPlan, storage: Storage, wanted: StructType) -> DataFrame:
    """The plan's rows, deletes applied and filtered, with the wanted columns and metadata columns."""
    portions = portions_of(plan, cores_of(spark) * _TASKS_PER_CORE)
    tasks = pa.table({_FILES: pa.array([_as_bytes(p) for p in portions], pa.binary())})
    work = spark.createDataFrame(tasks).repartition(tasks.num_rows)
    return work.mapInArrow(_reader(plan, storage, wanted), to_spark_struct(wanted, all_optional=True))


def _as_bytes(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _reader(plan: ScanPlan, storage: Storage, wanted: StructType) -> Any:
    """What a task does: the files come as rows, everything else travels with the function."""
    rest = replace(plan, files=plan.files.slice(0, 0), facts=None)

    def read(batches: Iterable[Any]) -> Iterator[Any]:
        schema = spark_arrow_schema(wanted)
        for batch in batches:
            for portion in batch.column(0).to_pylist():
                files = pa.ipc.open_stream(portion).read_all()
                for rows in read_plan(replace(rest, files=files), storage, wanted=wanted, threads=1):
                    yield shown_batch(rows, wanted, schema)

    return read
