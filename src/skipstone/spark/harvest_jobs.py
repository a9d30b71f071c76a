"""Where footers are read: here, when there are few and this machine has them, else in Spark's tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import pyarrow as pa

from skipstone.spark.harvest import Harvest
from skipstone.spark.session import cores_of, is_remote
from skipstone.spark.shipping import is_local
from skipstone.spark.task_writes import ENTRIES, collected, serialized

# Starting Python workers takes longer than reading this many footers.
_FILES_HERE_MAX: Final = 256
_FILES_A_TASK_MIN: Final = 64


def harvest(spark: Any, files: Sequence[tuple[str, int]], job: Harvest) -> list[pa.Table]:
    """Entries of files by path and size."""
    if not files:
        return []
    if len(files) <= _FILES_HERE_MAX and not is_remote(spark) and is_local(spark.sparkContext.master):
        return _here(files, job, cores_of(spark))
    tasks = max(1, min(cores_of(spark), len(files) // _FILES_A_TASK_MIN))
    table = pa.table({"path": [p for p, _ in files], "size": pa.array([s for _, s in files], pa.int64())})
    frame = spark.createDataFrame(table).repartition(tasks)
    return collected(frame.mapInArrow(_reading(job), f"{ENTRIES} binary"))


def _here(files: Sequence[tuple[str, int]], job: Harvest, threads: int) -> list[pa.Table]:
    parts = [files[i::threads] for i in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        tables = list(pool.map(job.entries, [p for p in parts if p]))
    return [t for t in tables if t.num_rows]


def _reading(job: Harvest) -> Callable[[Iterator[Any]], Iterator[Any]]:
    return partial(_read, job)


def _read(job: Harvest, batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        files = list(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True))
        if files:
            yield serialized(job.entries(files))
