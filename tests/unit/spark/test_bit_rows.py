"""Rows of bits in the form in which Spark holds arrays of arrays."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skipstone.spark.bit_rows import array_of_arrays

WORDS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=130)


def parsed(data: bytes) -> list[int]:
    """The words of an array, by the layout that Spark's own class documents."""
    (count,) = struct.unpack_from("=q", data)
    values = 8 + (count + 63) // 64 * 8
    assert not any(data[8:values]), "no element is null"
    assert len(data) >= values + 8 * count
    return list(struct.unpack_from(f"={count}q", data, values))


@given(rows=st.lists(WORDS, max_size=70))
def test_every_row_of_words_comes_back(rows: list[list[int]]) -> None:
    data = bytes(array_of_arrays([np.array(words, np.int64) for words in rows]))
    places = [(word >> 32, word & 0xFFFFFFFF) for word in parsed(data)]
    assert [parsed(data[start : start + length]) for start, length in places] == rows
    ends = [start + length for start, length in places]
    assert all(start % 8 == 0 for start, _ in places) and (not rows or ends[-1] == len(data))
