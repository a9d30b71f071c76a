"""Encrypted files: streams, key metadata, and the keys in table metadata."""

from __future__ import annotations

import builtins
import struct
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from skipstone.errors import FormatViolation, InvalidInput, NotFound, Unsupported
from skipstone.metadata.blobs.encryption import (
    EncryptedKey,
    KeyMetadata,
    decrypt_file,
    decrypt_stream,
    encrypt_file,
    encrypt_stream,
    manifest_list_key_metadata,
    new_key_encryption_key,
    new_key_metadata,
    parse_key_metadata,
    serialize_key_metadata,
    wrap_manifest_list_key_metadata,
)

KEY = bytes(range(16))
AAD = b"file id"
# Written by Iceberg Java 1.12 for a manifest of 7862 bytes.
JAVA_KEY_METADATA = bytes.fromhex("012005001795fc9d2da5730afc1c40b32de402207d0657dbc3950955101a2b3b3763429902ec7a")


class ToyKms:
    """Wraps with AES GCM under one master key."""

    def __init__(self) -> None:
        self.cipher = AESGCM(b"0123456789012345")
        self.asked: list[str] = []

    def wrap(self, key_id: str, key: bytes) -> bytes:
        return bytes(12) + self.cipher.encrypt(bytes(12), key, None)

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        self.asked.append(key_id)
        return self.cipher.decrypt(wrapped[:12], wrapped[12:], None)


@pytest.mark.parametrize("key_bytes", [16, 24, 32])
@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 20, 95])
def test_a_stream_comes_back(size, key_bytes):
    data, key = bytes(range(size)), bytes(key_bytes)
    stream = encrypt_stream(data, key, AAD, block_bytes=10)
    assert decrypt_stream(stream, key, AAD) == data
    blocks = max(1, -(-size // 10))
    assert len(stream) == 8 + size + blocks * 28
    assert stream[:8] == b"AGS1" + struct.pack("<i", 10)


def test_a_block_is_bound_to_the_prefix_and_its_little_endian_number():
    stream = encrypt_stream(b"abcdef", KEY, AAD, block_bytes=3)
    second = stream[8 + 31 :]
    assert AESGCM(KEY).decrypt(second[:12], second[12:], AAD + b"\x01\0\0\0") == b"def"


def test_nonces_are_fresh():
    assert encrypt_stream(b"a", KEY)[8:20] != encrypt_stream(b"a", KEY)[8:20]


STREAM = encrypt_stream(b"abcdefgh", KEY, AAD, block_bytes=3)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "magic"),
        (b"Obj\x01" + STREAM[4:], "magic: expected b'AGS1', got b'Obj"),
        (STREAM[:8], "at least one block"),
        (STREAM[:35], "at least one block"),
        (STREAM[:4] + struct.pack("<i", 0) + STREAM[8:], "block length"),
        (STREAM[:4] + struct.pack("<i", -3) + STREAM[8:], "block length"),
        (STREAM[:4] + struct.pack("<i", 2**31 - 1) + STREAM[8:], "block length"),
        (STREAM[:4] + struct.pack("<i", 4) + STREAM[8:], "block 0: expected an authentic block"),
        (STREAM[:-1], "block 2: expected an authentic block"),
        (STREAM[:-20], "block 2: expected at least 29 bytes"),
        (STREAM + b"\0", "block 2: expected an authentic block"),
        (STREAM[:8] + STREAM[39:70] + STREAM[8:39] + STREAM[70:], "block 0: expected an authentic block"),
        (STREAM[:25] + bytes([STREAM[25] ^ 1]) + STREAM[26:], "block 0: expected an authentic block"),
    ],
    ids=lambda v: v if isinstance(v, str) else f"{len(v)} bytes",  # the bytes are random, names must not be
)
def test_a_changed_stream_is_one_clear_violation(data, reason):
    with pytest.raises(FormatViolation, match=reason) as caught:
        decrypt_stream(data, KEY, AAD, source="x.avro")
    assert "x.avro" in str(caught.value)


def test_a_stream_cut_between_blocks_is_noticed_by_its_length():
    cut = STREAM[: 8 + 2 * 31]
    assert decrypt_stream(cut, KEY, AAD) == b"abcdef"
    with pytest.raises(FormatViolation, match=f"expected {len(STREAM)} bytes as its key metadata says, got {len(cut)}"):
        decrypt_stream(cut, KEY, AAD, file_length=len(STREAM))


@pytest.mark.parametrize(("key", "aad"), [(bytes(16), AAD), (KEY, b"other"), (KEY, b"")])
def test_another_key_or_prefix_opens_nothing(key, aad):
    with pytest.raises(FormatViolation, match="authentic"):
        decrypt_stream(STREAM, key, aad)


def test_arguments_are_checked():
    with pytest.raises(InvalidInput, match="16, 24 or 32 bytes, got 5"):
        encrypt_stream(b"", b"short")
    with pytest.raises(InvalidInput, match="block length 0"):
        encrypt_stream(b"", KEY, block_bytes=0)
    with pytest.raises(InvalidInput, match="key length 17"):
        new_key_metadata(key_bytes=17)


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without_cryptography(name, *args, **kwargs):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_cryptography)
    with pytest.raises(Unsupported, match=r"Install skipstone\[encryption\]"):
        decrypt_stream(STREAM, KEY, AAD)


