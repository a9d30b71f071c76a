"""`skipstone tables`, `describe`, `explain` and `layout` as typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import skipstone
from skipstone.cli import app


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    monkeypatch.setenv("SKIPSTONE_CATALOG", uri)
    monkeypatch.setenv("SKIPSTONE_WAREHOUSE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    lake = skipstone.catalog(uri, warehouse=str(tmp_path))
    columns = [("id", "long not null"), ("state", "string")]
    table = lake.create_table("shop.east.orders", columns, partition_by=["state", "bucket(4, id)"], sort_by=["id"])
    table.append([{"id": i, "state": "AB"[i % 2]} for i in range(8)])
    lake.create_table("shop.customers", columns)
    return table


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_tables_of_nested_namespaces_are_listed(table: Any) -> None:
    assert run("tables").output.split() == ["shop.customers", "shop.east.orders"]


def test_a_description_shows_columns_partitioning_refs_and_snapshots(table: Any) -> None:
    table.create_tag("first")
    shown = run("describe", "shop.east.orders").output
    assert "partitioned by: state, bucket[4](id)" in shown and "sorted by: id asc nulls-first" in shown
    assert f"tag first: snapshot {table.current_snapshot.snapshot_id}" in shown
    assert any(line.split() == ["1", "id", "long", "yes"] for line in shown.splitlines())
    assert any(line.split()[-1:] == ["8"] and "append" in line for line in shown.splitlines())


def test_an_explanation_is_a_table_a_picture_or_json(table: Any, tmp_path: Path) -> None:
    picture = tmp_path / "skipped.svg"
    shown = run("explain", "shop.east.orders", "state = 'A'", "--picture", str(picture))
    assert shown.exit_code == 0 and "partition value" in shown.output and "to read:" in shown.output
    assert picture.read_text().startswith("<svg")
    told = json.loads(run("explain", "shop.east.orders", "state = 'A'", "--json").output)
    assert [level["name"] for level in told["levels"]][:2] == ["manifests", "partitions"]


def test_a_layout_tells_how_columns_lie(table: Any) -> None:
    assert "point reads" in run("layout", "shop.east.orders", "--column", "id").output
    told = json.loads(run("layout", "shop.east.orders", "--json").output)
    assert {c["name"] for c in told["columns"]} == {"id", "state"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("describe", "shop.east.nosuch"), "Tables of shop.east: orders"),
        (("explain", "shop.east.orders", "idd = 1"), "Did you mean 'id'?"),
        (("layout", "shop.east.orders", "--column", "nosuch"), "Cannot measure 'nosuch'"),
    ],
)
def test_what_is_not_there_is_told_in_a_line(table: Any, words: tuple[str, ...], message: str) -> None:
    told = run(*words)
    assert told.exit_code == 2 and message in told.output and "Traceback" not in told.output
