"""A session with a real Hive, typed again here: ANALYZE of the same rows in our tables, and what DESCRIBE answers."""

from __future__ import annotations

import base64
import json
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
# Iceberg has no types of these names: what Hive calls its own type differs, its values do not.
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
# Across partitions Hive's database took the largest number of distinct values, and cut decimals to whole numbers.
ESTIMATED = {"distinct_count", "avg_col_len"}


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


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    home = tmp_path_factory.mktemp("session")
    made = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home / "lake"))
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


@pytest.mark.parametrize("layout", Layout, ids=lambda layout: layout.value)
def test_the_same_statements_over_the_same_rows_answer_the_same(lake: Lake, layout: Layout) -> None:
    store = HiveStore("sqlite://", layout=layout)
    session = HiveSession(store, database="g2", analyzer=LakeAnalyzer(lake, store))
    told = 0
    for entry in ENTRIES:
        statement = entry["sql"]
        if statement == "insert into em select null,null,null,null" and layout is Layout.ORIGINAL:
            lake.load_table("g2.em").append([{"i": None, "s": None, "d": None, "bo": None}])
        if not statement.startswith(("analyze", "describe")) or _is_of_another_state(entry, layout):
            continue
        if "error" in entry:
            with pytest.raises(Exception, match="Cannot") as caught:
                session.run(statement)
            assert isinstance(caught.value, HiveError)
            assert caught.value.code == entry["error"]["errorCode"], statement
            continue
        answered = dict(session.run(statement))  # type: ignore[arg-type]
        if "rows" in entry:
            _check(entry, answered)
            told += 1
    assert told > 60
    store.close()


def _is_of_another_state(entry: dict[str, Any], layout: Layout) -> bool:
    """The table that was empty first is not so any more when the session is typed again."""
    return layout is not Layout.ORIGINAL and entry.get("tag") == "empty table"


def _check(entry: dict[str, Any], answered: dict[str, str]) -> None:
    expected = {name: value for name, value in entry["rows"] if name not in ("data_type", "comment")}
    answered = {name: value for name, value in answered.items() if name not in ("data_type", "comment")}
    is_merged = entry.get("tag") == "aggregated"
    left_out = set(ESTIMATED) if is_merged else set()
    if is_merged and answered["col_name"] == "de":
        assert (answered["min"], answered["max"]) == ("-3.1", "10.25")
        left_out |= {"min", "max"}
    # Rows are counted by a statement of its own here, so columns may be accurate and counts not said to be.
    for name in {*expected, *answered} - left_out - {"COLUMN_STATS_ACCURATE"}:
        assert answered.get(name) == expected.get(name), (entry["sql"], entry.get("tag"), name)
    assert _accurate(answered) == _accurate(expected), entry["sql"]


def _accurate(shown: dict[str, str]) -> set[str]:
    text = shown.get("COLUMN_STATS_ACCURATE", "{}").replace('\\"', '"')
    return set(json.loads(text).get("COLUMN_STATS", {}))
