"""Rows by position, and rows by key: the same as reading everything and looking at each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
from hypothesis import given, settings
from hypothesis import strategies as st

import skipstone
from skipstone.metadata.reserved import POS, ROW_ID
from skipstone.metadata.types import DATE, INT, LONG, TIMESTAMP, Field, StructType
from skipstone.read.keyed_rows import Keys, find_keyed_rows
from skipstone.read.rows_at import read_rows_at

pa: Any = pyarrow

FORM = pa.schema([("k", pa.int64()), ("s", pa.string()), ("d", pa.float64())])
NUMBERS = st.none() | st.integers(-3, 3)
TEXTS = st.sampled_from([None, "", "a", "é😀"])
FLOATS = st.sampled_from([None, float("nan"), -0.0, 1.5])
ROWS = st.lists(st.fixed_dictionaries({"k": NUMBERS, "s": TEXTS, "d": FLOATS}), min_size=1, max_size=40)


@given(
    files=st.lists(ROWS, min_size=1, max_size=3),
    group_rows=st.integers(1, 12),
    deletes=st.lists(st.sampled_from(["k = 1", "s = 'a'"]), max_size=2),
    numbers=st.lists(NUMBERS, max_size=4),
    texts=st.none() | st.lists(TEXTS, max_size=3),
    sql=st.none() | st.sampled_from(["k >= 0", "k <= 2 OR k IS NULL"]),
    file_format=st.sampled_from(["parquet", "parquet", "orc", "avro"]),
    rows_max=st.sampled_from([0, 2, 1000]),
)
@settings(max_examples=60, deadline=None)
def test_rows_are_found_by_key_and_read_by_position(
    files: list[list[dict[str, Any]]],
    group_rows: int,
    deletes: list[str],
    numbers: list[int | None],
    texts: list[str | None] | None,
    sql: str | None,
    file_format: str,
    rows_max: int,
    tmp_path_factory: Any,
) -> None:
    directory = tmp_path_factory.mktemp("lake")
    lake = skipstone.catalog(f"sqlite:///{directory}/catalog.db", warehouse=str(directory))
    lake.create_namespace("t")
    properties = {
        "write.delete.mode": "merge-on-read",
        "write.format.default": file_format,
        "write.parquet.row-group-size-bytes": str(24 * group_rows),
    }
    table = lake.create_table("t.t", FORM, format_version=3, properties=properties)
    for rows in files:
        table.append(pa.Table.from_pylist(rows, schema=FORM))
    for text in deletes:
        table.delete(text)
    scan = table.scan(sql)
    plan = scan.plan()
    k, s, d = table.schema.fields
    keys = [Keys(field=k, values=pa.array(numbers, pa.int64()))]
    if texts is not None:
        keys.append(Keys(field=s, values=pa.array(texts, pa.string())))

    # The slow way: every row that is there, with its place. Whether the filter skipped it or not does not matter.
    names = ["k", "s", "d", "_row_id", "_pos", "_file"]
    everything = table.scan(columns=names).to_arrow().to_pylist()
    paths = plan.files.column("file_path").to_pylist()
    wanted = [r for r in everything if r["k"] in numbers and (texts is None or r["s"] in texts)]
    matching = {(r["_file"], r["_pos"]) for r in table.scan(sql, columns=names).to_arrow().to_pylist()}
    sure = {(r["_file"], r["_pos"]) for r in wanted} & matching

    found = find_keyed_rows(plan, table.storage, tuple(keys), rows_max=rows_max)
    if found is None:
        assert len([r for r in wanted if r["_file"] in paths]) > rows_max
        return
    at = [(paths[file], int(p)) for file, positions in found.positions.items() for p in positions]
    assert sure <= set(at) <= {(r["_file"], r["_pos"]) for r in wanted}
    assert len(at) == len(set(at)) <= rows_max and list(found.positions) == sorted(found.positions)
    by_place = {(r["_file"], r["_pos"]): r for r in everything}
    if found.columns is not None:
        assert found.columns.column("k").to_pylist() == [by_place[place]["k"] for place in at]
    if not at:
        return
    struct = StructType((d, ROW_ID, POS, s))
    read = read_rows_at(plan, table.storage, wanted=struct, positions=found.positions, threads=2)
    expected = [tuple(by_place[place][n] for n in ("d", "_row_id", "_pos", "s")) for place in at]
    assert [repr(tuple(r.values())) for r in read.to_pylist()] == list(map(repr, expected))


WHOLE: dict[str, tuple[Any, Any]] = {
    "long": (LONG, pa.int64()),
    "int": (INT, pa.int32()),
    "date": (DATE, pa.date32()),
    "timestamp": (TIMESTAMP, pa.timestamp("us")),
}
EDGES = {32: (-(2**31), 2**31 - 1), 64: (-(2**63), 2**63 - 1)}


@given(
    kind=st.sampled_from(sorted(WHOLE)),
    near=st.lists(st.none() | st.integers(-5, 300), max_size=12),
    keys=st.lists(st.none() | st.integers(-3, 290), max_size=8),
    has_edges=st.tuples(st.booleans(), st.booleans()),
    cut=st.integers(0, 3),
)
@settings(max_examples=150, deadline=None)
def test_values_among_keys_are_those_that_arrow_finds(
    kind: str, near: list[int | None], keys: list[int | None], has_edges: tuple[bool, bool], cut: int
) -> None:
    """Whole numbers are looked up by place, where keys lie near each other; a type's ends are far from all else."""
    type_, arrow = WHOLE[kind]
    number = pa.int32() if arrow.bit_width == 32 else pa.int64()
    edges = list(EDGES[arrow.bit_width])
    values = pa.array([*near, *(edges if has_edges[0] else [])], number).view(arrow)
    column = pa.chunked_array([values[:cut], values[cut:]], arrow)
    listed = pa.array([*keys, *(edges[1:] if has_edges[1] else [])], number).view(arrow)
    found = Keys(field=Field(id=1, name="k", type=type_), values=listed).among(column)
    assert found.tolist() == pa.compute.is_in(column, value_set=listed).to_pylist()


def test_a_column_that_no_file_has_is_its_default_at_every_position(tmp_path: Any) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    table = lake.create_table("t.t", FORM, format_version=3)
    table.append(pa.Table.from_pylist([{"k": i, "s": "x", "d": 0.5} for i in range(10)], schema=FORM))
    with table.update_schema() as schema:
        schema.add_column("later", "int", default=7)
    plan = table.scan().plan()
    later = table.schema.field("later")
    read = read_rows_at(plan, table.storage, wanted=StructType((later,)), positions={0: np.array([2, 5, 9], np.int64)})
    assert read.column("later").to_pylist() == [7, 7, 7]
