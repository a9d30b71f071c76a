"""Rows deleted and merged through SQL, beside Iceberg's own runtime; and queries beside plain Parquet.

Every change is made to a fresh copy of the same rows, in turn with the peer. Iceberg's runtime works on tables that it
wrote itself, in the same session.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.support.spark import CATALOG, RuntimeUnavailable, iceberg_session

import skipstone
from benchmarks.report import Figure
from benchmarks.spark import COLUMNS, ICEBERG, PLAIN, rows_of
from skipstone.spark import prepared, session

MODES: Final = ("merge-on-read", "copy-on-write")


@dataclass(frozen=True, slots=True)
class Size:
    rows: int
    passes: int


FULL: Final = Size(rows=8_000_000, passes=3)
QUICK: Final = Size(rows=400_000, passes=2)


def figures(*, quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="skipstone-changes-") as folder:
        bench = _Bench(Path(folder), size)
        try:
            return [*bench.deletes(), *bench.merges(), *bench.queries()]
        finally:
            bench.spark.stop()


class _Bench:
    def __init__(self, home: Path, size: Size) -> None:
        self.home, self.size = home, size
        (home / "warehouse").mkdir()
        try:
            self.spark, self.has_iceberg = prepared(iceberg_session(home / "warehouse")), True
        except RuntimeUnavailable:
            self.spark, self.has_iceberg = session(), False
        self.lake = skipstone.catalog(str(home / "warehouse"))
        self.source = str(home / "source")
        rows_of(self.spark, size.rows).write.parquet(self.source)
        self._number = 0

    # -- rows deleted and merged

    def deletes(self) -> list[Figure]:
        what = f"{self.size.rows / 1e6:g} M rows"
        by_row = self._compared(lambda table: f"DELETE FROM {table} WHERE id % 100 = 0", MODES[0])
        whole = self._timed(lambda t: self._sql(f"DELETE FROM {t} WHERE zip < '1'"), self._parted, MODES[1])
        half = self._timed(lambda t: self._sql(f"DELETE FROM {t} WHERE zip < '05'"), self._parted, MODES[1])
        return [
            _figure(f"DELETE of 1 % of {what}, {MODES[0]}", *by_row, ICEBERG, 1),
            _figure("DELETE of a whole partition", whole, half, "rewriting it", 10),
        ]

    def merges(self) -> list[Figure]:
        self.spark.range(0, self.size.rows, 100).selectExpr("id", "CAST(1.5 AS DOUBLE) AS x").createOrReplaceTempView(
            "updates"
        )

        def merge(table: str) -> str:
            return f"MERGE INTO {table} t USING updates s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = s.x"

        return [_figure(f"MERGE of 1 % updates, {mode}", *self._compared(merge, mode), ICEBERG, 1) for mode in MODES]

    def _compared(self, statement: Callable[[str], str], mode: str) -> tuple[float, float | None]:
        """Seconds of our side and of Iceberg's, pass by pass."""
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(self.size.passes + 1):
            seconds = self._once(lambda t: self._sql(statement(t)), self._ours, mode)
            other = self._once(lambda t: self.spark.sql(statement(t)), self._theirs, mode) if self.has_iceberg else 0
            if number:
                ours.append(seconds)
                theirs.append(other)
        return median(ours), median(theirs) if self.has_iceberg else None

    def _timed(self, work: Callable[[str], object], make: Callable[[str], str], mode: str) -> float:
        return median([self._once(work, make, mode) for _ in range(self.size.passes + 1)][1:])

    def _once(self, work: Callable[[str], object], make: Callable[[str], str], mode: str) -> float:
        name = make(mode)
        began = time.perf_counter()
        work(name)
        return time.perf_counter() - began

    def _ours(self, mode: str, **layout: Any) -> str:
        self._number += 1
        name = f"db.ours_{self._number}"
        properties = {f"write.{verb}.mode": mode for verb in ("delete", "merge")}
        table = self.lake.create_table(name, list(COLUMNS), format_version=3, properties=properties, **layout)
        table.append(self.spark.read.parquet(self.source))
        return name

    def _parted(self, mode: str) -> str:
        return self._ours(mode, partition_by=["truncate(1, zip)"])

    def _theirs(self, mode: str) -> str:
        self._number += 1
        name = f"{CATALOG}.db.theirs_{self._number}"
        writer = (
            self.spark.read.parquet(self.source).writeTo(name).using("iceberg").tableProperty("format-version", "3")
        )
        for verb in ("delete", "merge"):
            writer = writer.tableProperty(f"write.{verb}.mode", mode)
        writer.create()
        return name

    def _sql(self, text: str) -> Any:
        return skipstone.sql(self.spark, text, catalog=self.lake)

    # -- queries

    def queries(self) -> list[Figure]:
        """A query for one zip code: of our table, clustered by it, and of the same rows in Parquet as they came."""
        table = self._ours(MODES[0], sort_by=["zip"])
        self.spark.read.parquet(self.source).createOrReplaceTempView("plain")
        near = "SELECT count(*), max(x) FROM {t} WHERE zip = '50123'"

        def planned(frame: Any) -> None:
            frame._jdf.queryExecution().executedPlan()

        took = _in_turn(
            {
                "ours": lambda: self._sql(near.format(t=table)).collect(),
                "plain": lambda: self.spark.sql(near.format(t="plain")).collect(),
                "our plan": lambda: planned(self._sql(near.format(t=table))),
                "plain plan": lambda: planned(self.spark.sql(near.format(t="plain"))),
            },
            3 * self.size.passes,
        )
        overhead = max(took["our plan"] - took["plain plan"], 1e-6)
        return [
            _figure("a selective query", took["ours"], took["plain"], PLAIN, 5),
            _figure("planning it, beyond Spark's own", overhead, 0.1, "the limit", 1),
        ]


def _in_turn(sides: dict[str, Callable[[], object]], passes: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(passes + 2):
        for name, work in sides.items():
            began = time.perf_counter()
            work()
            if number > 1:
                seconds[name].append(time.perf_counter() - began)
    return {name: median(taken) for name, taken in seconds.items()}


def _figure(name: str, ours: float, peer: float | None, peer_name: str, goal: float) -> Figure:
    return Figure(name=name, unit="s", ours=ours, peer=peer, peer_name=peer_name, goal=goal)
