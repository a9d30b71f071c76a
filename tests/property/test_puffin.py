"""Laws of Puffin files: what is written is read, and whatever else is read is a file or one violation."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.errors import FormatViolation
from skipstone.metadata.blobs.frames import decompress
from skipstone.metadata.blobs.puffin import PuffinWriter, footer_size, load_footer, parse_footer, read_blob

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PROPERTIES = st.dictionaries(TEXTS, TEXTS, max_size=3)
BLOBS = st.fixed_dictionaries(
    {
        "type": TEXTS,
        "fields": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
        "snapshot_id": LONGS,
        "sequence_number": LONGS,
        "data": st.binary(max_size=300),
        "compression_codec": st.sampled_from([None, "zstd"]),
        "properties": PROPERTIES,
    }
)


def written(blobs, properties):
    writer = PuffinWriter(properties=properties)
    for blob in blobs:
        writer.add(**blob)
    return writer.finish()


@settings(max_examples=150, deadline=None)
@given(st.lists(BLOBS, max_size=4), PROPERTIES, st.integers(0, 2000))
def test_what_is_written_is_read_whole_and_by_ranges(blobs, properties, tail_bytes):
    file = written(blobs, properties)
    footer = parse_footer(file.data)
    assert footer == file.footer
    assert footer.properties == properties
    assert [read_blob(file.data, b) for b in footer.blobs] == [b["data"] for b in blobs]

    def fetch(offset: int, length: int) -> bytes:
        assert offset >= 0
        assert offset + length <= len(file.data)
        return file.data[offset : offset + length]

    assert load_footer(fetch, file_size=len(file.data), tail_bytes=tail_bytes) == footer
    assert [read_blob(fetch, b) for b in footer.blobs] == [b["data"] for b in blobs]
    assert footer_size(file.data[-12:], file_size=len(file.data)) == footer.footer_size_in_bytes


@st.composite
def mutations(draw, data: bytes) -> bytes:
    """The bytes with a few of them replaced, cut out, or put in."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        removed = draw(st.integers(0, 8))
        data = data[:at] + draw(st.binary(max_size=8)) + data[at + removed :]
    return data


def read_all(data: bytes) -> None:
    for blob in parse_footer(data, source="mutated").blobs:
        read_blob(data, blob, source="mutated", bytes_max=1_000_000)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_changed_file_is_a_file_or_one_violation(data):
    file = written(data.draw(st.lists(BLOBS, max_size=2)), {})
    try:
        read_all(data.draw(mutations(file.data)))
    except FormatViolation as e:
        assert "mutated" in str(e)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_file_or_one_violation(data):
    for candidate in (data, b"PFA1PFA1" + data + len(data).to_bytes(4, "little") + bytes(4) + b"PFA1"):
        try:
            read_all(candidate)
        except FormatViolation:
            continue


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["lz4", "zstd"]), st.binary(max_size=500), st.data())
def test_a_changed_frame_inflates_under_the_cap_or_is_one_violation(codec, content, data):
    frame = pa.Codec(codec).compress(content, asbytes=True)
    assert decompress(codec, frame, bytes_max=len(content), where="frame") == content
    try:
        inflated = decompress(codec, data.draw(mutations(frame)), bytes_max=2000, where="frame")
    except FormatViolation:
        return
    assert len(inflated) <= 2000
