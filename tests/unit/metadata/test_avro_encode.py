"""Arrow tables as Avro files: read back by an independent reader, and refused when they do not fit."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.avro import decode, parse_container
from skipstone.metadata.avro.encode import CODECS, encode
from skipstone.metadata.avro.encode_python import varint

SYNC = b"0123456789abcdef"


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "row", "fields": list(fields)}


def one(avro: Any) -> dict[str, Any]:
    return record({"name": "x", "type": avro})


def both(schema: dict[str, Any], table: pa.Table, **options: Any) -> bytes:
    """The file, after checking that both encoders make the same one."""
    made = encode(schema, table, sync=SYNC, engine="python", **options)
    assert encode(schema, table, sync=SYNC, engine="numba", **options) == made
    assert encode(schema, table, sync=SYNC, engine="numpy", **options) == made
    return made


def read_rows(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))


def round_trip(avro: Any, column: pa.Array[Any]) -> list[Any]:
    return [row["x"] for row in read_rows(both(one(avro), pa.table({"x": column})))]


CASES: list[tuple[str, Any, pa.Array[Any], list[Any]]] = [
    ("null", "null", pa.nulls(2), [None, None]),
    ("boolean", "boolean", pa.array([True, False, True]), [True, False, True]),
    ("int", "int", pa.array([0, -1, 2**31 - 1, -(2**31)], pa.int32()), [0, -1, 2**31 - 1, -(2**31)]),
    ("long", "long", pa.array([63, 64, -64, -65, 2**63 - 1, -(2**63)]), [63, 64, -64, -65, 2**63 - 1, -(2**63)]),
    ("long from int8", "long", pa.array([-128, 127], pa.int8()), [-128, 127]),
    ("long from uint64", "long", pa.array([1, 2**63 - 1], pa.uint64()), [1, 2**63 - 1]),
    ("float", "float", pa.array([1.5, float("-inf")], pa.float32()), [1.5, float("-inf")]),
    ("double", "double", pa.array([0.1, -0.0]), [0.1, -0.0]),
    ("double from float", "double", pa.array([0.5], pa.float32()), [0.5]),
    ("string", "string", pa.array(["", "zip", "𐍈" * 100]), ["", "zip", "𐍈" * 100]),
    ("large string", "string", pa.array(["a", ""], pa.large_string()), ["a", ""]),
    ("string view", "string", pa.array(["a", "b" * 40], pa.string_view()), ["a", "b" * 40]),
    ("dictionary", "string", pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    ("bytes", "bytes", pa.array([b"", b"\x00\xff"]), [b"", b"\x00\xff"]),
    ("bytes from fixed", "bytes", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
    ("fixed", {"type": "fixed", "name": "f", "size": 3}, pa.array([b"abc", b"def"], pa.binary(3)), [b"abc", b"def"]),
    ("enum", {"type": "enum", "name": "e", "symbols": ["A", "B"]}, pa.array(["B", "A"]), ["B", "A"]),
    ("array", {"type": "array", "items": "long"}, pa.array([[1, 2], [], [3]]), [[1, 2], [], [3]]),
    (
        "array of optional",
        {"type": "array", "items": ["null", "int"]},
        pa.array([[1, None], [None]], pa.list_(pa.int32())),
        [[1, None], [None]],
    ),
    ("fixed-size list", {"type": "array", "items": "long"}, pa.array([[1, 2]], pa.list_(pa.int64(), 2)), [[1, 2]]),
    (
        "map",
        {"type": "map", "values": "long"},
        pa.array([[("a", 1), ("b", 2)], []], pa.map_(pa.string(), pa.int64())),
        [{"a": 1, "b": 2}, {}],
    ),
    ("null first", ["null", "long"], pa.array([None, 5, None]), [None, 5, None]),
    ("null last", ["long", "null"], pa.array([None, 5, None]), [None, 5, None]),
    ("all null", ["null", "string"], pa.array([None, None], pa.string()), [None, None]),
    (
        "optional array",
        ["null", {"type": "array", "items": "long"}],
        pa.array([None, [], [7]], pa.list_(pa.int64())),
        [None, [], [7]],
    ),
]


@pytest.mark.parametrize(("avro", "column", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_column_is_read_back_by_an_independent_reader(avro: Any, column: pa.Array[Any], expected: list[Any]) -> None:
    assert repr(round_trip(avro, column)) == repr(expected)


@pytest.mark.parametrize("size", [5, 16, 20])
def test_decimals_are_sign_extended_to_the_fixed_size(size: int) -> None:
    avro = {"type": "fixed", "name": "d", "size": size, "logicalType": "decimal", "precision": 11, "scale": 2}
    values = [Decimal("0.00"), Decimal("-0.01"), Decimal("999999999.99"), Decimal("-999999999.99"), Decimal("1.28")]
    assert round_trip(avro, pa.array(values, pa.decimal128(11, 2))) == values


def test_decimals_as_bytes_take_as_few_bytes_as_hold_them() -> None:
    avro = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0}
    values = [0, 127, 128, -128, -129, 255, 256, 10**38 - 1, -(10**38) + 1]
    data = both(one(avro), pa.table({"x": pa.array([Decimal(v) for v in values], pa.decimal128(38, 0))}))
    assert [row["x"] for row in read_rows(data)] == [Decimal(v) for v in values]
    widths = [len(v) for v in decode_raw(data)]
    assert widths == [1, 1, 2, 1, 2, 2, 2, 16, 16]


def decode_raw(data: bytes) -> list[bytes]:
    """The byte strings of a file of one bytes column, found by walking its only block."""
    ((body, count),) = parse_container(data, source="raw").inflated()
    found, at = [], 0
    for _ in range(count):
        length = body[at] >> 1
        found.append(body[at + 1 : at + 1 + length])
        at += 1 + length
    assert at == len(body)
    return found


@pytest.mark.parametrize(
    ("kind", "logical", "arrow"),
    [
        ("int", "date", pa.date32()),
        ("int", "time-millis", pa.time32("ms")),
        ("long", "time-micros", pa.time64("us")),
        ("long", "timestamp-millis", pa.timestamp("ms")),
        ("long", "timestamp-micros", pa.timestamp("us", tz="UTC")),
        ("long", "timestamp-nanos", pa.timestamp("ns")),
        ("long", "local-timestamp-micros", pa.timestamp("us")),
    ],
)
def test_temporal_columns_are_written_in_the_unit_of_the_logical_type(kind: str, logical: str, arrow: Any) -> None:
    column = pa.array([0, 86_399], pa.int32() if kind == "int" else pa.int64()).view(arrow)
    data = both(one({"type": kind, "logicalType": logical}), pa.table({"x": column}))
    ((body, _),) = parse_container(data, source="t").inflated()
    assert body == varint(0) + varint(86_399)


def test_a_timestamp_in_another_unit_is_converted_exactly_or_refused() -> None:
    avro = {"type": "long", "logicalType": "timestamp-micros"}
    seconds = pa.array([2], pa.int64()).view(pa.timestamp("s"))
    ((body, _),) = parse_container(both(one(avro), pa.table({"x": seconds})), source="t").inflated()
    assert body == varint(2_000_000)
    with pytest.raises(InvalidInput, match="'x'"):
        encode(one(avro), pa.table({"x": pa.array([1], pa.int64()).view(pa.timestamp("ns"))}))


def test_nested_records_and_maps_as_arrays_keep_their_values() -> None:
    entry = {
        "type": "record",
        "name": "kv",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": ["null", "bytes"]}],
    }
    inner = {
        "type": "record",
        "name": "inner",
        "fields": [
            {"name": "m", "type": ["null", {"type": "array", "items": entry, "logicalType": "map"}]},
            {"name": "s", "type": "string", "iceberg-field-name": "a name"},
        ],
    }
    column = pa.array(
        [{"m": [(1, b"a"), (2, None)], "a name": "x"}, {"m": None, "a name": "y"}, {"m": [], "a name": "z"}],
        pa.struct([("m", pa.map_(pa.int32(), pa.binary())), ("a name", pa.string())]),
    )
    rows = read_rows(both(one(inner), pa.table({"x": column})))
    assert rows[0]["x"] == {"m": [{"key": 1, "value": b"a"}, {"key": 2, "value": None}], "s": "x"}
    assert [r["x"]["m"] for r in rows[1:]] == [None, []]


def test_a_named_type_is_found_again_after_it_was_declared_in_a_column_of_nulls() -> None:
    fixed = {"type": "fixed", "name": "two", "size": 2}
    schema = record({"name": "a", "type": ["null", fixed]}, {"name": "b", "type": "two"})
    table = pa.table({"a": pa.nulls(2, pa.binary(2)), "b": pa.array([b"ab", b"cd"], pa.binary(2))})
    assert [r["b"] for r in read_rows(both(schema, table))] == [b"ab", b"cd"]


def test_slices_and_chunks_are_written_like_whole_columns() -> None:
    values = [None if i % 3 == 0 else [(j, b"%d" % j) for j in range(i % 5)] for i in range(60)]
    column = pa.array(values, pa.map_(pa.int32(), pa.binary()))
    entry = {
        "type": "record",
        "name": "kv",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}],
    }
    schema = record({"name": "x", "type": ["null", {"type": "array", "items": entry}]}, {"name": "s", "type": "string"})
    text = pa.array([f"row {i}" for i in range(60)])
    whole = pa.table({"x": pa.array(values[7:41], column.type), "s": pa.array(text.to_pylist()[7:41])})
    pieces = pa.table(
        {
            "x": pa.chunked_array([column.slice(7, 13), column.slice(20, 21)]),
            "s": pa.chunked_array([text.slice(7, 30), text.slice(37, 4)]),
        }
    )
    assert both(schema, pieces) == both(schema, whole)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read_back(codec: Any) -> None:
    table = pa.table({"x": pa.array([f"text {i % 7}" for i in range(3000)])})
    data = encode(one("string"), table, codec=codec, metadata={"owner": b"me"})
    container = parse_container(data, source="c")
    assert container.codec == codec
    assert container.metadata["owner"] == b"me"
    assert decode(container).column("x").to_pylist() == table.column("x").to_pylist()


def test_a_block_ends_with_the_first_row_that_reaches_the_size() -> None:
    table = pa.table({"x": pa.array(["a" * 9] * 25)})  # 10 bytes a row
    data = both(one("string"), table, codec="null", block_bytes=95)
    assert [b.record_count for b in parse_container(data, source="b").blocks] == [10, 10, 5]
    assert [r["x"] for r in read_rows(data)] == ["a" * 9] * 25


def test_blocks_run_on_over_the_batches_rows_are_laid_out_in() -> None:
    rows = 40_000
    table = pa.table({"x": pa.array(np.arange(rows))})
    data = both(one("long"), table, codec="null", block_bytes=50_000)
    blocks = parse_container(data, source="b").blocks
    assert sum(b.record_count for b in blocks) == rows
    assert all(b.length >= 50_000 for b in blocks[:-1])
    assert decode(parse_container(data, source="b")).column("x").to_pylist() == list(range(rows))


def test_a_table_without_rows_has_no_blocks() -> None:
    data = both(one("string"), pa.table({"x": pa.array([], pa.string())}))
    assert parse_container(data, source="e").blocks == ()
    assert read_rows(data) == []


def test_sync_markers_differ_between_files() -> None:
    table = pa.table({"x": ["a"]})
    assert parse_container(encode(one("string"), table), source="a").sync != (
        parse_container(encode(one("string"), table), source="b").sync
    )


REFUSED: list[tuple[str, dict[str, Any], pa.Table, type[Exception], str]] = [
    ("null in a required column", one("string"), pa.table({"x": ["a", None]}), InvalidInput, "'x'.*null at 1"),
    ("missing required column", one("string"), pa.table({"y": ["a"]}), InvalidInput, "'x'.*null at 0"),
    ("extra column", one(["null", "string"]), pa.table({"x": ["a"], "y": [1]}), InvalidInput, "also y"),
    ("number for text", one("string"), pa.table({"x": [1]}), InvalidInput, "expected a string column, got int64"),
    ("text for number", one("long"), pa.table({"x": ["a"]}), InvalidInput, "got string"),
    ("33 bits", one("int"), pa.table({"x": [2**31]}), InvalidInput, "32-bit values, got 2147483648"),
    ("double for float", one("float"), pa.table({"x": [0.1]}), InvalidInput, "got double"),
    (
        "fixed of another size",
        one({"type": "fixed", "name": "f", "size": 2}),
        pa.table({"x": pa.array([b"abc"], pa.binary(3))}),
        InvalidInput,
        r"fixed_size_binary\[2\]",
    ),
    (
        "decimal too wide",
        one({"type": "fixed", "name": "f", "size": 1, "logicalType": "decimal", "precision": 5, "scale": 0}),
        pa.table({"x": pa.array([Decimal(128)], pa.decimal128(5, 0))}),
        InvalidInput,
        "1 bytes, got 128",
    ),
    (
        "unknown symbol",
        one({"type": "enum", "name": "e", "symbols": ["A"]}),
        pa.table({"x": ["B"]}),
        InvalidInput,
        "one of A, got 'B'",
    ),
    ("list for map", one({"type": "map", "values": "long"}), pa.table({"x": [[1]]}), InvalidInput, "list or map"),
    (
        "map for plain array",
        one({"type": "array", "items": "long"}),
        pa.table({"x": pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64()))}),
        InvalidInput,
        "key, value",
    ),
    ("struct for text", one("string"), pa.table({"x": [{"a": 1}]}), InvalidInput, "got struct"),
    ("three branches", one(["null", "int", "long"]), pa.table({"x": [1]}), Unsupported, "union of null and one type"),
    ("undeclared name", one("elsewhere"), pa.table({"x": [1]}), InvalidInput, "elsewhere"),
    ("no record", {"type": "array", "items": "long"}, pa.table({"x": [1]}), InvalidInput, "record schema"),
]


@pytest.mark.parametrize(("schema", "table", "error", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_what_does_not_fit_is_refused(schema: Any, table: pa.Table, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        encode(schema, table)


def test_a_schema_nested_too_deep_is_refused() -> None:
    avro: Any = "long"
    column: pa.Array[Any] = pa.array([1])
    for _ in range(70):
        avro = {"type": "array", "items": avro}
        column = pa.ListArray.from_arrays([0, 1], column)
    with pytest.raises(Unsupported, match="levels of nesting"):
        encode(one(avro), pa.table({"x": column}))


def test_unknown_codecs_and_sync_markers_of_a_wrong_size_are_refused() -> None:
    table = pa.table({"x": ["a"]})
    with pytest.raises(InvalidInput, match="lz4"):
        encode(one("string"), table, codec="lz4")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="16 bytes, got 3"):
        encode(one("string"), table, sync=b"abc")
