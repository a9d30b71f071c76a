"""Reading a plan: whatever the files, deletes, filters, columns and threads, the rows are those of the model.

The model is a list of rows; a row is gone when its position is deleted, or when a newer equality key equals it with
null equal to null, NaN to NaN, and -0.0 different from 0.0.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import pyarrow
from hypothesis import given, settings
from hypothesis import strategies as st

import skipstone
from skipstone.read.equality_deletes import among, plain_keys
from skipstone.read.position_deletes import by_path

pa: Any = pyarrow

FLOATS = st.sampled_from([None, math.nan, -0.0, 0.0, 1.5, math.inf])
TEXTS = st.sampled_from([None, "", "a", "b", "é😀"])
NUMBERS = st.none() | st.integers(-3, 3)


@st.composite
def batches(draw: st.DrawFn) -> list[dict[str, Any]]:
    count = draw(st.integers(1, 12))
    return [{"n": draw(NUMBERS), "d": draw(FLOATS), "s": draw(TEXTS)} for _ in range(count)]


FILTERS: dict[str, Any] = {
    "n > 0": lambda r: r["n"] is not None and r["n"] > 0,
    "n IS NULL OR s = 'a'": lambda r: r["n"] is None or r["s"] == "a",
    "s IS NOT NULL AND n <= 1": lambda r: r["s"] is not None and r["n"] is not None and r["n"] <= 1,
    "s LIKE 'a%'": lambda r: r["s"] is not None and r["s"].startswith("a"),
    "n IN (-3, 2)": lambda r: r["n"] in (-3, 2),
}


@given(
    files=st.lists(batches(), min_size=1, max_size=3),
    deletes=st.lists(st.sampled_from(["n = 1", "s = 'b'", "n < -2"]), max_size=2),
    sql=st.none() | st.sampled_from(sorted(FILTERS)),
    columns=st.sampled_from([None, ["s"], ["n", "_pos"], ["_file", "_row_id", "d"]]),
    threads=st.sampled_from([1, 3]),
    limit=st.none() | st.integers(0, 10),
    mode=st.sampled_from(["merge-on-read", "copy-on-write"]),
    file_format=st.sampled_from(["parquet", "orc", "avro"]),
)
@settings(max_examples=40, deadline=None)
def test_scan_gives_the_rows_of_the_model(
    files: list[list[dict[str, Any]]],
    deletes: list[str],
    sql: str | None,
    columns: list[str] | None,
    threads: int,
    limit: int | None,
    mode: str,
    file_format: str,
    tmp_path_factory: Any,
) -> None:
    directory = tmp_path_factory.mktemp("lake")
    lake = skipstone.catalog(f"sqlite:///{directory}/catalog.db", warehouse=str(directory))
    lake.create_namespace("t")
    properties = {
        "write.delete.mode": mode,
        "write.format.default": file_format,
        "write.metadata.metrics.default": "full",
    }
    form = pa.schema([("n", pa.int64()), ("d", pa.float64()), ("s", pa.string())])
    table = lake.create_table("t.t", form, format_version=3, properties=properties)
    model: list[dict[str, Any]] = []
    for rows in files:
        table.append(pa.Table.from_pylist(rows, schema=form))
        model += rows
    for text in deletes:
        table.delete(text)
        is_gone = GONE[text]
        model = [r for r in model if not is_gone(r)]
    expected = [r for r in model if sql is None or FILTERS[sql](r)]
    scan = skipstone.Scan(**{**table.scan(sql, columns=columns, limit=limit)._arguments(), "threads": threads})
    found = scan.to_arrow()
    assert found.num_rows == (len(expected) if limit is None else min(limit, len(expected)))
    assert scan.count() == found.num_rows
    if limit is None:
        for name in {"n", "d", "s"} & set(found.column_names):
            assert sorted(map(repr, found.column(name).to_pylist())) == sorted(repr(r[name]) for r in expected)
    if "_row_id" in found.column_names:
        row_ids = found.column("_row_id").to_pylist()
        assert None not in row_ids and len(set(row_ids)) == len(row_ids)


GONE: dict[str, Any] = {
    "n = 1": lambda r: r["n"] == 1,
    "s = 'b'": lambda r: r["s"] == "b",
    "n < -2": lambda r: r["n"] is not None and r["n"] < -2,
}


def bits(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


@given(
    rows=st.lists(st.tuples(NUMBERS, FLOATS, TEXTS), max_size=40),
    keys=st.lists(st.tuples(NUMBERS, FLOATS, TEXTS), min_size=1, max_size=15),
    width=st.integers(1, 3),
)
@settings(max_examples=200, deadline=None)
def test_equality_keys_match_bit_by_bit_with_null_equal_to_null(
    rows: list[tuple[Any, ...]], keys: list[tuple[Any, ...]], width: int
) -> None:
    types = (pa.int64(), pa.float64(), pa.string())[:width]
    columns = [plain_keys(pa.array([r[i] for r in rows], t)) for i, t in enumerate(types)]
    key_columns = [plain_keys(pa.array([k[i] for k in keys], t)) for i, t in enumerate(types)]
    wanted = {tuple(map(bits, k[:width])) for k in keys}
    assert among(columns, key_columns).tolist() == [tuple(map(bits, r[:width])) in wanted for r in rows]


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 20)), max_size=60))
def test_position_deletes_are_grouped_by_file_ascending_and_once(pairs: list[tuple[str, int]]) -> None:
    form = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])
    table = pa.Table.from_pylist([{"file_path": p, "pos": n} for p, n in pairs], schema=form)
    found = {path: positions.tolist() for path, positions in by_path(table).items()}
    assert found == {path: sorted({n for p, n in pairs if p == path}) for path in {p for p, _ in pairs}}
