"""A session with a real Hive, typed again here: ANALYZE of the same rows in our tables, and what DESCRIBE answers."""

from __future__ import annotations

import base64
import json
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.errors import HiveError
from skipstone.hive.session import HiveSession
from skipstone.hive.store import HiveStore, Layout
from skipstone.lake import Lake

GOLDEN = Path(__file__).parent / "golden" / "hive"
ENTRIES: list[dict[str, Any]] = json.loads((GOLDEN / "hs2_session2.json").read_text("utf-8"))
COLUMNS = [
    ("bo", "boolean"), ("ti", "int"), ("si", "int"), ("i", "int"), ("bi", "long"), ("f", "float"), ("d", "double"),
    ("de", "decimal(10,2)"), ("s", "string"), ("vc", "string"), ("ch", "string"), ("bn", "binary"), ("dt", "date"),
    ("ts", "timestamp"),
]  # fmt: skip
READ = {
    "boolean": lambda text: text == "true", "int": int, "long": int, "float": float, "double": float,
    "decimal(10,2)": Decimal, "string": str, "binary": base64.b64decode, "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}  # fmt: skip
EMPTY = [("i", "int"), ("s", "string"), ("d", "double"), ("bo", "boolean")]
COMPLEX = [("i", "int"), ("ar", "list<int>"), ("mp", "map<string,int>"), ("st", "struct<x:int>")]
# The tables of the session are made by the fixture; these statements are no part of what is typed again.
OTHERS = ("create ", "drop ", "use ", "load ", "insert ", "select ", "set ")
# Iceberg has no types of these names; their values are the same.
ICEBERG_TYPES = {"tinyint": "int", "smallint": "int", "varchar(20)": "string", "char(5)": "string"}
# Hive's database cast decimals to whole numbers when it added up partitions; of no use to anyone, and not imitated.
WHOLE_DECIMALS = {("de", "min"): ("-3", "-3.1"), ("de", "max"): ("10", "10.25")}


def rows(name: str) -> list[dict[str, Any]]:
    found = []
    for line in (GOLDEN / "data" / f"{name}.txt").read_text("utf-8").splitlines():
        cells = line.split("\x01")
        found.append(
            {
                column: None if cell == "\\N" else READ[kind](cell)
                for (column, kind), cell in zip(COLUMNS, cells, strict=True)
            }
        )
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    first, second = rows("P1"), rows("P2")
    table = made.create_table("g2.t", COLUMNS)
    table.append(first)
    table.append(second)
    parted = made.create_table("g2.tp", [*COLUMNS, ("p", "string")], partition_by=["p"])
    parted.append([{**row, "p": "x"} for row in first] + [{**row, "p": "y"} for row in second])
    odd = [{"d": float("nan"), "f": float("nan")}, {"d": 1.5, "f": 2.5}, {"d": -1.0, "f": None}]
    made.create_table("g2.nn", [("d", "double"), ("f", "float")]).append(odd)
    made.create_table("g2.inf", [("d", "double")]).append([{"d": float("inf")}, {"d": 1.5}])
    made.create_table("g2.em", EMPTY)
    made.create_table("g2.cx", COMPLEX).append([{"i": 1, "ar": [1, 2], "mp": [("k", 1)], "st": {"x": 1}}])
    return made


def described(statement: str) -> dict[str, str]:
    entry = next(entry for entry in ENTRIES if entry["sql"] == statement)
    return dict(entry["rows"])


def expected(entry: dict[str, Any]) -> tuple[list[list[str]], list[str]]:
    """The rows that Hive answered, but for differences that have a reason, and which of these there were."""
    found, differences = [], []
    column, is_added_up = dict(entry["rows"])["col_name"], entry.get("tag") == "aggregated"
    for name, value in entry["rows"]:
        ours = value
        if name == "data_type":
            ours = ICEBERG_TYPES.get(value, value)
        elif is_added_up and name == "distinct_count":
            # Hive's database took the largest of the partitions; here their sketches are merged, so that partitions
            # tell what the same rows told Hive in a table without partitions.
            ours = described(f"describe formatted t {column}")["distinct_count"]
        elif is_added_up and (column, name) in WHOLE_DECIMALS:
            hive, ours = WHOLE_DECIMALS[column, name]
            assert value == hive
        found.append([name, ours])
        differences += [name] if ours != value else []
    return found, differences


@pytest.mark.parametrize("layout", Layout, ids=lambda layout: layout.value)
def test_the_same_statements_over_the_same_rows_answer_the_same(lake: Lake, layout: Layout) -> None:
    store = HiveStore("sqlite://", layout=layout)
    session = HiveSession(store, database="g2", analyzer=LakeAnalyzer(lake, store))
    told: Counter[str] = Counter()
    for entry in ENTRIES:
        statement = entry["sql"]
        if statement == "insert into em select null,null,null,null":
            lake.load_table("g2.em").append([{"i": None, "s": None, "d": None, "bo": None}])
        if statement.startswith(OTHERS):
            continue
        if "error" in entry:
            with pytest.raises(Exception, match="Cannot") as caught:
                session.run(statement)
            assert isinstance(caught.value, HiveError)
            assert caught.value.code == entry["error"]["errorCode"], statement
            told["errors"] += 1
            continue
        answered = [list(row) for row in session.run(statement)]
        rows_, differences = expected(entry) if "rows" in entry else ([], [])
        assert answered == rows_, (statement, entry.get("tag"))
        told.update([statement.split()[0], *differences])
    # So many differences are known, and of these kinds only.
    assert told == {
        "analyze": 11, "describe": 73, "errors": 2, "data_type": 16, "distinct_count": 12, "min": 1, "max": 1,
    }  # fmt: skip
    store.close()
