"""Small commits and scans of tables with deleted rows, with PyIceberg doing the same work on the same machine.

Each side has a SQLite catalog and a warehouse of its own under one temporary directory; the table with deletion vectors
is ours, and both read it. We force every file to disk before a commit refers to it, which PyIceberg does not. What is
loaded once per process (on our side the compiled decoder of manifests, which a process gets once it has read 4,096
entries without it) is loaded before the clock starts, and the first commits warm up both sides.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

import skipstone
from benchmarks.places import new_home, spread_directory
from benchmarks.report import Figure, median_seconds
from skipstone.metadata.avro import decode_numba  # noqa: F401  (loads it)
from skipstone.write import write_rows

pa: Any = pyarrow
pc: Any = pyarrow.compute

PEER: Final = "PyIceberg 0.12"
SMALL_FILES: Final = 100
COMMITS: Final = 500
COMMITS_QUICK: Final = 60
AROUND: Final = 5  # single commits are judged by the median of so many on each side
ROWS: Final = 10_000_000
ROWS_QUICK: Final = 2_000_000
DELETED_EVERY: Final = 100
FILES: Final = 4
GONE: Final = "gone"

_COLUMNS: Final = [("id", "long"), ("name", "string"), ("value", "double")]
_PEER_COLUMNS: Final = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "name", StringType()), NestedField(3, "value", DoubleType())
)


def figures(*, quick: bool) -> list[Figure]:
    with spread_directory() as home:
        return [
            *_many_files(new_home(home), passes=3 if quick else 7),
            *_many_commits(new_home(home), COMMITS_QUICK if quick else COMMITS),
            _deleted_rows(new_home(home), ROWS_QUICK if quick else ROWS, passes=2 if quick else 3),
        ]


def small_rows(count: int) -> Any:
    ids = np.arange(count)
    names = np.char.add("n", (ids % SMALL_FILES).astype(str))
    return pa.table({"id": ids, "name": pa.array(names), "value": ids * 0.5})


def _many_files(home: Path, passes: int) -> list[Figure]:
    """100 files, one to a partition; then somebody who knows nothing of the table opens the catalog and plans it.

    Once the files are written from rows, as appends do, and once they are there and only the table has to learn of
    them. The tables are made before the clock starts.
    """
    rows = small_rows(SMALL_FILES * 10)
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))
    lake, peer = _our_catalog(home), _peer_catalog(home)
    numbers = iter(range(10**6))

    def our_table() -> tuple[str, skipstone.Table]:
        name = f"db.t{next(numbers)}"
        return name, lake.create_table(name, _COLUMNS, partition_by=["name"])

    def their_table() -> tuple[str, Any]:
        name = f"db.t{next(numbers)}"
        return name, peer.create_table(name, _PEER_COLUMNS, partition_spec=spec)

    _, mine = our_table()
    our_files = write_rows(rows, metadata=mine.metadata, storage=mine.storage)
    _, written = their_table()
    written.append(rows)
    their_files = [task.file for task in written.scan().plan_files()]

    def ours(table: tuple[str, skipstone.Table], change: Callable[[skipstone.Table], None]) -> None:
        change(table[1])
        assert len(_our_catalog(home).load_table(table[0]).scan().plan()) == SMALL_FILES

    def theirs(table: tuple[str, Any], change: Callable[[Any], None]) -> None:
        change(table[1])
        with _peer_catalog(home) as catalog:
            assert len(list(catalog.load_table(table[0]).scan().plan_files())) == SMALL_FILES

    def add_theirs(table: Any) -> None:
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for file in their_files:
                append.append_data_file(file)

    def seconds(make: Callable[[], Any], work: Callable[[Any, Any], None], change: Callable[[Any], None]) -> float:
        tables = [make() for _ in range(passes + 1)]
        work(tables.pop(), change)
        return statistics.median(_each_second(lambda: work(tables.pop(), change), passes))

    figures = [
        Figure(
            name=f"append {SMALL_FILES} small files, reload",
            unit="ms",
            ours=seconds(our_table, ours, lambda t: t.append(rows)) * 1e3,
            peer=seconds(their_table, theirs, lambda t: t.append(rows)) * 1e3,
            peer_name=PEER,
            goal=3,
        ),
        Figure(
            name=f"add {SMALL_FILES} written files, reload",
            unit="ms",
            ours=seconds(our_table, ours, lambda t: t.add_files(our_files)) * 1e3,
            peer=seconds(their_table, theirs, add_theirs) * 1e3,
            peer_name=PEER,
            goal=3,
            note="nothing but metadata: a manifest, its list, a metadata file, and all of them read again",
        ),
    ]
    peer.close()
    return figures


def _many_commits(home: Path, count: int) -> list[Figure]:
    """Appends of one row each, one commit after the other."""
    rows = small_rows(1)
    mine = _our_catalog(home).create_table("db.t", _COLUMNS)
    ours = _each_second(lambda: mine.append(rows), count)
    assert len(mine.snapshots) == count
    with _peer_catalog(home) as catalog:
        other = catalog.create_table("db.t", _PEER_COLUMNS)
        theirs = _each_second(lambda: other.append(rows), count)
    return [
        Figure(
            name=f"{count} sequential small appends", unit="s", ours=sum(ours), peer=sum(theirs), peer_name=PEER, goal=3
        ),
        Figure(
            name=f"append number {count}, against the 10th",
            unit="ms",
            ours=statistics.median(ours[-2 * AROUND :]) * 1e3,
            peer=statistics.median(ours[10 - AROUND : 10 + AROUND]) * 1e3,
            peer_name="our 10th",
            goal=0.5,
            note=f"PyIceberg's: {statistics.median(theirs[-2 * AROUND :]) * 1e3:.1f} ms",
        ),
    ]


def _deleted_rows(home: Path, count: int, passes: int) -> Figure:
    """All columns of all rows but every hundredth, which deletion vectors remove."""
    lake = _our_catalog(home)
    properties = {"write.delete.mode": "merge-on-read"}
    table = lake.create_table("db.t", _COLUMNS, format_version=3, properties=properties)
    for part in np.array_split(np.arange(count), FILES):
        names = pa.array([f"name {n}" for n in range(997)]).take(pa.array(part * 7919 % 997))
        is_gone = part % DELETED_EVERY == 0
        names = pc.if_else(pa.array(is_gone), GONE, names)
        table.append(pa.table({"id": part, "name": names, "value": part / 3}))
    table.delete(f"name = '{GONE}'")
    left = count - count // DELETED_EVERY
    with _peer_catalog(home, "ours") as catalog:
        other = catalog.load_table("db.t")

        def ours() -> None:
            assert lake.load_table("db.t").scan().to_arrow().num_rows == left

        def theirs() -> None:
            assert other.scan().to_arrow().num_rows == left

        return Figure(
            name=f"scan of {count // 10**6} M rows, 1 % deleted",
            unit="s",
            ours=median_seconds(ours, passes),
            peer=median_seconds(theirs, passes),
            peer_name=PEER,
            goal=2,
        )


def _each_second(work: Callable[[], object], count: int) -> list[float]:
    seconds: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return seconds


def _our_catalog(home: Path) -> skipstone.Lake:
    return skipstone.catalog(f"sqlite:///{home}/ours.db", warehouse=str(home / "ours"), name="ours")


def _peer_catalog(home: Path, database: str = "theirs") -> Any:
    home.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog(database, uri=f"sqlite:///{home}/{database}.db", warehouse=str(home / database))
    catalog.create_namespace_if_not_exists("db")
    return catalog
