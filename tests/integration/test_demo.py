"""A small run of the demo: the same answer at every level, and an exact number of files at each."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

import skipstone.demo.__main__ as demo
from skipstone.demo.addresses import STATES
from skipstone.demo.chapters import CHAPTERS, explaining, hive, skipping
from skipstone.demo.story import QUERY, TABLE, Story
from skipstone.demo.ways import WAYS
from skipstone.errors import AlreadyExists, InvalidInput

pytestmark = pytest.mark.spark

ROWS = 12_000


@pytest.fixture(scope="module")
def story(iceberg_java: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    console = Console(width=110, file=io.StringIO())
    told = demo.begin(tmp_path_factory.mktemp("demo"), rows=ROWS, seed=7, console=console, spark=iceberg_java, passes=1)
    for tell in CHAPTERS:
        tell(told)
    return told


def row(story: Story, name: str) -> Any:
    return next(r for r in story.findings["skipping"] if r.name == name)


def test_every_way_counts_what_the_rows_say(story: Story, iceberg_java: SparkSession) -> None:
    expected = sum(1 for z in story.table.scan().to_arrow().column("zip_code").to_pylist() if z == "10001")
    assert expected > 0
    assert [r.count for r in story.findings["skipping"]] == [expected] * len(WAYS)


def test_without_skipping_every_file_is_read(story: Story) -> None:
    off = row(story, "off")
    assert off.partitions == len(STATES)
    assert off.files == story.findings["load"]["files"] > len(STATES)


def test_partitions_leave_new_york_only(story: Story) -> None:
    files = story.table.scan("state = 'NY'").plan()
    assert (row(story, "partitions").partitions, row(story, "partitions").files) == (1, len(files))
    assert 1 < len(files) < row(story, "off").files


def test_files_that_are_read_are_those_that_hold_a_match(story: Story) -> None:
    holding = story.findings["files_holding_a_match"]
    assert holding == row(story, "files").files == row(story, "all levels").files
    assert row(story, "all levels").partitions == 1


def test_row_groups_left_are_within_the_files_left(story: Story) -> None:
    off, groups, best = (row(story, n) for n in ("off", "row groups", "all levels"))
    assert groups.files == off.files
    assert groups.row_groups == best.row_groups == best.files
    assert best.bytes < off.bytes


@pytest.mark.parametrize("way", WAYS, ids=lambda w: w.name)
def test_spark_reads_the_files_of_the_plan_and_no_others(way: Any, story: Story, iceberg_java: SparkSession) -> None:
    scan = way.scan_of(story.table, QUERY)
    planned = sorted(Path(p).parts[-2:] for p in scan.plan().files.column("file_path").to_pylist())
    assert sorted(Path(p).parts[-2:] for p in scan.to_spark(iceberg_java).inputFiles()) == planned


def test_row_groups_are_skipped_only_by_ways_that_may(story: Story, iceberg_java: SparkSession) -> None:
    rows_read = {}
    for way in WAYS[:2]:
        with skipping.reading(story, way):
            frame = way.scan_of(story.table, QUERY).to_spark(iceberg_java)
            frame.collect()
        scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
        rows_read[way.name] = scan.metrics().apply("numOutputRows").value()
    assert rows_read["off"] == ROWS > 10 * rows_read["row groups"] > 0


def test_the_analysis_guesses_near_the_count_and_the_index_explains_what_is_read(story: Story) -> None:
    guessed, count = story.findings["analysis"]["estimate"], row(story, "all levels").count
    assert guessed.rows_low <= count <= guessed.rows_high
    by_column = {r["column"]: r for r in story.findings["analysis"]["columns"]}
    assert by_column["state"]["ndv"] == str(len(STATES))
    assert story.findings["index"].columns == ("zip_code",)
    assert story.findings["explanation"].files == row(story, "all levels").files


def test_hive_describes_what_was_analysed(story: Story) -> None:
    described = {r[0]: r[1] for r in story.findings[hive.STATEMENTS[-1]] if len(r) > 1}
    amounts = story.table.scan(columns=["amount"]).to_arrow().column("amount").to_pylist()
    assert (described["num_nulls"], float(described["max"])) == ("0", float(max(amounts)))


def test_chapters_are_numbered_and_pictures_are_next_to_the_table(story: Story) -> None:
    told = story.console.file.getvalue()  # type: ignore[attr-defined]
    assert all(f" {i}  " in told for i in range(1, len(CHAPTERS) + 1))
    for picture in (skipping.PICTURE, explaining.PICTURE):
        assert "<svg" in (story.directory / picture).read_text()


def test_a_seed_gives_the_same_rows(story: Story, iceberg_java: SparkSession) -> None:
    from skipstone.demo.addresses import addresses

    first, again, other = (
        addresses(iceberg_java, 500, seed).repartition(parts).selectExpr("sum(hash(*)) AS h").first()[0]
        for seed, parts in ((7, 1), (7, 3), (8, 1))
    )
    assert first == again != other


def test_the_directory_must_be_free(story: Story, tmp_path: Path, iceberg_java: SparkSession) -> None:
    with pytest.raises(AlreadyExists, match=f"Cannot load {TABLE} into .*: it is there already"):
        demo.begin(story.directory, rows=1, seed=1, console=story.console, spark=iceberg_java)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="it is a file"):
        demo.begin(tmp_path / "file", rows=1, seed=1, console=story.console, spark=iceberg_java)


@pytest.mark.parametrize("flags", [["--rows", "0"], ["--rows", "many"], ["--seed", "x"], ["--color"]])
def test_bad_flags_are_told(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        demo.main(flags)
    assert stopped.value.code == 2
    assert flags[0] in capsys.readouterr().err
