"""Deletion vectors: the bytes of Iceberg Java, our own, and every way they can be wrong."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from pyroaring import BitMap, BitMap64

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.blobs.deletion_vector import (
    MAGIC,
    bitmap_of,
    decode,
    encode,
    load,
    positions_of,
    stored_vector,
    write_deletion_vectors,
)
from skipstone.metadata.blobs.puffin import BlobMetadata, parse_footer, read_blob

# By Iceberg Java 1.12: positions 1000 to 69999 of one file, so two run containers.
JAVA_FILE = base64.b64decode(
    "UEZBMQAAACnR0zlkAQAAAAAAAAAAAAAAOzABAAMAABf8AQBvEQEA6AMX/AEAAABvEW2+SGdQRkExeyJibG9icyI6W3sidHlwZSI6ImRlbGV0aW9u"
    "LXZlY3Rvci12MSIsImZpZWxkcyI6WzIxNDc0ODM2NDVdLCJzbmFwc2hvdC1pZCI6LTEsInNlcXVlbmNlLW51bWJlciI6LTEsIm9mZnNldCI6NCwi"
    "bGVuZ3RoIjo0OSwicHJvcGVydGllcyI6eyJyZWZlcmVuY2VkLWRhdGEtZmlsZSI6ImZpbGU6L2dvbGRlbi9vcGVuL3YzX2R2X2xhcmdlL2RhdGEv"
    "MDAwMDAtNDkzLTE2MjdlYjQ2LTBiNmYtNDBhZS05YzQyLWMxZmJjM2MwMjM2NS0wLTAwMDAxLnBhcnF1ZXQiLCJjYXJkaW5hbGl0eSI6IjY5MDAw"
    "In19XSwicHJvcGVydGllcyI6eyJjcmVhdGVkLWJ5IjoiQXBhY2hlIEljZWJlcmcgMS4xMi4wIChjb21taXQgMjEyYWE4OTRlOTE5ZmY5ZmRmODkx"
    "NjBkYTRhYWRjYmU2ODU4YWMwMSkifX2CAQAAAAAAAFBGQTE="
)
JAVA_DATA_FILE = "file:/golden/open/v3_dv_large/data/00000-493-1627eb46-0b6f-40ae-9c42-c1fbc3c02365-0-00001.parquet"


def blob_of(bitmap: bytes, *, magic: bytes = MAGIC, length: int | None = None, checksum: int | None = None) -> bytes:
    body = magic + bitmap
    length = len(body) if length is None else length
    checksum = zlib.crc32(body) if checksum is None else checksum
    return struct.pack(">i", length) + body + struct.pack(">I", checksum)


def bitmaps(*parts: tuple[int, bytes]) -> bytes:
    return struct.pack("<Q", len(parts)) + b"".join(struct.pack("<I", key) + data for key, data in parts)


def test_java_and_we_write_the_same_file():
    footer = parse_footer(JAVA_FILE)
    vector = stored_vector(footer.blobs[0])
    assert (vector.referenced_data_file, vector.cardinality) == (JAVA_DATA_FILE, 69000)
    bitmap = load(
        lambda offset, length: JAVA_FILE[offset : offset + length],
        content_offset=vector.content_offset,
        content_size_in_bytes=vector.content_size_in_bytes,
        cardinality=69000,
        source="java.puffin",
    )
    assert bitmap == BitMap64(range(1000, 70000))
    ours = write_deletion_vectors({JAVA_DATA_FILE: positions_of(bitmap)}, properties=footer.properties)
    assert ours.data == JAVA_FILE
    assert ours.vectors == (vector,)


def test_several_files_in_one_puffin_file():
    wanted = {"a.parquet": [3, 1], "b.parquet": np.array([5], dtype=np.int64), "c.parquet": BitMap64([2**40, 7])}
    written = write_deletion_vectors(wanted)
    footer = parse_footer(written.data)
    assert [stored_vector(b) for b in footer.blobs] == list(written.vectors)
    assert {b.fields for b in footer.blobs} == {(2147483645,)}
    assert {(b.snapshot_id, b.sequence_number, b.compression_codec) for b in footer.blobs} == {(-1, -1, None)}
    read = {
        v.referenced_data_file: list(decode(read_blob(written.data, b), cardinality=v.cardinality))
        for v, b in zip(written.vectors, footer.blobs, strict=True)
    }
    assert read == {"a.parquet": [1, 3], "b.parquet": [5], "c.parquet": [7, 2**40]}


@pytest.mark.parametrize(
    "positions",
    [
        [],
        [0],
        [2**32 - 1, 2**32, 2**32 + 1],
        [2**63 - 1],
        list(range(0, 20_000, 2)),  # a bitset
        list(range(100_000)),  # runs
        [65535, 65536, 2**31, 2**33, 2**62],
    ],
    ids=["none", "zero", "across keys", "largest", "bitset", "runs", "mixed"],
)
def test_positions_survive(positions):
    blob = encode(positions)
    assert list(decode(blob, cardinality=len(positions))) == positions
    assert positions_of(decode(blob)).tolist() == positions


def test_encoding_leaves_the_callers_bitmap_alone():
    bitmap = BitMap64(range(1000))
    before = bitmap.serialize()
    encode(bitmap)
    assert bitmap.serialize() == before


def test_empty_bitmaps_between_keys_are_read():
    """The reference implementation writes one for every key below the highest."""
    data = bitmaps((0, BitMap().serialize()), (1, BitMap([7]).serialize()))
    assert list(decode(blob_of(data), cardinality=1)) == [2**32 + 7]


GOOD = encode([1, 2, 2**33])
ONE = BitMap([7]).serialize()
ARRAY = struct.pack("<IIHHI", 12346, 1, 0, 1, 16)  # one container of two values
BITSET = struct.pack("<IIHHI", 12346, 1, 0, 5000, 16)  # one container of 5001 values
RUN = struct.pack("<IBHH", 12347, 1, 0, 9)  # one run container of ten values


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"", "at least 20 bytes"),
        (GOOD[:19], "at least 20 bytes"),
        (GOOD[:-1], "length"),
        (GOOD + b"\0", "length"),
        (blob_of(bitmaps(), length=-1), "length: expected 12, got -1"),
        (blob_of(bitmaps(), length=99), "length: expected 12, got 99"),
        (blob_of(bitmaps(), magic=b"\xd1\xd3\x39\x65"), "magic: expected d1d33964, got d1d33965"),
        (blob_of(bitmaps(), checksum=1), "checksum"),
        (GOOD[:-5] + bytes([GOOD[-5] ^ 1]) + GOOD[-4:], "checksum"),
        (blob_of(struct.pack("<Q", 1)), "4 bytes of key, got 0"),
        (blob_of(struct.pack("<Q", 2**60)), "at most 2147483648 bitmaps"),
        (blob_of(struct.pack("<Q", 2**31)), "4 bytes of key"),
        (blob_of(bitmaps((2, ONE), (1, ONE))), "a key above 2"),
        (blob_of(bitmaps((2, ONE), (2, ONE))), "a key above 2"),
        (blob_of(bitmaps((2**31, ONE))), "up to 2147483647, got 2147483648"),
        (blob_of(bitmaps((0, ONE)) + b"\0\0"), "the end, got 2 more bytes"),
        (blob_of(bitmaps((0, ONE[:-1]))), "2 bytes of array container"),
        (blob_of(bitmaps((0, b"\0\0\0\0"))), "cookie"),
        (blob_of(bitmaps((0, struct.pack("<II", 12346, 65537)))), "at most 65536 containers"),
        (blob_of(bitmaps((0, struct.pack("<II", 12346, 65536)))), "container headers"),
        (blob_of(bitmaps((0, struct.pack("<IIHHHH", 12346, 2, 1, 0, 1, 0)))), "ascending container keys"),
        (blob_of(bitmaps((0, ARRAY + struct.pack("<HH", 5, 5)))), "ascending array values"),
        (blob_of(bitmaps((0, ARRAY + struct.pack("<HH", 6, 5)))), "ascending array values"),
        (blob_of(bitmaps((0, BITSET + bytes(8192)))), "a container of 5001 values, got 0"),
        (blob_of(bitmaps((0, BITSET + bytes(8191)))), "8192 bytes of bitset container"),
        (blob_of(bitmaps((0, RUN + struct.pack("<H", 0)))), "a container of 10 values, got 0"),
        (blob_of(bitmaps((0, RUN + struct.pack("<HHH", 1, 0, 8)))), "a container of 10 values, got 9"),
        (blob_of(bitmaps((0, RUN + struct.pack("<HHH", 1, 65530, 9)))), "ascending runs"),
        (blob_of(bitmaps((0, RUN + struct.pack("<HHHHH", 2, 0, 4, 4, 4)))), "ascending runs"),
        (blob_of(bitmaps((0, RUN + struct.pack("<H", 9)))), "36 bytes of runs"),
    ],
)
def test_a_damaged_vector_is_one_clear_violation(blob, reason):
    with pytest.raises(FormatViolation, match=reason) as caught:
        decode(blob, source="x.puffin")
    assert "x.puffin" in str(caught.value)


def test_the_cardinality_of_the_metadata_is_checked():
    with pytest.raises(FormatViolation, match="cardinality: expected 4 positions, got 3"):
        decode(GOOD, cardinality=4)


def test_a_short_read_is_noticed():
    with pytest.raises(FormatViolation, match="expected 50 bytes, got 2"):
        load(lambda o, n: b"ab", content_offset=4, content_size_in_bytes=50, cardinality=1, source="x")


def test_a_vector_of_few_bytes_does_not_fill_the_memory():
    everything = BitMap64()
    everything.add_range(0, 2**29)
    blob = encode(everything)
    assert len(blob) < 1_000_000
    bitmap = decode(blob, cardinality=2**29)
    with pytest.raises(InvalidInput, match="Use the bitmap itself"):
        positions_of(bitmap)


@pytest.mark.parametrize(
    "positions",
    [[-1], [2**63], [1.5], ["a"], np.array([-1]), np.array([1.0]), BitMap64([2**63]), np.array([2**63], "u8")],
)
def test_positions_outside_the_format_are_refused(positions):
    with pytest.raises(InvalidInput, match="Invalid row position"):
        bitmap_of(positions)


BLOB = BlobMetadata(
    type="deletion-vector-v1",
    fields=(2147483645,),
    snapshot_id=-1,
    sequence_number=-1,
    offset=4,
    length=49,
    properties={"referenced-data-file": "a", "cardinality": "5"},
)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"type": "other"}, "blob type"),
        ({"compression_codec": "zstd"}, "no compression"),
        ({"properties": {"cardinality": "5"}}, "referenced-data-file"),
        ({"properties": {"referenced-data-file": "a"}}, "cardinality"),
        ({"properties": {"referenced-data-file": "a", "cardinality": "-5"}}, "cardinality"),
        ({"properties": {"referenced-data-file": "a", "cardinality": "٥"}}, "cardinality"),
        ({"properties": {"referenced-data-file": "a", "cardinality": "9" * 5000}}, "cardinality"),
    ],
)
def test_blob_metadata_that_is_no_deletion_vector_is_refused(change, reason):
    assert stored_vector(BLOB).cardinality == 5
    with pytest.raises(FormatViolation, match=reason):
        stored_vector(replace(BLOB, **change))
