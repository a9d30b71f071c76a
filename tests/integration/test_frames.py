"""Scans handed to pandas, Polars and DuckDB, and their rows taken back, for every type."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import skipstone
from skipstone import Lake, Table
from skipstone.errors import InvalidInput

U = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
HIGH = uuid.UUID(int=2**128 - 1)
ZONED = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)

VALUES: dict[str, tuple[str, Any]] = {
    "boolean": ("boolean", False),
    "int": ("int", -(2**31)),
    "long": ("long", 2**63 - 1),
    "float": ("float", -0.5),
    "double": ("double", float("inf")),
    "decimal": ("decimal(9,2)", Decimal("-9999999.99")),
    "wide decimal": ("decimal(38,10)", Decimal("1234567890123456789012345678.0123456789")),
    "date": ("date", dt.date(1, 1, 1)),
    "time": ("time", dt.time(23, 59, 59, 999_999)),
    "timestamp": ("timestamp", dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    "timestamptz": ("timestamptz", ZONED),
    "timestamp_ns": ("timestamp_ns", pandas.Timestamp("1970-01-01 00:00:00.000000001")),
    "timestamptz_ns": ("timestamptz_ns", pandas.Timestamp("1969-12-31 23:59:59.999999999", tz="UTC")),
    "string": ("string", "a\0 𝄞"),
    "uuid": ("uuid", HIGH),
    "fixed": ("fixed[4]", b"\x00\xff\x01\x02"),
    "binary": ("binary", b""),
    "variant": ("variant", {"metadata": b"\x01\x00\x00", "value": b"\x00"}),
    "geometry": ("geometry", bytes.fromhex("010100000000000000000000000000000000000000")),
    "struct": ("struct<a: string, u: uuid, f: fixed[2]>", {"a": None, "u": U, "f": b"ab"}),
    "list of uuid": ("list<uuid>", [U, None, HIGH]),
    "list of fixed": ("list<fixed[2]>", [b"ab", None]),
    "map": ("map<string, decimal(5,1)>", [("k", Decimal("1.5")), ("l", None)]),
    "map of uuid": ("map<uuid, timestamptz>", [(U, ZONED)]),
    "deep": ("list<struct<x: uuid, y: list<timestamptz>>>", [{"x": U, "y": [ZONED, None]}, None]),
}
CASES = [pytest.param(type_, value, id=name) for name, (type_, value) in VALUES.items()]
BACK: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda scan: scan.to_pandas(),
    "polars": lambda scan: scan.to_polars(),
    "duckdb": lambda scan: scan.to_duckdb().to_arrow_table(),
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


def made(lake: Lake, type_: str, *rows: Any) -> Table:
    table = lake.create_table("db.t", [("id", "int"), ("c", type_)], format_version=3)
    if rows:
        table.append([{"id": i, "c": row} for i, row in enumerate(rows)])
    return table


@pytest.mark.parametrize(("type_", "value"), CASES)
@pytest.mark.parametrize("host", BACK)
def test_rows_come_back_from_a_frame_as_they_went_in(lake: Lake, host: str, type_: str, value: Any) -> None:
    # pandas has no integers that are null: it makes doubles of them, which no column of integers takes.
    rows = [value] if host == "pandas" and isinstance(value, int) else [value, None, value]
    table = made(lake, type_, *rows)
    before = table.scan().to_arrow()
    table.overwrite(BACK[host](table.scan()))
    after = table.scan().to_arrow()
    assert after.schema == before.schema
    assert after.column("c").combine_chunks() == before.column("c").combine_chunks()


@pytest.mark.parametrize(("type_", "value"), CASES)
def test_frames_hold_the_values(lake: Lake, type_: str, value: Any) -> None:
    table = made(lake, type_, value, None)
    expected = table.scan().to_arrow().column("c").to_pylist()
    in_polars = table.scan().to_polars()
    in_duckdb = table.scan().to_duckdb()
    assert in_polars["c"].null_count() == 1 and len(in_duckdb.filter("c IS NULL").fetchall()) == 1
    assert [plain(v) for v in in_polars["c"].cast(as_micros(in_polars)).to_list()] == [plain(v) for v in expected]
    if "_ns" not in type_:
        assert [plain(v) for (v,) in in_duckdb.project("c").fetchall()] == [plain(v) for v in expected]
    assert table.scan().to_pandas()["c"].isna().tolist() == [False, True]


def as_micros(frame: Any) -> Any:
    """Polars shows nanoseconds in Python as microseconds: compared as what they are counted in."""
    type_ = frame["c"].dtype
    return polars.Int64 if isinstance(type_, polars.Datetime) and type_.time_unit == "ns" else type_


def plain(value: Any) -> Any:
    """UUIDs as bytes, maps as pairs, instants in UTC, at any depth."""
    match value:
        case uuid.UUID():
            return value.bytes
        case pandas.Timestamp():
            return value.value
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC)
        case dict():
            is_map = not all(isinstance(k, str) for k in value) or set(value) == {"k", "l"}
            pairs = [(plain(k), plain(v)) for k, v in value.items()]
            return pairs if is_map else dict(pairs)
        case list() | tuple():
            return type(value)(plain(v) for v in value)
        case _:
            return value


@pytest.mark.parametrize(("type_", "value"), CASES)
def test_no_rows_still_have_columns(lake: Lake, type_: str, value: Any) -> None:
    for table in (made(lake, type_), made_empty(lake, type_, value)):
        scan = table.scan()
        assert scan.to_polars().shape == (0, 2) and scan.to_polars().columns == ["id", "c"]
        assert scan.to_duckdb().columns == ["id", "c"] and scan.to_duckdb().fetchall() == []
        assert scan.to_pandas().shape == (0, 2)
        assert scan.top_k("id", 1).rows.schema == scan.to_arrow().schema


def made_empty(lake: Lake, type_: str, value: Any) -> Table:
    lake.drop_table("db.t")
    table = made(lake, type_, value)
    table.delete("id = 0")
    return table


def test_duckdb_has_the_columns_as_its_own_types(lake: Lake) -> None:
    table = made(lake, "struct<u: uuid, l: list<uuid>>", {"u": U, "l": [HIGH]})
    table.append(pa.table({"id": pa.array([7], pa.int32())}))
    relation = table.scan().to_duckdb()
    assert [str(t) for t in relation.types] == ["INTEGER", "STRUCT(u UUID, l UUID[])"]
    connection = duckdb.connect()
    assert table.scan("id = 7").to_duckdb(connection).project("id").fetchall() == [(7,)]
    assert made_again(lake).scan().to_duckdb().filter(f"c = '{U}'").project("id").fetchall() == [(0,)]


def made_again(lake: Lake) -> Table:
    lake.drop_table("db.t")
    return made(lake, "uuid", U, HIGH)


def test_filters_columns_and_limits_reach_the_frame(lake: Lake) -> None:
    table = made(lake, "timestamptz", ZONED, None, ZONED)
    assert table.scan("c IS NOT NULL", columns=["id"]).to_polars().to_dict(as_series=False) == {"id": [0, 2]}
    assert table.scan(limit=1, columns=["c", "_pos"]).to_duckdb().columns == ["c", "_pos"]


def test_text_that_is_no_uuid_is_refused_with_its_row(lake: Lake) -> None:
    table = made(lake, "uuid")
    texts = [str(U), None, str(U).upper(), f"{U}\n"]
    table.append(polars.DataFrame({"id": [0, 1, 2], "c": texts[:3]}, schema={"id": polars.Int32, "c": polars.String}))
    assert table.scan().to_arrow().column("c").to_pylist() == [U, None, U]
    for wrong in (texts[3], U.hex, f"{{{U}}}", "", "x"):
        with pytest.raises(InvalidInput, match=r"column 'c': its type is uuid, expected text like .* in row 1"):
            table.append(pa.table({"c": [str(U), wrong]}))


def test_a_frame_that_cannot_be_arrow_is_refused_as_input(lake: Lake) -> None:
    table = made(lake, "string")
    with pytest.raises(InvalidInput, match=r"Cannot write rows to db\.t"):
        table.append(pandas.DataFrame({"c": ["a", 1, object()]}))
    with pytest.raises(InvalidInput, match="expected it once, got it twice"):
        table.append(pandas.DataFrame([["a", "b"]], columns=["c", "c"]))
    with pytest.raises(InvalidInput, match="does not have it"):
        table.append(pandas.DataFrame({0: ["a"]}))
