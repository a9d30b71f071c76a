"""Records that contradict their schema: each is one clear violation that names file, record and place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from tests.support.avro_files import avro_file, container, sized, zigzag

from skipstone.errors import FormatViolation
from skipstone.metadata.avro import Caps, decode, parse_container, reading


@pytest.fixture(params=[False, True], ids=["reference", "compiled"], autouse=True)
def decoder(request: pytest.FixtureRequest) -> Iterator[None]:
    with patch.object(reading, "_use_compiled", return_value=request.param):
        yield


def record(*types: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(types)]}


def refuse(schema: Any, body: bytes, *, count: int = 1) -> str:
    with pytest.raises(FormatViolation) as caught:
        decode(parse_container(container(schema, [(count, body)]), source="a.avro"))
    return str(caught.value).removeprefix("Invalid Avro file a.avro: ")


LIST = {"type": "array", "items": "long"}
FIXED = {"type": "fixed", "name": "x", "size": 4}
ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}


@pytest.mark.parametrize(
    ("type_", "body", "message"),
    [
        ("long", b"\x80", "record 0, f0: expected a varint, got the end of the data."),
        ("long", b"\x80" * 9 + b"\x02", "record 0, f0: expected a varint of at most 64 bits, got more."),
        ("long", b"\x80" * 10 + b"\x01", "record 0, f0: expected a varint of at most 10 bytes, got a longer one."),
        ("int", zigzag(2**31), "record 0, f0: expected an int of 32 bits, got 2147483648."),
        ("boolean", b"\x02", "record 0, f0: expected a boolean of 0 or 1, got 2."),
        ("double", b"1234567", "block after record 0: expected at most 0 records in a block of 7 bytes, got 1."),
        ("string", sized(b"ab")[:-1], "record 0, f0: expected a length from 0 to the 1 bytes left, got 2."),
        ("string", zigzag(-1), "record 0, f0: expected a length from 0 to the 0 bytes left, got -1."),
        ("string", zigzag(2**62), "record 0, f0: expected a length from 0 to the 0 bytes left"),
        ("string", sized(b"a\xff"), "record 0, f0: expected UTF-8, got b'a\\xff'."),
        ("string", sized(b"\xed\xa0\x80"), "record 0, f0: expected UTF-8, got b'\\xed\\xa0\\x80'."),
        (["null", "long"], zigzag(2), "record 0, f0: expected a union index from 0 to 1, got 2."),
        (["null", "long"], zigzag(-1), "record 0, f0: expected a union index from 0 to 1, got -1."),
        (["long"], zigzag(1), "record 0, f0: expected a union index from 0 to 0, got 1."),
        (ENUM, zigzag(2), "record 0, f0: expected an enum index from 0 to 1, got 2."),
        (["null", FIXED], zigzag(1) + b"abc", "record 0, f0: expected 4 bytes, got the 3 left."),
        (LIST, zigzag(2**61), "record 0, f0: expected at most 0 items in the 0 bytes left, got 2305843009213693952."),
        (LIST, zigzag(-(2**63)) + zigzag(0), "record 0, f0: expected at most 0 items in the 0 bytes left"),
        (LIST, zigzag(-1) + zigzag(9) + b"\x00", "expected a list block of 0 to the 1 bytes left, got 9."),
        (LIST, zigzag(-1) + zigzag(2) + zigzag(5) + b"\x00\x00", "a list block of the size it says, got 1 bytes less."),
        (LIST, zigzag(2) + zigzag(5) + b"\x80", "record 0, f0[1]: expected a varint, got the end of the data."),
        (LIST, zigzag(1) + zigzag(5), "record 0, f0: expected a varint, got the end of the data."),
        (DECIMAL, sized(b"\x7f\xff"), "record 0, f0: expected a value that fits decimal128(4, 2), got a larger one."),
        (DECIMAL, sized(b"\x01" + bytes(16)), "record 0, f0: expected a decimal of at most 16 bytes, got 17."),
        ("long", zigzag(1) + b"\x00\x00", "block that ends with record 0: expected it to end there, got 2 bytes more."),
    ],
)
def test_damage_is_told_by_record_and_place(type_: Any, body: bytes, message: str) -> None:
    assert message in refuse(record(type_), body)


def test_damage_in_skipped_fields_is_told_too() -> None:
    schema = record("long", {"type": "array", "items": "string"})
    data = container(schema, [(1, zigzag(1) + zigzag(1) + zigzag(99))])
    with pytest.raises(
        FormatViolation, match=r"record 0, f1\[0\]: expected a length from 0 to the 0 bytes left, got 99"
    ):
        decode(parse_container(data, source="a.avro"), fields=["f0"])


def test_the_record_number_counts_over_blocks() -> None:
    schema = record("boolean")
    data = container(schema, [(2, b"\x00\x01"), (0, b""), (3, b"\x01\x00\x07")])
    with pytest.raises(FormatViolation, match="record 4, f0: expected a boolean of 0 or 1, got 7"):
        decode(parse_container(data, source="a.avro"))


def test_a_bad_string_inside_a_list_is_told_by_its_record() -> None:
    good, bad = zigzag(2) + sized(b"a") + sized(b"b") + zigzag(0), zigzag(1) + sized(b"\xff") + zigzag(0)
    assert "record 1, f0: expected UTF-8" in refuse(record({"type": "array", "items": "string"}), good + bad, count=2)


def test_more_records_than_bytes_are_refused_before_any_memory_is_taken() -> None:
    message = refuse(record("long"), bytes(10), count=2**62)
    assert (
        message == "block after record 0: expected at most 10 records in a block of 10 bytes, got 4611686018427387904."
    )


def test_a_claimed_total_does_not_size_the_buffers() -> None:
    blocks = [(3000, b"".join(zigzag(i) + sized(b"x" * 50) for i in range(3000))), (2**62, b"")]
    data = container(record("long", "bytes"), blocks)
    with pytest.raises(FormatViolation, match="block after record 3000: expected at most 0 records"):
        decode(parse_container(data, source="a.avro"))


def test_a_bomb_of_list_items_stops_at_the_cap() -> None:
    schema = record(LIST)
    data = container(schema, [(1, zigzag(2_000_000) + bytes(2_000_000) + zigzag(0))], codec="deflate")
    assert len(data) < 10_000
    with pytest.raises(FormatViolation, match="decompression bomb"):
        decode(parse_container(data, source="a.avro", caps=Caps(inflated_bytes_max=1_000_000)))


def test_nulls_that_stand_for_many_columns_stop_at_the_cap() -> None:
    wide = {"type": "record", "name": "w", "fields": [{"name": f"c{i}", "type": "long"} for i in range(1000)]}
    data = container(record(["null", wide]), [(2000, bytes(2000))])
    table = decode(parse_container(data, source="a.avro"))
    assert table.column(0).null_count == 2000
    with pytest.raises(
        FormatViolation, match="expected records that take at most 9999999 bytes when decoded, got more"
    ):
        decode(parse_container(data, source="a.avro", caps=Caps(decoded_bytes_max=9_999_999)))


def test_list_items_that_stand_for_many_columns_stop_at_the_cap() -> None:
    wide = {"type": "record", "name": "w", "fields": [{"name": f"c{i}", "type": "long"} for i in range(1000)]}
    schema = record({"type": "array", "items": ["null", wide]})
    data = container(schema, [(1, zigzag(20_000) + bytes(20_000) + zigzag(0))])
    with pytest.raises(
        FormatViolation, match="expected records that take at most 9999999 bytes when decoded, got more"
    ):
        decode(parse_container(data, source="a.avro", caps=Caps(decoded_bytes_max=9_999_999)))


def test_large_records_grow_every_buffer() -> None:
    schema = record(LIST, "bytes", {"type": "array", "items": {"type": "array", "items": ["null", "string"]}})
    rows = [{"f0": list(range(i * 40)), "f1": b"y" * i * 500, "f2": [[None, "z" * i], []] * i} for i in range(60)]
    table = decode(parse_container(avro_file(schema, rows, codec="deflate", block_records=7), source="a.avro"))
    assert table.to_pylist() == rows
