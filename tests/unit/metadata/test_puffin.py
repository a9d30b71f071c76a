"""Puffin files: what Iceberg Java wrote, what we write, and what is wrong with the rest."""

from __future__ import annotations

import base64
import json
import struct

import pyarrow as pa
import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.blobs.frames import decompress
from skipstone.metadata.blobs.puffin import (
    MAGIC,
    PuffinWriter,
    footer_size,
    load_footer,
    parse_footer,
    read_blob,
)

# A statistics file by Iceberg Java 1.12: one theta sketch of two distinct values, zstd.
JAVA_STATS = base64.b64decode(
    "UEZBMSi1L/0kIAEBAAIDAwAAGsyTAgAAAAAAgD8V+X3LvYahBcOX/BKBcJ0eGuWFsVBGQTF7ImJsb2JzIjpbeyJ0eXBlIjoiYXBhY2hlLWRhdGFz"
    "a2V0Y2hlcy10aGV0YS12MSIsImZpZWxkcyI6WzFdLCJzbmFwc2hvdC1pZCI6ODIwMjAyOTI0NjEyMTQ2ODI2NCwic2VxdWVuY2UtbnVtYmVyIjox"
    "LCJvZmZzZXQiOjQsImxlbmd0aCI6NDUsImNvbXByZXNzaW9uLWNvZGVjIjoienN0ZCIsInByb3BlcnRpZXMiOnsibmR2IjoiMiJ9fV0sInByb3Bl"
    "cnRpZXMiOnsiY3JlYXRlZC1ieSI6IkljZWJlcmcgQXBhY2hlIEljZWJlcmcgMS4xMi4wIChjb21taXQgMjEyYWE4OTRlOTE5ZmY5ZmRmODkxNjBk"
    "YTRhYWRjYmU2ODU4YWMwMSkgU3BhcmsgNC4xLjQifX07AQAAAAAAAFBGQTE="
)

# An LZ4 frame with its content size, as the format asks for.
LZ4_PAYLOAD = bytes.fromhex(
    "04224d1868404300000000000000d040000000f4277b22626c6f6273223a5b5d2c2270726f70657274696573223a7b22637265617465642d6279"
    "223a22736f6d656f6e65222c22616c736f1100506e65227d7d00000000"
)

BLOB = {"type": "t", "fields": [1], "snapshot-id": 1, "sequence-number": 2, "offset": 4, "length": 0}


def puffin(payload: object = None, *, blobs: bytes = b"", flags: bytes = bytes(4), raw: bytes | None = None) -> bytes:
    body = raw if raw is not None else json.dumps(payload).encode()
    return MAGIC + blobs + MAGIC + body + struct.pack("<i", len(body)) + flags + MAGIC


def small_file() -> bytes:
    writer = PuffinWriter(properties={"created-by": "test"})
    writer.add(type="a", fields=[1, 2], snapshot_id=3, sequence_number=4, data=b"plain", properties={"k": "v"})
    writer.add(type="b", fields=[], snapshot_id=-1, sequence_number=-1, data=b"z" * 9000, compression_codec="zstd")
    return writer.finish().data


def test_a_file_by_java_is_read():
    footer = parse_footer(JAVA_STATS, source="java.stats")
    (blob,) = footer.blobs
    assert (blob.type, blob.fields, blob.sequence_number) == ("apache-datasketches-theta-v1", (1,), 1)
    assert (blob.offset, blob.length, blob.compression_codec, blob.properties) == (4, 45, "zstd", {"ndv": "2"})
    assert footer.properties["created-by"].startswith("Iceberg Apache Iceberg 1.12.0")
    assert footer.footer_size_in_bytes == 331
    sketch = read_blob(JAVA_STATS, blob)
    assert len(sketch) == 32
    assert sketch[:3] == b"\x02\x03\x03"


