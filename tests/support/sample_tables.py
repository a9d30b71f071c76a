"""One schema and its rows, used for every table that other engines are asked to read."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    StructType,
)

# Every v1 type that Spark and PyIceberg both know, and nesting. Ids are those a new table gives: top level first.
SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG, required=True, doc="the key"),
        Field(id=2, name="region", type=STRING),
        Field(id=3, name="i", type=INT),
        Field(id=4, name="f", type=FLOAT),
        Field(id=5, name="d", type=DOUBLE),
        Field(id=6, name="flag", type=BOOLEAN),
        Field(id=7, name="amount", type=DecimalType(9, 2)),
        Field(id=8, name="big", type=DecimalType(38, 10)),
        Field(id=9, name="day", type=DATE),
        Field(id=10, name="ts", type=TIMESTAMP),
        Field(id=11, name="tz", type=TIMESTAMPTZ),
        Field(id=12, name="key", type=UUID),
        Field(id=13, name="code", type=FixedType(4)),
        Field(id=14, name="raw", type=BINARY),
        Field(
            id=15,
            name="point",
            type=StructType((Field(id=18, name="x", type=DOUBLE), Field(id=19, name="y", type=INT, required=True))),
        ),
        Field(id=16, name="tags", type=ListType(element_id=20, element=STRING)),
        Field(id=17, name="scores", type=MapType(key_id=21, key=STRING, value_id=22, value=LONG)),
    )
)
REGIONS = (None, "north", "south", "east / west", "übersee 🌊")


def row(i: int) -> dict[str, Any]:
    """Row i; every sixth one is null wherever it may be."""
    values: dict[str, Any] = {"id": i, "region": REGIONS[i % len(REGIONS)]}
    if i % 6 == 5:
        return values
    return values | {
        "i": i * 7 - 20,
        "f": (float("nan"), -0.0, 1.5)[i % 3],
        "d": (1e300, float("-inf"), -0.25)[i % 3],
        "flag": i % 2 == 0,
        "amount": decimal.Decimal(i * 1_234 - 5_000).scaleb(-2),
        "big": decimal.Decimal(10**27 + i).scaleb(-10).quantize(decimal.Decimal("0.0000000001")),
        "day": dt.date(1969, 12, 28) + dt.timedelta(days=i),
        "ts": dt.datetime(1969, 12, 31, 22) + dt.timedelta(hours=i, microseconds=i),
        "tz": dt.datetime(2026, 1, 30, tzinfo=dt.UTC) + dt.timedelta(days=i),
        "key": uuid.UUID(int=i * 2**120 + i),
        "code": bytes([i, 0, 255, i]),
        "raw": bytes(range(i)),
        "point": {"x": None if i % 2 else i / 4, "y": i},
        "tags": [f"tag {i}", None][: i % 3],
        "scores": [("a", i), ("b", None)][: i % 3],
    }


def rows(*ids: int) -> list[dict[str, Any]]:
    return [row(i) for i in ids]


def comparable(value: Any) -> Any:
    """A value in a form in which rows of different readers are equal: NaN and -0.0 told apart, maps as pairs."""
    match value:
        case float():
            return f"{value!r}"
        case bytearray():
            return bytes(value)
        case dict():
            return {k: comparable(v) for k, v in value.items()}
        case list() | tuple():
            return [comparable(v) for v in value]
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC)
        case str() | uuid.UUID():
            return str(value)
        case _:
            return value


def comparable_rows(rows: list[dict[str, Any]], columns: list[str]) -> list[dict[str, Any]]:
    """Rows by id, each with all of the columns."""
    full = [{name: comparable(row.get(name)) for name in columns} for row in rows]
    return sorted(full, key=lambda r: r["id"])
