"""The skip index of a large table as a Spark job: tasks read manifests and store sidecars, zones come back.

Law: what tasks make is what indexing without Spark makes; a task that is tried again writes the same file over.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa

from skipstone.index.rollup import ManifestZones
from skipstone.maintenance.indexing import IndexJob, Run
from skipstone.spark.file_tasks import over_files
from skipstone.spark.session import active

_ROW: Final = "row"
_ZONES: Final = "zones"
# A manifest holds far more work in a byte than a data file.
_BYTES_A_TASK: Final = 8 << 20

Work = Callable[[IndexJob], ManifestZones | None]


def index_in_tasks(spark: Any = None, *, table: str) -> Run:
    """What runs the work of `build_index` in Spark's tasks, one manifest after the other in each."""

    def run(work: Work, jobs: Sequence[IndexJob]) -> list[ManifestZones | None]:
        sizes = [job.manifest.manifest_length for job in jobs]
        tables = over_files(
            active(spark),
            sizes,
            lambda rows: [(row, jobs[row]) for row in rows.tolist()],
            partial(_indexed, work),
            what=f"indexing {table}",
            bytes_a_task=_BYTES_A_TASK,
        )
        found: list[ManifestZones | None] = [None] * len(jobs)
        for part in tables:
            columns: list[list[Any]] = [part.column(name).to_pylist() for name in (_ROW, _ZONES)]
            for row, zones in zip(*columns, strict=True):
                found[row] = pickle.loads(zones)
        return found

    return run


def _indexed(work: Work, portion: Sequence[tuple[int, IndexJob]]) -> pa.Table:
    rows = [row for row, _ in portion]
    zones = [pickle.dumps(work(job)) for _, job in portion]
    return pa.table({_ROW: pa.array(rows, pa.int64()), _ZONES: pa.array(zones, pa.binary())})
