"""Chunks of chosen row groups and columns, put into a small Parquet file, are read as they would be from theirs."""

from __future__ import annotations

import decimal
import io
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.index.parquet_parts import small_file
from skipstone.index.sidecar_write import WRITING, leaves_of

_TYPES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "1.lower": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "text": (pa.string(), st.text(max_size=5)),
    "bytes": (pa.binary(), st.binary(max_size=5)),
    "fixed": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "flag": (pa.bool_(), st.booleans()),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "day": (pa.date32(), st.dates(date(1900, 1, 1), date(2200, 1, 1))),
    "moment": (pa.timestamp("us"), st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))),
    "price": (pa.decimal128(9, 2), st.integers(-99, 99).map(lambda n: decimal.Decimal(n).scaleb(-2))),
    "offsets": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=3)),
}


@st.composite
def _files(draw: st.DrawFn) -> tuple[list[pa.Table], list[str]]:
    names = draw(st.lists(st.sampled_from(sorted(_TYPES)), min_size=1, max_size=4, unique=True))
    tables = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 4))
        columns = {
            n: pa.array(draw(st.lists(st.none() | _TYPES[n][1], min_size=size, max_size=size)), _TYPES[n][0])
            for n in names
        }
        tables.append(pa.table(columns))
    return tables, draw(st.lists(st.sampled_from(names), min_size=1, unique=True))


@settings(max_examples=60, deadline=None)
@given(_files(), st.data())
def test_chosen_chunks_are_read_as_from_their_own_file(
    files: tuple[list[pa.Table], list[str]], data: st.DataObject
) -> None:
    groups, names = files
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, groups[0].schema, **WRITING) as writer:
        for group in groups:
            writer.write_table(group)
    written = sink.getvalue()
    metadata = pq.read_metadata(pa.BufferReader(written))
    leaves = leaves_of(groups[0].schema)
    places = [groups[0].column_names.index(n) for n in names]
    rows = data.draw(st.lists(st.sampled_from(range(len(groups))), min_size=1, unique=True))
    chunks: list[list[bytes]] = [[] for _ in places]
    values = [0] * len(places)
    for row in rows:
        for which, place in enumerate(places):
            column = metadata.row_group(row).column(place)
            start = column.data_page_offset
            chunks[which].append(written[start : start + column.total_compressed_size])
            values[which] += column.num_values
    expected = pa.concat_tables([groups[r].select(names) for r in rows])
    small = small_file([leaves[p] for p in places], chunks, values, expected.num_rows)
    assert pq.read_table(pa.BufferReader(small)).equals(expected)
