"""ORC files hold the rows that they were given, whatever slice of an array these are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone

STRUCT = pa.struct([("a", pa.string()), ("n", pa.struct([("u", pa.binary(16)), ("l", pa.list_(pa.int64()))]))])
SCHEMA = pa.schema(
    [
        ("p", pa.int64()),
        ("s", STRUCT),
        ("inside", pa.list_(STRUCT)),
        ("by", pa.map_(pa.string(), STRUCT)),
    ]
)


def value(i: int) -> Any:
    n = None if i % 4 == 1 else {"u": None if i % 3 else bytes([i % 256] * 16), "l": None if i % 5 == 0 else [i, None]}
    return None if i % 7 == 0 else {"a": None if i % 2 else f"v{i}", "n": n}


def row(i: int, partitions: int) -> dict[str, Any]:
    inside = None if i % 6 == 0 else [value(i), None, value(i + 1)]
    return {"p": i % partitions, "s": value(i), "inside": inside, "by": [("k", value(i)), ("l", None)]}


@pytest.mark.parametrize(("count", "partitions"), [(40, 3), (5_000, 2)])
def test_structs_of_every_partition_are_read_back(tmp_path: Path, count: int, partitions: int) -> None:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, partition_by=["p"], properties={"write.format.default": "orc"})
    rows = pa.Table.from_pylist([row(i, partitions) for i in range(count)], SCHEMA)
    table.append(rows.slice(5))
    for p in range(partitions):
        expected = [r for r in rows.slice(5).to_pylist() if r["p"] == p]
        assert table.scan(f"p = {p}").to_arrow().to_pylist() == expected
    assert table.audit().is_clean


INNER = pa.struct(
    [pa.field("b", pa.binary(), nullable=False), ("l", pa.list_(pa.int64())), ("d", pa.struct([("x", pa.int64())]))]
)
NESTED = pa.schema(
    [
        ("s", pa.struct([("n", INNER)])),
        ("inside", pa.list_(pa.struct([("n", INNER)]))),
        ("by", pa.map_(pa.string(), pa.struct([("n", INNER)]))),
    ]
)


def test_values_after_a_null_struct_inside_a_struct_are_read_back(tmp_path: Path) -> None:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", NESTED, properties={"write.format.default": "orc"})
    full = {"n": {"b": b"abc", "l": [1, 2], "d": {"x": 3}}}
    half = {"n": {"b": b"de", "l": None, "d": None}}
    values: list[Any] = [{"n": None}, full, {"n": None}, {"n": None}, half, full]
    rows = [{"s": v, "inside": [{"n": None}, v], "by": [("k", v)]} for v in values]
    table.append(pa.Table.from_pylist(rows, NESTED))
    assert table.scan().to_arrow().to_pylist() == rows
