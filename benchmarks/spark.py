"""Tables written and read by Spark through us, beside plain Parquet and Iceberg's own runtime in the same session.

All sides run in turn, pass by pass, so that a slow moment of the machine hits each of them; a figure is the median of
its passes. Iceberg's runtime reads the very table that we wrote, plain Spark the very files. A full scan goes to
Spark's sink that keeps nothing, so that every column of every row is made.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow
from rich.console import Console
from tests.support.spark import CATALOG, RuntimeUnavailable, iceberg_session

import skipstone
from benchmarks.report import Figure
from skipstone.demo.addresses import COLUMNS as ADDRESS_COLUMNS
from skipstone.demo.addresses import addresses
from skipstone.demo.chapters.load import LAYOUT
from skipstone.demo.chapters.skipping import files_holding_a_match, run
from skipstone.demo.story import QUERY, TABLE, Story
from skipstone.demo.ways import WAYS
from skipstone.spark import prepared, session
from skipstone.spark.harvest import Harvest
from skipstone.spark.harvest_jobs import harvest
from skipstone.spark.native_write import bound_bytes_max
from skipstone.write import write_rows
from skipstone.write.metrics import plan_metrics
from skipstone.write.metrics_modes import metrics_modes

pa: Any = pyarrow

PLAIN: Final = "plain Spark"
ICEBERG: Final = "Iceberg's runtime"
GONE: Final = "gone"
COLUMNS: Final = (
    ("id", "long"),
    ("a", "int"),
    ("x", "double"),
    ("name", "string"),
    ("zip", "string"),
    ("amount", "decimal(9,2)"),
    ("ts", "timestamptz"),
)
FILES_TO_PLAN: Final = 50_000
PLANNING_SECONDS_MAX: Final = 3.0
SHARE_MAX: Final = 1.05
STATISTICS_SHARE_MAX: Final = 0.01
STATISTICS_PASSES: Final = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    rows: int
    append_rows: int
    shipping_rows: int
    shipping_times: float  # how many times less than a full scan; few files have less to skip
    passes: int


FULL: Final = Size(rows=8_000_000, append_rows=8_000_000, shipping_rows=1_500_000, shipping_times=20, passes=5)
QUICK: Final = Size(rows=1_000_000, append_rows=500_000, shipping_rows=60_000, shipping_times=1.2, passes=3)


def figures(*, quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="skipstone-spark-") as folder:
        home = Path(folder)
        spark, has_iceberg = _started(home / "warehouse")
        try:
            return [
                *_full_scan(spark, home, size, has_iceberg=has_iceberg),
                *_append(spark, home, size, has_iceberg=has_iceberg),
                _many_files(spark, home),
                *_shipping(spark, home / "shipping", size),
            ]
        finally:
            spark.stop()


def _started(warehouse: Path) -> tuple[Any, bool]:
    """A session with Iceberg's runtime where it can be had; without it those peers are not here."""
    warehouse.mkdir(parents=True)
    try:
        return prepared(iceberg_session(warehouse)), True
    except RuntimeUnavailable:
        return session(), False


def rows_of(spark: Any, count: int) -> Any:
    """Seven columns of numbers, text, decimals and moments; every hundredth row is to be deleted later."""
    return spark.range(0, count, 1, 8).selectExpr(
        "id",
        "CAST(pmod(xxhash64(id, 1), 100000) AS INT) AS a",
        "CAST(xxhash64(id, 2) AS DOUBLE) / 1e9 AS x",
        f"CASE WHEN id % 100 = 0 THEN '{GONE}' ELSE concat('name ', pmod(xxhash64(id, 3), 997)) END AS name",
        "lpad(CAST(pmod(xxhash64(id, 4), 100000) AS STRING), 5, '0') AS zip",
        "CAST(pmod(xxhash64(id, 5), 1000000) / 100 AS DECIMAL(9, 2)) AS amount",
        "timestamp_seconds(1700000000 + pmod(xxhash64(id, 6), 31536000)) AS ts",
    )


