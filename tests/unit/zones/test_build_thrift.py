"""Thrift and Protocol Buffers on the wire: what is read, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.errors import FormatViolation
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.parquet_structures import (
    parse_bloom_header,
    parse_column_index,
    parse_dictionary_page_header,
    parse_offset_index,
    read_footer,
)
from skipstone.zones.build.protobuf import parse_message, parse_packed, zigzag
from skipstone.zones.build.thrift_compact import parse_struct


def test_fields_of_every_kind() -> None:
    scalars = "11 12 13 7f 15 09 16 ff 01 18 02 61 62"  # true, false, a byte, two integers, bytes
    nested = "19 25 02 04 1c 15 02 00 1b 01 55 02 04"  # a list, a struct, a map
    data = bytes.fromhex(f"{scalars} {nested} 00")
    found, end = parse_struct(data, source="x")
    assert found == {1: True, 2: False, 3: 127, 4: -5, 5: -128, 6: b"ab", 7: [1, 2], 8: {1: 1}, 9: {1: 2}}
    assert end == len(data)


def test_fields_nobody_asked_for_are_stepped_over() -> None:
    data = bytes([0x19, 0x25, 2, 4, 0x1C, 0x15, 2, 0, 0x18, 1, 0x61, 0x15, 8, 0])
    assert parse_struct(data, source="x", wish={4: None})[0] == {4: 4}


def test_long_field_ids_and_long_lists() -> None:
    data = bytes([0x05, 0xC8, 0x01, 2, 0]) + b""
    assert parse_struct(data, source="x")[0] == {100: 1}
    many = bytes([0x19, 0xF5, 20]) + bytes([2] * 20) + b"\x00"
    assert parse_struct(many, source="x")[0] == {1: [1] * 20}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x15",
        b"\x15\xff",
        b"\x15" + b"\xff" * 11,
        b"\x18\x7fabc",
        b"\x19\xf5\xff\xff\xff\x7f",
        b"\x1b\xff\xff\x03\x55",
        b"\x1e\x00",
        b"\x1c" * 200,
        b"\x19" + b"\x19" * 200,
    ],
    ids=[
        "empty",
        "cut",
        "cut-number",
        "endless-number",
        "short-bytes",
        "huge-list",
        "huge-map",
        "kind",
        "deep",
        "lists",
    ],
)
def test_bad_bytes_are_one_clear_error(data: bytes) -> None:
    with pytest.raises(FormatViolation, match="Invalid x: byte"):
        parse_struct(data, source="x")
    if data:
        with pytest.raises(FormatViolation, match="Invalid x: byte"):
            parse_struct(data, source="x", wish={9: None})


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_random_bytes_never_raise_anything_else(data: bytes) -> None:
    for parse in (parse_column_index, parse_offset_index, parse_dictionary_page_header, parse_bloom_header):
        try:
            parse(data, source="x")
        except FormatViolation as error:
            assert "Invalid x" in str(error)
    try:
        parse_message(data, source="x")
    except FormatViolation as error:
        assert "Invalid x" in str(error)


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"\x00\x00\x00\x00PARX", b"\xff\xff\xff\x7fPAR1", b"\x05\x01\x00\x00\x00PAR1"]
)
def test_what_is_no_parquet_footer_is_refused(data: bytes) -> None:
    with pytest.raises(FormatViolation, match=r"f\.parquet"):
        read_footer(FileBytes.of_buffer(data, "f.parquet"))


def test_pieces_beyond_the_file_or_the_cap_are_refused() -> None:
    file = FileBytes.of_buffer(b"0123456789", "f")
    assert file.piece(2, 3, "part") == b"234"
    for offset, length in ((-1, 2), (8, 3), (2, -1)):
        with pytest.raises(FormatViolation, match="Invalid part in f"):
            file.piece(offset, length, "part")
    with pytest.raises(FormatViolation, match="at most 4 bytes, got 5"):
        file.piece(0, 5, "part", length_max=4)
    with pytest.raises(FormatViolation, match="expected 5 bytes, got 1"):
        FileBytes(lambda _offset, _length: b"x", 10, "f").piece(0, 5, "part")


def test_protocol_buffers() -> None:
    message = parse_message(b"\x08\x96\x01\x12\x02hi\x1d\x01\x02\x03\x04\x08\x01", source="x")
    assert message == {1: [150, 1], 2: [b"hi"], 3: [b"\x01\x02\x03\x04"]}
    assert parse_packed([b"\x01\x96\x01", 7], source="x") == [1, 150, 7]
    assert [zigzag(n) for n in (0, 1, 2, 3)] == [0, -1, 1, -2]
    for bad in (b"\x08", b"\x12\x09hi", b"\x0b", b"\x08" + b"\xff" * 11):
        with pytest.raises(FormatViolation, match="Invalid x"):
            parse_message(bad, source="x")
