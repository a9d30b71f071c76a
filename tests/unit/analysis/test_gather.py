"""Column statistics gathered within the write: of added files only, and carried on only where nothing is missing."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import skipstone
from skipstone import statistics as verbs
from skipstone.analysis.file_analysis import FileAnalysis
from skipstone.table import Table

SCHEMA = [("id", "long"), ("name", "string"), ("day", "date")]
GATHER = {"skipstone.stats.auto-gather": "true"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that analyses read."""
    paths: list[str] = []
    analyse = FileAnalysis.analyse

    def counted(self: FileAnalysis, row: int) -> Any:
        paths.append(self.plan.files.column("file_path")[row].as_py())
        return analyse(self, row)

    monkeypatch.setattr(FileAnalysis, "analyse", counted)
    return paths


def make(tmp_path: Path, properties: dict[str, str]) -> Table:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    return lake.create_table("db.t", SCHEMA, partition_by=["day"], properties=properties)


def rows(numbers: range, day: str = "2026-11-16") -> list[dict[str, Any]]:
    return [{"id": n, "name": f"n{n % 10}", "day": date.fromisoformat(day)} for n in numbers]


def told(table: Table) -> tuple[Any, ...]:
    found = table.statistics()
    assert found.freshness.is_current
    number, name = found.column("id"), found.column("name")
    assert number.low is not None and number.high is not None and number.ndv is not None and name.ndv is not None
    return (number.low.value, number.high.value, number.ndv.value, name.ndv.value, found.row_count.value)


def test_each_write_reads_what_it_adds_and_nothing_else(tmp_path: Path, read: list[str]) -> None:
    table = make(tmp_path, GATHER)
    for number in range(3):
        table.append(rows(range(number * 100, number * 100 + 100), f"2026-11-1{number}"))
        assert len(read) == number + 1
        assert told(table) == (0, number * 100 + 99, number * 100 + 100, 10, number * 100 + 100)
    assert len(table.metadata.statistics) == 3
    table.overwrite(rows(range(500, 510), "2026-11-12"), mode="dynamic")
    assert len(read) == 4
    assert told(table) == (0, 509, 210, 10, 210)
    assert table.analyze().files_read == 0
    assert table.analyze(bit_vectors=True).files_read == 0


def test_all_changes_of_a_transaction_count(tmp_path: Path, read: list[str]) -> None:
    table = make(tmp_path, GATHER)
    with table.transaction() as both:
        both.append(rows(range(10)))
        both.append(rows(range(10, 30)))
    assert told(table) == (0, 29, 30, 10, 30)
    assert len(read) == 2


def test_a_table_with_files_nobody_analysed_is_left_alone_until_analyze(tmp_path: Path, read: list[str]) -> None:
    table = make(tmp_path, {})
    table.append(rows(range(100)))
    table.set_properties(GATHER)
    table.append(rows(range(100, 200)))
    assert read == [] and table.metadata.statistics == ()
    table.analyze(["id", "name"])
    assert len(read) == 2
    table.append(rows(range(200, 300)))
    assert len(read) == 3
    assert told(table) == (0, 299, 300, 10, 300)


def test_deleted_rows_make_bounds_of_what_was_exact(tmp_path: Path, read: list[str]) -> None:
    table = make(tmp_path, GATHER | {"write.delete.mode": "merge-on-read"})
    table.append(rows(range(100)))
    table.delete("id = 99")
    high = table.statistics().column("id").high
    assert len(read) == 1 and high is not None
    assert (high.value, high.accuracy.name) == (99, "BOUND")


def test_a_commit_that_must_be_tried_again_reads_no_file_twice(tmp_path: Path, read: list[str]) -> None:
    table = make(tmp_path, GATHER)
    other = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake")).load_table("db.t")
    with table.transaction() as mine:
        mine.append(rows(range(10)))
        other.append(rows(range(10, 30)))
    assert len(read) == 2
    assert told(table) == (0, 29, 30, 10, 30)


def test_a_statistics_failure_never_stops_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: FileAnalysis, row: int) -> Any:
        raise OSError("no such disk")

    table = make(tmp_path, GATHER)
    monkeypatch.setattr(FileAnalysis, "analyse", broken)
    with pytest.warns(UserWarning, match="no such disk"):
        table.append(rows(range(10)))
    assert table.scan().count() == 10


def test_big_writes_are_analysed_by_the_running_spark_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def analyse_files(work: Any, spark: Any, *, table: str) -> list[Any]:
        asked.append(spark)
        return [work.work().analyse(row) for row in work.rows]

    monkeypatch.setattr(verbs, "_SPARK_BYTES", 1)
    monkeypatch.setattr(verbs, "running_spark", lambda: "session")
    monkeypatch.setattr(verbs, "spark_host", lambda what: SimpleNamespace(analyse_files=analyse_files))
    table = make(tmp_path, GATHER)
    table.append(rows(range(10)))
    assert asked == ["session"]
    assert told(table) == (0, 9, 10, 10, 10)
