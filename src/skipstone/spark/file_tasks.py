"""Work on data files in Spark's tasks: files go out in portions of about as many bytes, Arrow tables come back.

Spark schedules and tries again; a task opens its files itself. A little work is done here and now, because a job takes
longer to start than it would run.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from skipstone.spark.failures import told_as_ours
from skipstone.spark.progress import progress
from skipstone.spark.session import cores_of, is_remote
from skipstone.spark.shipping import is_local
from skipstone.spark.task_writes import ENTRIES, collected, serialized
from skipstone.spark.workers import keep_archives_read, keep_modules

# A few tasks a core even out files that take unlike time; more only cost their start.
_TASKS_PER_CORE: Final = 4
# What a core looks through in about a second; starting a task takes a tenth of that.
BYTES_A_TASK: Final = 64 << 20
_BYTES_HERE_MAX: Final = 16 << 20
# What opening one more file is worth in bytes.
_OPEN_COST_BYTES: Final = 1 << 18
# Portions that take more than this go to their own tasks only; others go to all, which saves a shuffle.
_CLOSURE_BYTES_MAX: Final = 32 << 20

Job = Callable[[Any], pa.Table]


def over_files(
    spark: Any, sizes: Any, portion_of: Callable[[Any], Any], job: Job, *, what: str, bytes_a_task: int = BYTES_A_TASK
) -> list[pa.Table]:
    """Run `job` on portions of files that have these sizes. `portion_of` makes what travels out of the files' rows."""
    costs = np.asarray(sizes, np.int64) + _OPEN_COST_BYTES
    if not len(costs):
        return []
    cores = cores_of(spark)
    is_here = fits_here(spark, sizes)
    rounds = 1 if is_here else max(1, min(_TASKS_PER_CORE, int(costs.sum()) // (cores * bytes_a_task)))
    portions = [portion_of(rows) for rows in balanced(costs, cores * rounds)]
    if is_here:
        with ThreadPoolExecutor(cores) as pool:
            return list(pool.map(job, portions))
    with progress(spark, what), told_as_ours():
        return _in_tasks(spark, portions, job)


def fits_here(spark: Any, sizes: Any) -> bool:
    """Whether files of these sizes are done in this process before a job would start, and this process sees them."""
    is_little = sum(sizes) + len(sizes) * _OPEN_COST_BYTES <= _BYTES_HERE_MAX
    return bool(is_little) and not is_remote(spark) and is_local(spark.sparkContext.master)


def balanced(costs: Any, count: int) -> list[Any]:
    """The rows of at most `count` portions, none empty: the costliest first, each to where there is least."""
    order = np.argsort(-costs, kind="stable").tolist()
    portions: list[list[int]] = [[] for _ in range(max(1, min(count, len(order))))]
    loads = [(0, place) for place in range(len(portions))]
    for row in order:
        load, place = loads[0]
        portions[place].append(row)
        heapq.heapreplace(loads, (load + int(costs[row]), place))
    return [np.sort(np.array(rows, np.int64)) for rows in portions]


def _in_tasks(spark: Any, portions: Sequence[Any], job: Job) -> list[pa.Table]:
    pickled = [pickle.dumps(p) for p in portions]
    if sum(map(len, pickled)) <= _CLOSURE_BYTES_MAX:
        frame = spark.range(0, len(pickled), 1, len(pickled))
        return collected(frame.mapInArrow(partial(_run_numbered, job, pickled), f"{ENTRIES} binary"))
    table = pa.table({"portion": pa.array(pickled, pa.binary())})
    # From one partition, rows go round: each task gets one.
    frame = spark.createDataFrame(table).coalesce(1).repartition(len(portions))
    return collected(frame.mapInArrow(partial(_run, job), f"{ENTRIES} binary"))


def _run_numbered(job: Job, portions: Sequence[bytes], batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from _done(job, [portions[number] for number in batch.column(0).to_pylist()])


def _run(job: Job, batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from _done(job, batch.column(0).to_pylist())


def _done(job: Job, portions: Sequence[bytes]) -> Iterator[Any]:
    keep_archives_read()
    for portion in portions:
        yield serialized(job(pickle.loads(portion)))
    keep_modules()
