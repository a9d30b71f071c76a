"""Words in the form in which Spark holds arrays."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skipstone.spark.word_arrays import array_of

WORDS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=130)


@given(words=WORDS)
def test_every_word_comes_back(words: list[int]) -> None:
    data = bytes(array_of(np.array(words, np.int64)))
    (count,) = struct.unpack_from("=q", data)
    values = 8 + (count + 63) // 64 * 8
    assert not any(data[8:values]), "no element is null"
    assert len(data) == values + 8 * count, "nothing comes after the last word"
    assert list(struct.unpack_from(f"={count}q", data, values)) == words