def test_the_writer_says_what_the_reader_finds():
    writer = PuffinWriter(properties={"created-by": "test"})
    one = writer.add(type="a", fields=[1, 2], snapshot_id=3, sequence_number=4, data=b"plain", properties={"k": "v"})
    two = writer.add(
        type="b", fields=[], snapshot_id=-1, sequence_number=-1, data=b"z" * 9000, compression_codec="zstd"
    )
    file = writer.finish()
    footer = parse_footer(file.data)
    assert footer == file.footer
    assert footer.blobs == (one, two)
    assert footer.properties == {"created-by": "test"}
    assert [read_blob(file.data, b) for b in footer.blobs] == [b"plain", b"z" * 9000]
    assert two.length < 100
    assert file.file_size_in_bytes == len(file.data)
    assert file.file_footer_size_in_bytes == len(file.data) - two.offset - two.length


def test_absent_codec_and_properties_are_not_written():
    writer = PuffinWriter(properties={})
    writer.add(type="a", fields=[1], snapshot_id=1, sequence_number=1, data=b"")
    data = writer.finish().data
    payload = json.loads(data[8:-12])
    assert payload == {"blobs": [{**BLOB, "type": "a", "sequence-number": 1}]}


def test_a_file_without_blobs_says_who_created_it():
    footer = parse_footer(PuffinWriter().finish().data)
    assert footer.blobs == ()
    assert footer.properties == {"created-by": "Skipstone"}


def test_a_reserved_codec_is_not_written():
    with pytest.raises(InvalidInput, match="lz4"):
        PuffinWriter().add(type="a", fields=[], snapshot_id=1, sequence_number=1, data=b"", compression_codec="lz4")


class Fetches:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.ranges: list[tuple[int, int]] = []

    def __call__(self, offset: int, length: int) -> bytes:
        self.ranges.append((offset, length))
        return self.data[offset : offset + length]


def test_one_blob_costs_two_range_reads():
    data = small_file()
    fetch = Fetches(data)
    footer = load_footer(fetch, file_size=len(data), tail_bytes=1000)
    assert read_blob(fetch, footer.blobs[0]) == b"plain"
    assert fetch.ranges == [(max(0, len(data) - 1000), min(1000, len(data))), (4, 5)]


def test_a_long_footer_costs_one_more_read():
    data = small_file()
    fetch = Fetches(data)
    footer = load_footer(fetch, file_size=len(data), tail_bytes=1)
    assert footer == parse_footer(data)
    assert len(fetch.ranges) == 2
    assert footer_size(data[-12:], file_size=len(data)) == footer.footer_size_in_bytes


@pytest.mark.parametrize("frame", ["with content size", "without"])
def test_a_compressed_footer_is_read(frame):
    raw = LZ4_PAYLOAD
    if frame == "without":
        raw = pa.Codec("lz4").compress(decompress("lz4", LZ4_PAYLOAD, bytes_max=1000, where="test"), asbytes=True)
    footer = parse_footer(puffin(raw=raw, flags=b"\x01\0\0\0"))
    assert footer.properties == {"created-by": "someone", "also": "someone"}


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_blobs_are_read(codec):
    stored = pa.Codec(codec).compress(b"abc" * 1000, asbytes=True)
    data = puffin({"blobs": [{**BLOB, "length": len(stored), "compression-codec": codec}]}, blobs=stored)
    assert read_blob(data, parse_footer(data).blobs[0]) == b"abc" * 1000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "at least 20 bytes"),
        (MAGIC * 4, "at least 20 bytes"),
        (b"PAR1" + small_file()[4:], "magic at the start"),
        (small_file()[:-1], "magic at the end"),
        (small_file()[:-4] + b"PAR1", "magic at the end"),
        (puffin(raw=b"").replace(MAGIC + MAGIC, MAGIC + b"XXXX", 1), "magic at the start of the footer"),
        (MAGIC * 2 + struct.pack("<i", 1) + bytes(4) + MAGIC, "footer payload size"),
        (MAGIC * 2 + struct.pack("<i", -1) + bytes(4) + MAGIC, "footer payload size"),
        (puffin({"blobs": []}, flags=b"\x02\0\0\0"), "footer flags"),
        (puffin({"blobs": []}, flags=b"\0\0\0\x80"), "footer flags"),
        (puffin({"blobs": []}, flags=b"\x01\0\0\0"), "one lz4 frame"),
        (puffin(raw=LZ4_PAYLOAD[:-9], flags=b"\x01\0\0\0"), "one lz4 frame"),
        (puffin(raw=LZ4_PAYLOAD + LZ4_PAYLOAD, flags=b"\x01\0\0\0"), "at most 67 bytes inflated, got more"),
        (puffin(raw=b"{"), "footer payload"),
        (puffin(raw=b"\xff\xfe"), "footer payload"),
        (puffin(raw=b"[" * 100_000), "footer payload"),
        (puffin({}), "blobs"),
        (puffin([]), "footer payload"),
        (puffin({"blobs": {}}), "blobs"),
        (puffin({"blobs": [{**BLOB, "fields": ["a"]}]}), r"blobs\[0\]\.fields"),
        (puffin({"blobs": [{**BLOB, "fields": [2**31]}]}), r"blobs\[0\]\.fields"),
        (puffin({"blobs": [{**BLOB, "snapshot-id": 2**63}]}), "snapshot-id"),
        (puffin({"blobs": [{**BLOB, "snapshot-id": "1"}]}), "snapshot-id"),
        (puffin({"blobs": [{k: v for k, v in BLOB.items() if k != "offset"}]}), "offset"),
        (puffin({"blobs": [{**BLOB, "offset": -1}]}), "offset"),
        (puffin({"blobs": [{**BLOB, "offset": 3}]}), "expected bytes between 4 and 4"),
        (puffin({"blobs": [{**BLOB, "length": 1}]}), "expected bytes between 4 and 4"),
        (puffin({"blobs": [{**BLOB, "offset": 2**62, "length": 2**62}]}), "expected bytes between 4 and 4"),
        (puffin({"blobs": [{**BLOB, "compression-codec": "gzip"}]}), "expected lz4 or zstd, got 'gzip'"),
        (puffin({"blobs": [{**BLOB, "properties": {"a": 1}}]}), "properties"),
        (puffin({"blobs": [], "properties": {"a": None}}), "properties"),
    ],
)
def test_a_damaged_file_is_one_clear_violation(data, reason):
    with pytest.raises(FormatViolation, match=reason) as caught:
        parse_footer(data, source="x.puffin")
    assert "x.puffin" in str(caught.value)


