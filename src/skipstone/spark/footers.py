"""What the files themselves say about their columns, where the table's metadata leaves doubt.

A footer is opened only for files that may lack field ids or columns: those of a table with a name mapping, and those
that nothing proves to hold their own partition columns. Few are opened here, many in Spark tasks.

Spec: "Column Projection".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow
from pyspark.sql import SparkSession

from skipstone.metadata.types import StructType
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan
from skipstone.read.formats import open_file
from skipstone.spark.session import cores_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_HERE_MAX: Final = 256
_THREADS: Final = 8


def structs_of(spark: SparkSession, plan: ScanPlan, storage: Storage) -> list[StructType]:
    """The columns of each file of the plan, in order, with no id where it has none."""
    paths = plan.files.column("file_path").to_pylist()
    formats = plan.files.column("file_format").to_pylist()
    work = list(zip(paths, formats, strict=True))
    if len(work) <= _HERE_MAX:
        return in_parallel(lambda file: _struct(storage, *file), work, threads=_THREADS)
    slices = spark.sparkContext.parallelize(work, cores_of(spark) * 4)
    found: list[StructType] = slices.mapPartitions(_reader(storage)).collect()
    return found


def _reader(storage: Storage) -> Any:
    def read(files: Iterator[tuple[str, str]]) -> Iterator[StructType]:
        for path, file_format in files:
            yield _struct(storage, path, file_format)

    return read


def _struct(storage: Storage, path: str, file_format: str) -> StructType:
    opened = open_file(storage, path, file_format)
    try:
        return opened.struct
    finally:
        opened.close()