def test_key_metadata_by_java():
    parsed = parse_key_metadata(JAVA_KEY_METADATA)
    assert parsed.encryption_key == bytes.fromhex("05001795fc9d2da5730afc1c40b32de4")
    assert parsed.aad_prefix == bytes.fromhex("7d0657dbc3950955101a2b3b37634299")
    assert parsed.file_length == 7862
    assert serialize_key_metadata(parsed) == JAVA_KEY_METADATA


def test_key_metadata_without_a_length_is_read():
    assert parse_key_metadata(JAVA_KEY_METADATA[:-3]).file_length is None
    assert parse_key_metadata(JAVA_KEY_METADATA[:-3] + b"\0").file_length is None
    assert parse_key_metadata(b"\x01\x20" + KEY + b"\0\0") == KeyMetadata(encryption_key=KEY)


@pytest.mark.parametrize("length", [None, 0, 1, 63, 64, 2**40, 2**63 - 1])
def test_key_metadata_survives(length):
    metadata = KeyMetadata(encryption_key=bytes(32), aad_prefix=b"", file_length=length)
    assert parse_key_metadata(serialize_key_metadata(metadata)) == metadata


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "expected version 1, got no bytes"),
        (b"\x02" + JAVA_KEY_METADATA[1:], "expected version 1, got version 2"),
        (b"\x01", "encryption_key"),
        (JAVA_KEY_METADATA[:10], "encryption_key"),
        (b"\x01\x0a12345\0\0", "16, 24 or 32 bytes, got 5"),
        (b"\x01\x01" + KEY, "encryption_key"),
        (b"\x01\x20" + KEY, "aad_prefix"),
        (b"\x01\x20" + KEY + b"\x04", "union branch 0 or 1, got 2"),
        (b"\x01\x20" + KEY + b"\x02\x80\x80", "a varint, got the end"),
        (b"\x01\x20" + KEY + b"\x00\x02" + b"\xff" * 10, "a varint of 64 bits"),
        (b"\x01\x20" + KEY + b"\x00\x02" + b"\xff" * 9 + b"\x7f", "a varint of 64 bits"),
        (b"\x01\x20" + KEY + b"\x00\x02\x01", "file_length: expected 0 or more, got -1"),
        (JAVA_KEY_METADATA + b"\0", "got more bytes"),
    ],
)
def test_damaged_key_metadata_is_one_clear_violation(data, reason):
    with pytest.raises(FormatViolation, match=reason) as caught:
        parse_key_metadata(data, source="m0.avro")
    assert "m0.avro" in str(caught.value)


def test_a_file_and_its_key_metadata():
    stored, key_metadata = encrypt_file(b"content" * 1000, key_bytes=32, block_bytes=1000)
    assert decrypt_file(stored, key_metadata) == b"content" * 1000
    assert parse_key_metadata(key_metadata).file_length == len(stored)
    with pytest.raises(FormatViolation, match="expected"):
        decrypt_file(stored[:-1], key_metadata)


def test_keys_do_not_show_in_representations():
    assert "encryption_key" not in repr(new_key_metadata())


def wrapped_list_key() -> tuple[ToyKms, EncryptedKey, EncryptedKey, bytes]:
    kms = ToyKms()
    wrapping = new_key_encryption_key("kek", "master", kms, timestamp_ms=1700000000000)
    key_metadata = serialize_key_metadata(new_key_metadata())
    return kms, wrapping, wrap_manifest_list_key_metadata("list", key_metadata, wrapping, kms), key_metadata


def test_the_key_metadata_of_a_manifest_list_is_unwrapped_with_the_kms():
    kms, wrapping, wrapped, key_metadata = wrapped_list_key()
    assert wrapped.encrypted_by_id == "kek"
    assert wrapping.properties == {"KEY_TIMESTAMP": "1700000000000"}
    kms.asked.clear()
    assert manifest_list_key_metadata([wrapping, wrapped], "list", kms) == key_metadata
    assert kms.asked == ["master"]


def test_a_changed_timestamp_is_noticed():
    kms, wrapping, wrapped, _ = wrapped_list_key()
    forged = replace(wrapping, properties={"KEY_TIMESTAMP": "1800000000000"})
    with pytest.raises(FormatViolation, match="key 'list'"):
        manifest_list_key_metadata([forged, wrapped], "list", kms)


def test_keys_that_do_not_lead_to_the_kms_are_refused():
    kms, wrapping, wrapped, _ = wrapped_list_key()
    with pytest.raises(NotFound, match="Keys: kek, list"):
        manifest_list_key_metadata([wrapping, wrapped], "other", kms)
    with pytest.raises(FormatViolation, match="encrypted-by-id to name a key of the list, got 'kek'"):
        manifest_list_key_metadata([wrapped], "list", kms)
    with pytest.raises(FormatViolation, match="got None"):
        manifest_list_key_metadata([wrapping, replace(wrapped, encrypted_by_id=None)], "list", kms)
    with pytest.raises(FormatViolation, match="KEY_TIMESTAMP"):
        manifest_list_key_metadata([replace(wrapping, properties={}), wrapped], "list", kms)
    with pytest.raises(FormatViolation, match="master key"):
        manifest_list_key_metadata([replace(wrapping, encrypted_by_id=None), wrapped], "list", kms)
    with pytest.raises(FormatViolation, match="at least 28 bytes"):
        manifest_list_key_metadata([wrapping, replace(wrapped, encrypted_key_metadata=b"short")], "list", kms)
