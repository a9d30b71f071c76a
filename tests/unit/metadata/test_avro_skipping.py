"""Lists nobody asked for: skipped in one step or item by item, what comes after them is the same."""

from __future__ import annotations

from typing import Any

import pytest

from skipstone.metadata.avro.decode_python import skip_flat_list
from skipstone.metadata.avro.encode_python import varint, with_length

_END = b"\x00"


def _pairs(values: list[int]) -> bytes:
    return varint(len(values)) + b"".join(varint(k) + varint(v) for k, v in enumerate(values)) + _END


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (_END, (2, False)),
        (_pairs([0, -1, 2**40, -(2**60)]), (2, False)),
        (_pairs([1])[:-1] + _pairs([2, 3]), (2, False)),
        (varint(2) + varint(1) + with_length(b"abc") + varint(2) + with_length(b"") + _END, (1, True)),
    ],
)
def test_an_ordinary_list_ends_where_its_items_do(data: bytes, shape: tuple[int, bool]) -> None:
    assert skip_flat_list(b"xx" + data + b"rest", 2, len(data) + 6, *shape) == 2 + len(data)


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (_pairs(list(range(64))), (2, False)),  # a count of two bytes
        (varint(-1) + varint(2) + b"\x02\x02" + _END, (2, False)),  # a block that tells its size
        (varint(1) + b"\x02" + b"\xff" * 9 + b"\x01" + _END, (2, False)),  # ten bytes: perhaps beyond 64 bits
        (varint(1) + b"\x02" + b"\xff" * 12 + b"\x01" + _END, (2, False)),
        (varint(1) + b"\x02" + with_length(b"x" * 64) + _END, (1, True)),  # a length of two bytes
        (varint(1) + b"\x02" + varint(-3) + _END, (1, True)),  # a length below zero
        (varint(3) + b"\x02\x02", (2, False)),  # cut short
        (varint(1) + b"\x02" + varint(40) + b"abc", (1, True)),
        (b"", (2, False)),
    ],
)
def test_anything_unusual_is_left_to_the_careful_way(data: bytes, shape: tuple[int, Any]) -> None:
    assert skip_flat_list(data, 0, len(data), *shape) == -1


def test_a_list_that_goes_on_behind_the_end_is_left_to_the_careful_way() -> None:
    data = _pairs([1, 2])
    assert skip_flat_list(data, 0, len(data) - 1, 2, False) == -1
