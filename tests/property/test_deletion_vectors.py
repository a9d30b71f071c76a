"""Laws of deletion vectors against a set of integers, and of damaged ones."""

from __future__ import annotations

import zlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from skipstone.errors import FormatViolation
from skipstone.metadata.blobs.deletion_vector import (
    MAGIC,
    bitmap_of,
    decode,
    encode,
    positions_of,
    stored_vector,
    write_deletion_vectors,
)
from skipstone.metadata.blobs.puffin import parse_footer, read_blob
from skipstone.metadata.blobs.roaring import check_roaring64

# Starts near the borders of containers, of 32-bit keys, and of the format; runs, strides and single positions there.
STARTS = st.sampled_from([0, 1, 65_530, 65_536, 2**31, 2**32 - 10, 2**32, 2**33 + 5, 2**40, 2**62, 2**63 - 20_000])
STRETCHES = st.builds(
    lambda start, count, stride: range(start, start + count * stride, stride),
    STARTS,
    st.sampled_from([1, 2, 10, 4096, 4097, 6000]),
    st.sampled_from([1, 2, 3]),
)


@st.composite
def position_sets(draw) -> set[int]:
    chosen = {p for stretch in draw(st.lists(STRETCHES, max_size=4)) for p in stretch}
    return chosen | draw(st.sets(st.integers(0, 2**63 - 1), max_size=20))


@settings(max_examples=120, deadline=None)
@given(position_sets())
def test_a_vector_is_the_set_it_was_made_of(positions):
    blob = encode(positions)
    bitmap = decode(blob, cardinality=len(positions))
    assert positions_of(bitmap).tolist() == sorted(positions)
    assert encode(BitMap64(positions)) == blob
    assert encode(np.array(sorted(positions, reverse=True), dtype=np.uint64)) == blob
    assert len(blob) == int.from_bytes(blob[:4], "big") + 8


@settings(max_examples=60, deadline=None)
@given(position_sets(), position_sets())
def test_merging_vectors_is_the_union_of_sets(one, two):
    merged = decode(encode(one)) | decode(encode(two))
    assert set(decode(encode(merged))) == one | two


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=10), position_sets(), max_size=4))
def test_every_vector_of_a_file_is_found_where_it_says(positions_by_file):
    written = write_deletion_vectors(positions_by_file)
    footer = parse_footer(written.data)
    assert tuple(stored_vector(b) for b in footer.blobs) == written.vectors
    for blob, vector in zip(footer.blobs, written.vectors, strict=True):
        start, size = vector.content_offset, vector.content_size_in_bytes
        assert written.data[start : start + size] == read_blob(written.data, blob)
        expected = positions_by_file[vector.referenced_data_file]
        assert set(decode(written.data[start : start + size], cardinality=len(expected))) == expected


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_bitmap_changed_under_a_right_checksum_is_well_formed_or_one_violation(data):
    """The checksum only finds accidents. What gets past it must still be safe to use."""
    blob = encode(data.draw(position_sets().filter(bool)))
    bitmap = bytearray(blob[8:-4])
    for _ in range(data.draw(st.integers(1, 4))):
        # The headers are where a change does most.
        bitmap[data.draw(st.integers(0, min(40, len(bitmap)) - 1))] = data.draw(st.integers(0, 255))
    body = MAGIC + bytes(bitmap[: data.draw(st.sampled_from([len(bitmap), len(bitmap) - 1]))])
    changed = len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    try:
        decoded = decode(changed, source="mutated")
    except FormatViolation as e:
        assert "mutated" in str(e)
        return
    assert len(decoded) == check_roaring64(body[4:], where="mutated")
    if len(decoded) < 1_000_000:
        found = positions_of(decoded)
        assert bool(np.all(found[1:] > found[:-1]))
        assert bitmap_of(found) == decoded


@settings(max_examples=150, deadline=None)
@given(position_sets(), st.integers(0, 10**6), st.integers(1, 255))
def test_one_changed_byte_is_always_noticed(positions, at, mask):
    blob = bytearray(encode(positions))
    blob[at % len(blob)] ^= mask
    try:
        decode(bytes(blob))
    except FormatViolation:
        return
    raise AssertionError("the change went unnoticed")


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=100))
def test_any_bytes_are_a_vector_or_one_violation(data):
    body = MAGIC + data
    for blob in (data, len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")):
        try:
            decode(blob)
        except FormatViolation:
            continue
