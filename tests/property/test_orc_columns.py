"""ORC columns decoded here equal pyarrow's, wherever pyarrow reads them too; damage is one violation."""

from __future__ import annotations

import io
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any

import pyarrow
import pyarrow.orc
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.errors import FormatViolation
from skipstone.read.orc_columns import OrcColumns
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.orc_tail import read_orc_tail

pa: Any = pyarrow
orc: Any = pyarrow.orc

WIDE = Context(prec=60)
MOMENTS = st.integers(-(2**62), 2**62) | st.integers(-2_000_000_000, 2_000_000_000) | st.just(1_000_000_000)
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5) | st.integers(-200, 200)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.timestamp("ns"), MOMENTS),
    (pa.timestamp("ns", "UTC"), MOMENTS),
    (pa.int64(), INTEGERS),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.date32(), st.integers(-100_000, 100_000)),
    (pa.string(), st.sampled_from(["", "a", "name", "é😀"]) | st.text(max_size=5)),
    (pa.binary(), st.binary(max_size=4)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.decimal128(9, 2), st.decimals(min_value=-(10**7) + 1, max_value=10**7 - 1, places=2)),
    (pa.decimal128(38, 10), st.integers(-(10**38) + 1, 10**38 - 1).map(lambda u: Decimal(u).scaleb(-10, WIDE))),
]


def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    type_, values = draw(st.sampled_from(LEAVES))
    match draw(st.sampled_from(["leaf", "list", "map", "struct", "runs"])):
        case "list":
            type_, values = pa.list_(type_), st.lists(nullable(values), max_size=4)
        case "map":
            type_ = pa.map_(pa.string(), type_)
            values = st.lists(st.tuples(st.text(max_size=2), nullable(values)), max_size=3)
        case "struct":
            type_ = pa.struct([("t", pa.timestamp("ns")), ("v", type_)])
            values = st.fixed_dictionaries({"t": nullable(MOMENTS), "v": nullable(values)})
        case "runs":
            # Long runs, steps and outliers, which the encoding treats each in its own way.
            size = draw(st.integers(1, 1500))
            step = draw(st.integers(-1000, 1000))
            rows = [i * step for i in range(size)]
            for place in draw(st.lists(st.integers(0, size - 1), max_size=5)):
                rows[place] = draw(MOMENTS)
            return pa.array(rows, pa.int64()).cast(pa.timestamp("ns") if pa.types.is_timestamp(type_) else pa.int64())
    return pa.array(draw(st.lists(nullable(values), max_size=60)), type_)


def written(array: Any, compression: str, version: str) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"id": pa.array(range(len(array)), pa.int64()), "c": array})
    orc.write_table(table, sink, compression=compression, file_version=version)
    return sink.getvalue()


@given(
    array=arrays(),
    compression=st.sampled_from(["uncompressed", "zlib", "snappy", "lz4", "zstd"]),
    version=st.sampled_from(["0.11", "0.12"]),
)
@settings(max_examples=200, deadline=None)
def test_columns_equal_those_of_pyarrow(array: Any, compression: str, version: str) -> None:
    data = written(array, compression, version)
    theirs = orc.ORCFile(pa.BufferReader(data))
    file = FileBytes.of_buffer(data, "c.orc")
    columns = OrcColumns(file, read_orc_tail(file))
    for stripe in range(theirs.nstripes):
        expected = theirs.read_stripe(stripe, columns=["c"]).column(0)
        assert repr(plain(columns.read(stripe, 1))) == repr(plain(expected))


def plain(array: Any) -> list[Any]:
    """Values without the names of types: moments as nanoseconds, structs as the values of their fields."""
    type_ = array.type
    if pa.types.is_timestamp(type_):
        return [None if v is None else v for v in array.cast(pa.timestamp("ns", type_.tz)).view(pa.int64()).to_pylist()]
    if pa.types.is_struct(type_):
        fields = [plain(f) for f in array.flatten()]
        return [
            tuple(row) if valid else None for valid, *row in zip(array.is_valid().to_pylist(), *fields, strict=True)
        ]
    if pa.types.is_list(type_):
        return nested(array, plain(array.flatten()))
    if pa.types.is_map(type_):
        kept = array.filter(array.is_valid())
        start, stop = (kept.offsets[0].as_py(), kept.offsets[-1].as_py()) if len(kept) else (0, 0)
        parts = (plain(p.slice(start, stop - start)) for p in (kept.keys, kept.items))
        return nested(array, list(zip(*parts, strict=True)))
    return list(array.to_pylist())


def nested(array: Any, items: list[Any]) -> list[Any]:
    rows, at = [], 0
    for value in array.to_pylist() if not has_moments(array.type) else lengths(array):
        size = None if value is None else value if isinstance(value, int) else len(value)
        rows.append(None if size is None else items[at : at + size])
        at += size or 0
    return rows


def has_moments(type_: Any) -> bool:
    return "timestamp" in str(type_)


def lengths(array: Any) -> list[int | None]:
    offsets = array.offsets.to_pylist()
    sizes = [b - a for a, b in pairwise(offsets)]
    return [s if v else None for s, v in zip(sizes, array.is_valid().to_pylist(), strict=True)]


SAMPLE = written(
    pa.array([1, None, 10**18, -5, *range(300)], pa.int64()).cast(pa.timestamp("ns")), "uncompressed", "0.12"
)


@given(place=st.integers(0, len(SAMPLE) - 1), byte=st.integers(0, 255), cut=st.booleans())
@settings(max_examples=300, deadline=None)
def test_damage_is_at_most_one_violation(place: int, byte: int, cut: bool) -> None:
    data = SAMPLE[:place] if cut else SAMPLE[:place] + bytes([byte]) + SAMPLE[place + 1 :]
    file = FileBytes.of_buffer(data, "c.orc")
    try:
        tail = read_orc_tail(file)
        columns = OrcColumns(file, tail)
        for stripe in range(min(len(tail.stripes), 3)):
            columns.read(stripe, 1)
    except FormatViolation as violation:
        assert "c.orc" in str(violation)
