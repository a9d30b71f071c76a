"""ANALYZE of all columns beside Spark's own, Iceberg's distinct counts and a bare scan of the same files.

All sides run in turn in one session, so that a slow moment of the machine hits each of them. Spark's ANALYZE computes
counts, bounds, distinct values and lengths; Iceberg's procedure distinct values only; ours all of that with NaN counts,
quantiles and frequent values.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.support.spark import CATALOG, RuntimeUnavailable, iceberg_session

import skipstone
from benchmarks.report import Figure
from benchmarks.spark import COLUMNS, PLAIN, in_turn, rows_of
from skipstone.spark import prepared, session

ROWS: Final = 8_000_000
QUICK_ROWS: Final = 2_000_000
SPARK: Final = "Spark's ANALYZE"
ICEBERG: Final = "Iceberg's compute_table_stats"
SHARE_MORE: Final = 100  # one row in so many is added


def analyze_figures(*, quick: bool) -> list[Figure]:
    rows, passes = (QUICK_ROWS, 2) if quick else (ROWS, 3)
    with tempfile.TemporaryDirectory(prefix="skipstone-analyze-") as folder:
        warehouse = Path(folder) / "warehouse"
        warehouse.mkdir()
        try:
            spark, has_iceberg = prepared(iceberg_session(warehouse)), True
        except RuntimeUnavailable:
            spark, has_iceberg = session(), False
        lake = skipstone.catalog(str(warehouse))
        return _compared(spark, lake, rows, passes, has_iceberg=has_iceberg)


def _compared(spark: Any, lake: Any, rows: int, passes: int, *, has_iceberg: bool) -> list[Figure]:
    for name in ("ours", "theirs") if has_iceberg else ("ours",):
        lake.create_table(f"db.{name}", list(COLUMNS), format_version=2).append(rows_of(spark, rows))
    table = lake.load_table("db.ours")
    data = table.location.removeprefix("file:") + "/data"
    paths = table.scan().plan().files.column("file_path").to_pylist()
    spark.sql(f"CREATE TABLE plain_rows USING parquet OPTIONS (recursiveFileLookup 'true') LOCATION '{data}'")
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: table.analyze(full=True, spark=spark),
        SPARK: lambda: spark.sql("ANALYZE TABLE plain_rows COMPUTE STATISTICS FOR ALL COLUMNS"),
        PLAIN: lambda: spark.read.parquet(*paths).write.format("noop").mode("overwrite").save(),
    }
    if has_iceberg:
        call = f"CALL {CATALOG}.system.compute_table_stats(table => 'db.theirs')"
        sides[ICEBERG] = lambda: spark.sql(call).collect()
    took = in_turn(sides, passes)
    spark.sql("DROP TABLE plain_rows")
    more = _more(spark, table, rows, passes)
    what = f"ANALYZE of {rows / 1e6:g} M rows x {len(COLUMNS)} columns"
    ours = took["ours"]
    return [
        _figure(what, ours, took[SPARK], SPARK, 2.5),
        _figure(what, ours, took.get(ICEBERG), ICEBERG, 2.5),
        _figure(what, ours, took[PLAIN], "a bare scan", round(1 / 1.5, 3)),
        _figure("incremental ANALYZE after 1 % more", more, ours, "ours in full", 20),
    ]


def _more(spark: Any, table: Any, rows: int, passes: int) -> float:
    """Seconds for an analysis after one file with a hundredth of the rows has come."""
    added = rows_of(spark, rows // SHARE_MORE).coalesce(1).cache()
    seconds: list[float] = []
    for _ in range(passes + 1):
        table.append(added)
        began = time.perf_counter()
        assert table.analyze(spark=spark).files_read == 1
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def _figure(name: str, ours: float, peer: float | None, peer_name: str, goal: float) -> Figure:
    return Figure(name=name, unit="s", ours=ours, peer=peer, peer_name=peer_name, goal=goal)
