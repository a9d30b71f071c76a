"""ANALYZE TABLE ... FOR COLUMNS with results by partition, beside the plain analysis of the same files.

Both read every file in each pass. The plain one says what is known of the table; Hive's says it of every partition as
well, counts distinct values with Hive's own sketch beside ours, and stores all of it in the metastore's tables.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import skipstone
from benchmarks.report import Figure
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.session import HiveSession
from skipstone.hive.store import HiveStore
from skipstone.stats.places import stats_directory
from skipstone.table import Table

ROWS_PER_PARTITION = 200_000


def analyze_figure(*, quick: bool) -> Figure:
    partitions, passes = (8, 5) if quick else (20, 5)
    home = Path(tempfile.mkdtemp(prefix="skipstone-hive-analyze-"))
    try:
        lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home / "lake"))
        table = lake.create_table("db.t", _rows(0).schema, partition_by=["p"])
        table.append(pa.concat_tables([_rows(number) for number in range(partitions)]))
        store = HiveStore(f"sqlite:///{home}/hive.db")
        session = HiveSession(store, database="db", analyzer=LakeAnalyzer(lake, store))
        ours, plain = _both(
            lambda: session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS"),
            lambda: table.refresh().analyze(),
            lambda: _forget(table),
            passes,
        )
        store.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return Figure(
        name="analyze for columns",
        unit="s",
        ours=ours,
        peer=plain,
        peer_name="our plain ANALYZE",
        goal=1 / 1.15,
        note=f"{partitions} partitions x {ROWS_PER_PARTITION:,} rows x 8 columns; at most 1.15 times the plain one",
    )


def _both(
    ours: Callable[[], object], plain: Callable[[], object], forget: Callable[[], object], passes: int
) -> tuple[float, float]:
    """The least of passes taken in turn, so that what else the machine does falls on neither."""
    seconds: dict[str, list[float]] = {"ours": [], "plain": []}
    for number in range(passes + 1):
        for name, work in (("ours", ours), ("plain", plain)):
            forget()
            began = time.perf_counter()
            work()
            if number:
                seconds[name].append(time.perf_counter() - began)
    return min(seconds["ours"]), min(seconds["plain"])


def _forget(table: Table) -> None:
    """Without the files of earlier analyses, each analysis must read all."""
    shutil.rmtree(stats_directory(table.metadata), ignore_errors=True)


def _rows(number: int) -> pa.Table:
    random = np.random.default_rng(number)
    count = ROWS_PER_PARTITION
    wide = random.integers(0, 1 << 40, count)
    moments = (wide % 10**15).astype("datetime64[us]")
    return pa.table(
        {
            "p": pa.array(np.full(count, number, np.int32)),
            "id": pa.array(np.arange(count, dtype=np.int64) + number * count),
            "number": pa.array(wide),
            "few": pa.array(random.integers(0, 50, count).astype(np.int32)),
            "price": pa.array(random.random(count) * 1000),
            "name": pa.array([f"name {value}" for value in random.integers(0, 2000, count)]),
            "unique": pa.array([f"{value:x}" for value in wide]),
            "at": pa.array(moments),
            "is_new": pa.array(wide % 2 == 0),
        }
    )
