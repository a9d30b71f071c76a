"""Rows given as dicts: values of every type at any depth, and one clear error for what does not fit."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone.errors import InvalidInput

_ID = [uuid.UUID(int=n) for n in range(8)]
_INSIDE = "u: uuid, f: fixed[4], d: decimal(9,2), day: date, at: timestamptz, t: time"
_COLUMNS = [
    ("u", "uuid"),
    ("s", f"struct<{_INSIDE}, deep: struct<u: uuid>>"),
    ("l", "list<uuid>"),
    ("m", "map<uuid, struct<d: decimal(4,1), f: fixed[2]>>"),
]
_STRUCT: dict[str, Any] = {
    "u": _ID[2],
    "f": b"abcd",
    "d": Decimal("1.50"),
    "day": datetime.date(1969, 12, 31),
    "at": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    "t": datetime.time(1, 2, 3),
    "deep": {"u": _ID[3]},
}
_MAP = {_ID[4]: {"d": Decimal("2.5"), "f": b"xy"}, _ID[5]: None}
_FULL = {"u": _ID[1], "s": _STRUCT, "l": [_ID[6], None], "m": _MAP}


@pytest.fixture
def table(tmp_path: Path) -> skipstone.Table:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    return lake.create_table("t.t", _COLUMNS)


def test_values_of_every_type_come_back_from_any_depth(table: skipstone.Table) -> None:
    table.append([_FULL])
    (row,) = table.scan().to_arrow().to_pylist()
    assert (row["u"], row["l"], dict(row["m"])) == (_FULL["u"], _FULL["l"], _MAP)
    assert row["s"] == _STRUCT


def test_what_is_left_out_or_none_is_null(table: skipstone.Table) -> None:
    table.append([{"s": {"u": None, "d": Decimal(1)}, "m": None, "l": []}, {}])
    first, second = table.scan().to_arrow().to_pylist()
    assert first["s"] == {name: Decimal("1.00") if name == "d" else None for name in _STRUCT}
    assert (first["u"], first["l"], first["m"]) == (None, [], None)
    assert second == dict.fromkeys(("u", "s", "l", "m"))


def test_a_uuid_may_be_text_and_a_map_a_list_of_pairs(table: skipstone.Table) -> None:
    table.append([{"u": str(_ID[1]), "s": {"deep": {"u": str(_ID[7])}}, "m": [(str(_ID[4]), None)]}])
    (row,) = table.scan().to_arrow().to_pylist()
    assert (row["u"], row["s"]["deep"]["u"], row["m"]) == (_ID[1], _ID[7], [(_ID[4], None)])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"s": {"deep": {"v": 1}}}, r"Cannot write rows to t\.t: s\.deep: expected fields u, got unknown v\."),
        ({"s": 5}, "Could not convert 5"),
        ({"u": "no uuid"}, "badly formed"),
        ({"s": {"f": b"too long"}}, "expected to be length 4"),
    ],
)
def test_what_does_not_fit_is_refused(table: skipstone.Table, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        table.append([row])
    assert str(caught.value).count("Cannot write") == 1


_ZONE = datetime.timezone(datetime.timedelta(hours=5))
_CHANGED: list[tuple[str, Any, str]] = [
    ("int", 1.5, "whole numbers"),
    ("long", Decimal("0.1"), "whole numbers"),
    ("float", 1e300, "numbers that a float can hold"),
    ("date", datetime.datetime(2020, 1, 1, 5), "dates without a time of day"),
    ("date", datetime.datetime(2020, 1, 1, tzinfo=_ZONE), "dates without a time of day"),
    ("time", datetime.time(1, tzinfo=_ZONE), "times without a zone"),
    ("timestamp", datetime.datetime(2020, 1, 1, tzinfo=_ZONE), "timestamps without a zone"),
]


@pytest.mark.parametrize(("type_", "value", "expected"), _CHANGED)
@pytest.mark.parametrize("depth", ["{}", "list<{}>", "struct<x: {}>", "map<string, {}>"])
def test_a_value_that_arrow_would_change_is_refused(
    tmp_path: Path, type_: str, value: Any, expected: str, depth: str
) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    table = lake.create_table("t.t", [("c", depth.format(type_))])
    given = {"{}": value, "list<{}>": [value], "struct<x: {}>": {"x": value}, "map<string, {}>": {"k": value}}[depth]
    with pytest.raises(InvalidInput, match=expected):
        table.append([{"c": given}])
    assert table.current_snapshot is None


def test_values_that_fit_as_they_are_may_be_of_another_python_type(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    table = lake.create_table("t.t", [("i", "int"), ("f", "float"), ("d", "date"), ("z", "timestamptz")])
    midnight = datetime.datetime(2020, 1, 1)
    table.append([{"i": 2.0, "f": float("inf"), "d": midnight, "z": midnight.replace(tzinfo=_ZONE)}])
    (row,) = table.scan().to_arrow().to_pylist()
    assert row == {"i": 2, "f": float("inf"), "d": midnight.date(), "z": midnight.replace(tzinfo=_ZONE)}
