from __future__ import annotations

import bz2
import json
import lzma
import zlib

import pyarrow as pa
import pytest
from tests.support.avro_files import SYNC, avro_file, container, sized, zigzag

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.avro import Caps, decode, parse_container

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}
BODY = zigzag(1) + zigzag(-2) + zigzag(300)


def test_a_container_shows_schema_metadata_codec_and_blocks() -> None:
    parsed = parse_container(container(SCHEMA, [(3, BODY)], metadata={"k": b"v"}), source="a.avro")
    assert parsed.schema == SCHEMA
    assert parsed.metadata["k"] == b"v"
    assert (parsed.codec, parsed.sync, parsed.record_count) == ("null", SYNC, 3)
    assert [b.record_count for b in parsed.blocks] == [3]


def test_a_memoryview_is_read_like_bytes() -> None:
    data = memoryview(bytearray(container(SCHEMA, [(3, BODY)])))
    assert decode(parse_container(data, source="a.avro")).to_pydict() == {"a": [1, -2, 300]}


def test_a_missing_codec_means_null() -> None:
    data = container(SCHEMA, [(3, BODY)]).replace(b"avro.codec", b"some.codec")
    assert parse_container(data, source="a.avro").codec == "null"


def snappy(body: bytes) -> bytes:
    packed: bytes = pa.Codec("snappy").compress(body, asbytes=True)
    return packed + zlib.crc32(body).to_bytes(4, "big")


PACK = {
    "zstandard": lambda body: pa.Codec("zstd").compress(body, asbytes=True),
    "snappy": snappy,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("codec", sorted(PACK))
def test_each_codec_is_read(codec: str) -> None:
    data = container(SCHEMA, [(3, PACK[codec](BODY)), (0, PACK[codec](b""))], codec=codec)
    assert decode(parse_container(data, source="a.avro")).to_pydict() == {"a": [1, -2, 300]}


def test_deflate_is_read() -> None:
    data = container(SCHEMA, [(3, BODY), (3, BODY)], codec="deflate")
    assert decode(parse_container(data, source="a.avro")).num_rows == 6


@pytest.mark.parametrize("codec", [*sorted(PACK), "deflate"])
def test_broken_compressed_bytes_are_refused(codec: str) -> None:
    data = container(SCHEMA, [], codec=codec) + zigzag(3) + sized(b"\x07garbage\xff\xff") + SYNC
    with pytest.raises(FormatViolation, match=r"Invalid Avro file a\.avro: block 0: expected"):
        decode(parse_container(data, source="a.avro"))


def test_a_wrong_snappy_checksum_is_refused() -> None:
    packed = snappy(BODY)[:-1] + b"\x00"
    with pytest.raises(FormatViolation, match="expected CRC-32"):
        decode(parse_container(container(SCHEMA, [(3, packed)], codec="snappy"), source="a.avro"))


@pytest.mark.parametrize("codec", [*sorted(PACK), "deflate", "null"])
def test_a_decompression_bomb_stops_at_the_cap(codec: str) -> None:
    body = bytes(3_000_000)
    packed = PACK[codec](body) if codec in PACK else body
    data = container(SCHEMA, [(len(body), packed)], codec=codec)
    with pytest.raises(FormatViolation, match=r"block 0: expected at most 1000000 more inflated bytes"):
        decode(parse_container(data, source="a.avro", caps=Caps(inflated_bytes_max=1_000_000)))


def test_the_cap_counts_all_blocks_together() -> None:
    data = container(SCHEMA, [(600, bytes(600)), (600, bytes(600))], codec="deflate")
    with pytest.raises(FormatViolation, match="block 1: expected at most 400 more inflated bytes"):
        decode(parse_container(data, source="a.avro", caps=Caps(inflated_bytes_max=1000)))


def test_a_cap_beyond_arrow_offsets_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected 1 to 2147483647"):
        Caps(inflated_bytes_max=2**31)


def test_a_file_cut_at_any_byte_is_refused_unless_it_ends_between_blocks() -> None:
    data = avro_file(SCHEMA, [{"a": i * 1000} for i in range(4)], block_records=2)
    block = len(zigzag(2)) + len(sized(zigzag(0) + zigzag(1000))) + len(SYNC)
    whole_until = len(avro_file(SCHEMA, []))
    second = whole_until + block
    for end in range(len(data)):
        if end in (whole_until, second):
            assert decode(parse_container(data[:end], source="a.avro")).num_rows in (0, 2)
            continue
        with pytest.raises(FormatViolation, match=r"^Invalid Avro file a\.avro: .*expected .*got .*\.$"):
            decode(parse_container(data[:end], source="a.avro"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: b"PAR1" + d[4:], r"expected the Avro magic b'Obj\\x01', got b'PAR1'"),
        (lambda d: b"", r"expected the Avro magic b'Obj\\x01', got b''"),
        (lambda d: d[:-1] + b"\xff", "block 0 at byte .*: expected the sync marker"),
        (lambda d: d.replace(b"avro.schema", b"avro.skema!"[:11]), "expected the metadata key avro.schema"),
        (lambda d: d.replace(b'{"type"', b'["type"'), "metadata avro.schema: expected JSON"),
        (lambda d: d.replace(b"\x08null", b"\x08lzma"), "expected a codec of null, deflate"),
        (
            lambda d: d + zigzag(-1) + zigzag(0) + SYNC,
            "block 1 at byte .*: expected a record count of 0 or more",
        ),
        (lambda d: d + zigzag(1) + zigzag(-5) + SYNC, "block 1 at byte .*: expected a length from 0 to"),
        (lambda d: d + zigzag(1) + zigzag(2**40) + SYNC, "block 1 at byte .*: expected a length from 0 to"),
        (lambda d: d + b"\xff" * 11, "expected a varint of at most 10 bytes"),
        (lambda d: d + b"\xff" * 9 + b"\x7f", "expected a varint of at most 64 bits"),
    ],
)
def test_a_broken_frame_is_refused(change: object, message: str) -> None:
    data = container(SCHEMA, [(3, BODY)])
    with pytest.raises(FormatViolation, match=message):
        parse_container(change(data), source="a.avro")  # type: ignore[operator]


def test_metadata_beyond_its_cap_is_refused() -> None:
    data = container(SCHEMA, [], metadata={"big": bytes(10_000)})
    with pytest.raises(FormatViolation, match=r"file metadata: .* \(capped at 5000 bytes\)"):
        parse_container(data, source="a.avro", caps=Caps(metadata_bytes_max=5000))


def test_a_metadata_key_twice_is_refused() -> None:
    pair = sized(b"k") + sized(b"v")
    data = b"Obj\x01" + zigzag(2) + pair + pair + zigzag(0) + SYNC
    with pytest.raises(FormatViolation, match="expected unique keys, got 'k' twice"):
        parse_container(data, source="a.avro")


def test_metadata_may_come_in_sized_blocks() -> None:
    pairs = [sized(b"avro.schema") + sized(json.dumps(SCHEMA).encode()), sized(b"x") + sized(b"y")]
    head = b"".join(zigzag(-1) + sized(pair) for pair in pairs)
    parsed = parse_container(b"Obj\x01" + head + zigzag(0) + SYNC, source="a.avro")
    assert parsed.metadata["x"] == b"y"