def test_a_tail_that_is_too_short_is_refused():
    data = small_file()
    with pytest.raises(FormatViolation, match="got a tail of 20"):
        parse_footer(data[-20:], file_size=len(data))
    with pytest.raises(FormatViolation, match="tail of at least 12"):
        footer_size(data[-11:], file_size=len(data))


def test_a_short_range_read_is_noticed():
    blob = parse_footer(JAVA_STATS).blobs[0]
    with pytest.raises(FormatViolation, match="expected 45 bytes, got 3"):
        read_blob(lambda offset, length: b"abc", blob)


def test_a_bomb_is_stopped_at_the_cap():
    stored = pa.Codec("zstd").compress(bytes(50_000_000), asbytes=True)
    data = puffin({"blobs": [{**BLOB, "length": len(stored), "compression-codec": "zstd"}]}, blobs=stored)
    blob = parse_footer(data).blobs[0]
    with pytest.raises(FormatViolation, match="at most 1000000 bytes inflated, got 50000000 announced"):
        read_blob(data, blob, bytes_max=1_000_000)
    with pytest.raises(FormatViolation, match="at most 100 bytes"):
        read_blob(data, blob, bytes_max=100)


def test_a_bomb_that_hides_its_size_is_stopped_at_the_cap():
    frame = pa.Codec("lz4").compress(bytes(50_000_000), asbytes=True)
    with pytest.raises(FormatViolation, match="at most 1000000 bytes inflated, got more"):
        decompress("lz4", frame, bytes_max=1_000_000, where="blob")


@pytest.mark.parametrize("cut", [0, 3, 5, 8, -1, -5])
@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_cut_frame_is_a_violation(codec, cut):
    frame = pa.Codec(codec).compress(b"abcdefgh" * 100, asbytes=True)
    with pytest.raises(FormatViolation, match="blob"):
        decompress(codec, frame[:cut], bytes_max=10_000, where="blob")


def test_a_frame_that_lies_about_its_size_is_a_violation():
    frame = bytearray(pa.Codec("zstd").compress(b"a" * 1000, asbytes=True))
    frame[5] -= 1  # the content size, low byte
    with pytest.raises(FormatViolation, match="blob"):
        decompress("zstd", bytes(frame), bytes_max=10_000, where="blob")
