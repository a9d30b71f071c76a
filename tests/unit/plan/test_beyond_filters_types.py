"""Top-k, aggregates and joins for every ordered type, for fields of structs, and over a changed schema."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import skipstone
from skipstone.errors import InvalidInput
from skipstone.plan import joins

pa: Any = pyarrow

MOMENT = datetime.datetime(2026, 1, 1, 12, 30, 0, 123_456)
UTC = datetime.UTC
TYPES: dict[str, list[Any]] = {
    "boolean": [False, True],
    "int": [-5, 3, 2**31 - 1],
    "long": [-(2**63), 0, 2**53 + 1],
    "float": [-1.5, 0.25, 2.5],
    "double": [-1e300, 0.1, 2.5],
    "decimal(9, 2)": [Decimal("-1.50"), Decimal("0.00"), Decimal("9.99")],
    "decimal(30, 4)": [Decimal("-12345678901234567890.5000"), Decimal("0.0000"), Decimal("1.0001")],
    "date": [datetime.date(1969, 12, 31), datetime.date(2026, 1, 1), datetime.date(2030, 1, 1)],
    "time": [datetime.time(0, 0), datetime.time(12, 30, 1), datetime.time(23, 59)],
    "timestamp": [MOMENT, MOMENT + datetime.timedelta(days=1), MOMENT + datetime.timedelta(days=2)],
    "timestamptz": [MOMENT.replace(tzinfo=UTC), (MOMENT + datetime.timedelta(days=2)).replace(tzinfo=UTC)],
    "string": ["", "a", "é😀"],
    "uuid": [uuid.UUID(int=1), uuid.UUID(int=2**127)],
    "fixed[3]": [b"abc", b"abd", b"zzz"],
    "binary": [b"", b"\x00", b"\xff\xff"],
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home: Path = tmp_path_factory.mktemp("types")
    made = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home))
    made.create_namespace("t")
    return made


@pytest.fixture(scope="module")
def table(lake: Any) -> Any:
    """A column of each type; the values go up from file to file, with nulls in the last."""
    names = {f"c{i}": t for i, t in enumerate(TYPES)}
    made = lake.create_table("t.types", list(names.items()))
    for file in range(3):
        rows = [{n: TYPES[t][min(file, len(TYPES[t]) - 1)] for n, t in names.items()}]
        made.append([*rows, dict.fromkeys(names)] if file == 2 else rows)
    return made


@pytest.mark.parametrize(("number", "type_"), list(enumerate(TYPES)), ids=list(TYPES))
def test_every_ordered_type(table: Any, number: int, type_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, values = f"c{number}", TYPES[type_]
    found = table.scan().aggregate(f"min({name})", f"max({name})", f"count({name})", group_by=[])
    assert found.to_pylist() == [{f"min({name})": values[0], f"max({name})": values[-1], f"count({name})": 3}]
    assert table.scan(columns=[name]).top_k(name, 1).rows.column(name).to_pylist() == [values[-1]]
    assert (
        table.scan(columns=[name]).top_k(name, 1, descending=False, nulls="first").rows.column(name)[0].as_py() is None
    )
    grouped = table.scan().aggregate("count(*)", group_by=[name])
    assert {r[name]: r["count(*)"] for r in grouped.to_pylist()}[values[0]] == 1
    keys = table.scan(columns=[name], limit=1).to_arrow().column(name)
    for few in (True, False):
        if not few:
            monkeypatch.setattr(joins, "FILTERED_KEYS_MAX", 0)
        joined = table.scan(columns=[name]).for_join(name, keys).to_arrow().column(name).to_pylist()
        assert keys[0].as_py() in joined


@pytest.mark.parametrize("number", range(len(TYPES)), ids=list(TYPES))
def test_groups_of_no_rows_are_none_for_every_type(table: Any, number: int) -> None:
    nothing = table.scan("c2 = 4").aggregate("min(c2)", "count(c2)", group_by=[f"c{number}"])
    assert nothing.to_pylist() == []


def test_fields_of_structs(lake: Any) -> None:
    made = lake.create_table("t.nested", [("id", "long"), ("s", "struct<a: long, b: string>")])
    made.append([{"id": 1, "s": {"a": 5, "b": "x"}}, {"id": 2, "s": None}])
    made.append([{"id": 3, "s": {"a": 9, "b": None}}, {"id": 4, "s": {"a": None, "b": "y"}}])
    found = made.scan().aggregate("count(s.a)", "max(s.a)", "min(s.b)")
    assert found.to_pylist() == [{"count(s.a)": 2, "max(s.a)": 9, "min(s.b)": "x"}]
    assert made.scan(columns=["id"]).top_k("s.a", 2).rows.column("id").to_pylist() == [3, 1]
    assert made.scan(columns=["id", "s.b"]).top_k("s.a", 1).rows.to_pylist() == [{"id": 3, "s": {"b": None}}]
    assert made.scan(columns=["id"]).for_join("s.a", [9]).to_arrow().column("id").to_pylist() == [3]


def test_a_promoted_and_an_added_column(lake: Any) -> None:
    made = lake.create_table("t.evolved", [("n", "int")])
    made.append([{"n": 1}, {"n": 2}])
    with made.update_schema() as update:
        update.update_column("n", "long")
        update.add_column("extra", "long")
    made.append([{"n": 2**40, "extra": 7}])
    found = made.scan().aggregate("min(n)", "max(n)", "count(extra)", "max(extra)")
    assert found.to_pylist() == [{"min(n)": 1, "max(n)": 2**40, "count(extra)": 1, "max(extra)": 7}]
    assert made.scan().top_k("n", 2).rows.column("n").to_pylist() == [2**40, 2]
    assert made.scan().top_k("extra", 1, nulls="first").rows.column("extra").to_pylist() == [None]
    assert made.scan().for_join("n", pa.array([2], pa.int8())).count() == 1


def test_keys_that_no_value_can_equal_are_dropped(table: Any) -> None:
    ints = f"c{list(TYPES).index('int')}"
    assert table.scan().for_join(ints, pa.array([2**40, 3], pa.int64())).count() == 1
    decimals = f"c{list(TYPES).index('decimal(9, 2)')}"
    assert table.scan().for_join(decimals, pa.array([Decimal("9.991"), Decimal("9.990")])).count() == 1
    with pytest.raises(InvalidInput, match="Cast the keys"):
        table.scan().for_join(ints, pa.array([3.0]))