def in_turn(sides: Mapping[str, Callable[[], object]], passes: int) -> dict[str, float]:
    """The median seconds of each side, after one pass that warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(passes + 1):
        for name, work in sides.items():
            began = time.perf_counter()
            work()
            if number:
                seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def _consume(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _full_scan(spark: Any, home: Path, size: Size, *, has_iceberg: bool) -> list[Figure]:
    lake = skipstone.catalog(str(home / "warehouse"))
    properties = {"write.delete.mode": "merge-on-read"}
    for name in ("whole", "deleted"):
        table = lake.create_table(f"db.{name}", list(COLUMNS), format_version=3, properties=properties)
        table.append(rows_of(spark, size.rows))
    lake.load_table("db.deleted").delete(f"name = '{GONE}'")
    paths = lake.load_table("db.whole").scan().plan().files.column("file_path").to_pylist()
    left = size.rows - size.rows // 100
    assert lake.load_table("db.deleted").scan().to_spark(spark).count() == left
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: _consume(lake.load_table("db.whole").scan().to_spark(spark)),
        PLAIN: lambda: _consume(spark.read.parquet(*paths)),
        "deleted": lambda: _consume(lake.load_table("db.deleted").scan().to_spark(spark)),
    }
    if has_iceberg:
        sides[ICEBERG] = lambda: _consume(spark.table(f"{CATALOG}.db.whole"))
        sides["Iceberg deleted"] = lambda: _consume(spark.table(f"{CATALOG}.db.deleted"))
    took = in_turn(sides, size.passes)
    what = f"scan of {size.rows / 1e6:g} M rows"
    return [
        _figure(what, took["ours"], took[PLAIN], PLAIN, 1),
        _figure(what, took["ours"], took.get(ICEBERG), ICEBERG, 1),
        _figure(f"{what}, 1 % deleted", took["deleted"], took[PLAIN], f"{PLAIN}, none deleted", 0.9),
        _figure(f"{what}, 1 % deleted", took["deleted"], took["ours"], "ours, none deleted", 0.9),
        _figure(f"{what}, 1 % deleted", took["deleted"], took.get("Iceberg deleted"), ICEBERG, 1),
    ]


def _append(spark: Any, home: Path, size: Size, *, has_iceberg: bool) -> list[Figure]:
    """Rows from Parquet files into a table of the same layout, committed, with statistics."""
    source = str(home / "source")
    rows_of(spark, size.append_rows).write.parquet(source)
    lake = skipstone.catalog(str(home / "warehouse"))
    numbers = iter(range(10**6))

    def ours() -> None:
        name = f"db.append_{next(numbers)}"
        table = lake.create_table(name, list(COLUMNS), format_version=3)
        table.append(spark.read.parquet(source))
        shutil.rmtree(Path(table.location.removeprefix("file:")) / "data")

    def plain() -> None:
        target = home / f"plain_{next(numbers)}"
        spark.read.parquet(source).write.option("compression", "zstd").parquet(str(target))
        shutil.rmtree(target)

    def iceberg() -> None:
        name = f"{CATALOG}.db.theirs_{next(numbers)}"
        spark.read.parquet(source).writeTo(name).using("iceberg").tableProperty("format-version", "3").create()
        spark.sql(f"DROP TABLE {name} PURGE")

    sides: dict[str, Callable[[], object]] = {"ours": ours, PLAIN: plain}
    if has_iceberg:
        sides[ICEBERG] = iceberg
    took = in_turn(sides, size.passes)
    what = f"append of {size.append_rows / 1e6:g} M rows"
    kept = lake.create_table("db.append_kept", list(COLUMNS), format_version=3)
    kept.append(spark.read.parquet(source))
    beyond, allowed = _beyond_footers(spark, kept), STATISTICS_SHARE_MAX * took["ours"]
    return [
        _figure(what, took["ours"], took[PLAIN], PLAIN, round(1 / SHARE_MAX, 3)),
        _figure(what, took["ours"], took.get(ICEBERG), ICEBERG, round(1 / SHARE_MAX, 3)),
        _figure(f"{what}: statistics beyond the footers", beyond, allowed, "1 % of the append", 1),
    ]


def _beyond_footers(spark: Any, table: Any) -> float:
    """What it takes an append to collect statistics, less what it takes to read the same footers and collect none."""
    files = table.scan().plan().files
    listed = list(
        zip(files.column("file_path").to_pylist(), files.column("file_size_in_bytes").to_pylist(), strict=True)
    )
    metadata = table.metadata
    schema, order = metadata.current_schema, metadata.default_sort_order

    def job(properties: Mapping[str, str]) -> Harvest:
        modes = metrics_modes(schema, properties, order)
        return Harvest(
            storage=table.storage,
            schema=schema,
            spec=metadata.default_spec,
            plan=plan_metrics(schema.struct, modes),
            sort_order_id=order.order_id,
            bound_bytes_max=bound_bytes_max(schema, modes),
            leaf_ids=tuple(f.id for f in schema.fields),
        )

    with_statistics, without = job(metadata.properties), job({"write.metadata.metrics.default": "none"})
    sides = {
        "with": lambda: harvest(spark, listed, with_statistics),
        "without": lambda: harvest(spark, listed, without),
    }
    took = in_turn(sides, STATISTICS_PASSES)
    return max(took["with"] - took["without"], 1e-6)


def _many_files(spark: Any, home: Path) -> Figure:
    """From a table somebody else has just committed to a DataFrame; no file is opened, so they need not exist."""
    lake = skipstone.catalog(str(home / "warehouse"))
    table = lake.create_table("db.many", [("id", "long"), ("zip", "string")], format_version=3)
    rows = pa.table({"id": pa.array([1], pa.int64()), "zip": ["10001"]})
    one: Any = write_rows(rows, metadata=table.metadata, storage=table.storage)
    (path,) = one.column("file_path").to_pylist()
    many = one.take(pa.array([0] * FILES_TO_PLAN))
    names = [f"{path.removesuffix('.parquet')}-{n:06d}.parquet" for n in range(FILES_TO_PLAN)]
    place = many.schema.get_field_index("file_path")
    table.add_files(many.set_column(place, "file_path", pa.array(names)))

    def plan() -> None:
        scan = lake.load_table("db.many").scan("zip = '10001'")
        assert len(scan.plan()) == FILES_TO_PLAN
        assert scan.to_spark(spark).columns == ["id", "zip"]

    took = in_turn({"ours": plan}, 3)
    return _figure(f"a DataFrame over {FILES_TO_PLAN:,} files", took["ours"], PLANNING_SECONDS_MAX, "the limit", 1)


def _shipping(spark: Any, home: Path, size: Size) -> list[Figure]:
    """The demo's query: files read against those that hold a match, and time against that of a full scan."""
    lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home))
    table = lake.create_table(
        TABLE,
        list(ADDRESS_COLUMNS),
        partition_by=["state"],
        sort_by=["zip_code"],
        format_version=3,
        properties=LAYOUT,
    )
    table.append(addresses(spark, size.shipping_rows, 7))
    story = Story(
        lake=lake,
        spark=spark,
        console=Console(quiet=True),
        directory=home,
        rows=size.shipping_rows,
        seed=7,
        loaded=table,
    )
    off, best = WAYS[0], WAYS[-1]
    assert run(story, off)[1] == run(story, best)[1]
    took = in_turn({way.name: lambda way=way: run(story, way) for way in (off, best)}, size.passes)  # type: ignore[misc]
    kept = best.scan_of(table, QUERY).plan()
    files = len(off.scan_of(table, QUERY).plan())
    return [
        Figure(
            name=f"shipping query over {files:,} files: files read",
            unit="files",
            ours=len(kept),
            peer=files_holding_a_match(story),
            peer_name="files with a match",
            goal=round(1 / SHARE_MAX, 3),
        ),
        _figure("shipping query: time", took[best.name], took[off.name], "a full scan", size.shipping_times),
    ]


def _figure(name: str, ours: float, peer: float | None, peer_name: str, goal: float) -> Figure:
    return Figure(name=name, unit="s", ours=ours, peer=peer, peer_name=peer_name, goal=goal)
