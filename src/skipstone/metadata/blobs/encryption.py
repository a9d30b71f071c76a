"""The keys of encrypted files: the key metadata that opens a file, and the keys that wrap it.

A file's bytes are an AES GCM stream. Its key metadata (key, AAD prefix, file length) stands in the clear inside the
manifest or manifest list above it, which is itself encrypted; only the key metadata of a manifest list is wrapped, by a
key encryption key in the table metadata, which the KMS wraps.

Laws: a file is opened only at the length its key metadata states, so a cut file is noticed; keys never appear in
messages.

Spec: "Encryption Keys".
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from skipstone.errors import FormatViolation, InvalidInput, NotFound, what_exists
from skipstone.metadata.blobs.gcm_stream import (
    BLOCK_BYTES,
    KEY_BYTES,
    cipher_of,
    decrypt_stream,
    encrypt_stream,
    open_block,
    seal_block,
)
from skipstone.metadata.tables.encryption_keys import EncryptedKey

__all__ = [
    "KEY_TIMESTAMP", "TABLE_KEY_PROPERTY", "EncryptedKey", "KeyManagement", "KeyMetadata",
    "decrypt_file", "decrypt_stream", "encrypt_file", "encrypt_stream",
    "key_encryption_key", "manifest_list_key_metadata", "new_key_encryption_key", "new_key_metadata",
    "parse_key_metadata", "serialize_key_metadata", "wrap_manifest_list_key_metadata",
]  # fmt: skip

KEY_TIMESTAMP: Final = "KEY_TIMESTAMP"
TABLE_KEY_PROPERTY: Final = "encryption.key-id"

_KEY_METADATA_VERSION: Final = 1


class KeyManagement(Protocol):
    """The service that holds the table's master keys."""

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """The key that was wrapped with the master key `key_id`."""
        ...

    def wrap(self, key_id: str, key: bytes) -> bytes:
        """The key, wrapped with the master key `key_id`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMetadata:
    """What opens one file. `file_length` is the length of the encrypted file, from a source that can be trusted."""

    encryption_key: bytes = field(repr=False)
    aad_prefix: bytes = b""
    file_length: int | None = None


def new_key_metadata(*, key_bytes: int = 16, aad_prefix_bytes: int = 16) -> KeyMetadata:
    """A fresh random key and AAD prefix for one file."""
    if key_bytes not in KEY_BYTES:
        raise InvalidInput(f"Invalid data key length {key_bytes}: expected 16, 24 or 32 bytes.")
    return KeyMetadata(encryption_key=os.urandom(key_bytes), aad_prefix=os.urandom(aad_prefix_bytes))


def parse_key_metadata(data: bytes, *, source: str = "key metadata") -> KeyMetadata:
    """Key metadata as manifests hold it: a version byte, then an Avro record."""
    if not data or data[0] != _KEY_METADATA_VERSION:
        got = f"version {data[0]}" if data else "no bytes"
        raise FormatViolation(f"Invalid key metadata of {source}: expected version {_KEY_METADATA_VERSION}, got {got}.")
    reader = _AvroReader(data, source)
    key = reader.bytes_of("encryption_key")
    if len(key) not in KEY_BYTES:
        raise FormatViolation(
            f"Invalid key metadata of {source}: encryption_key: expected 16, 24 or 32 bytes, got {len(key)}."
        )
    aad_prefix = reader.bytes_of("aad_prefix") if reader.is_present("aad_prefix") else b""
    # Older writers end here; the length was added without a new version.
    file_length = None
    if not reader.is_at_end and reader.is_present("file_length"):
        file_length = reader.long("file_length")
    if not reader.is_at_end:
        raise FormatViolation(
            f"Invalid key metadata of {source}: expected the end at byte {reader.at}, got more bytes."
        )
    if file_length is not None and file_length < 0:
        raise FormatViolation(f"Invalid key metadata of {source}: file_length: expected 0 or more, got {file_length}.")
    return KeyMetadata(encryption_key=key, aad_prefix=aad_prefix, file_length=file_length)


def serialize_key_metadata(metadata: KeyMetadata) -> bytes:
    """The bytes of `key_metadata` in a manifest entry or manifest list entry."""
    key, aad = metadata.encryption_key, metadata.aad_prefix
    length = b"\x00" if metadata.file_length is None else b"\x02" + _varint(metadata.file_length)
    return bytes([_KEY_METADATA_VERSION]) + _varint(len(key)) + key + b"\x02" + _varint(len(aad)) + aad + length


def decrypt_file(data: bytes, key_metadata: bytes, *, source: str = "file") -> bytes:
    """The plain bytes of a file, by the key metadata that its manifest or manifest list entry holds."""
    key = parse_key_metadata(key_metadata, source=source)
    return decrypt_stream(data, key.encryption_key, key.aad_prefix, source=source, file_length=key.file_length)


def encrypt_file(data: bytes, *, key_bytes: int = 16, block_bytes: int = BLOCK_BYTES) -> tuple[bytes, bytes]:
    """The encrypted file and its key metadata, under a fresh key."""
    fresh = new_key_metadata(key_bytes=key_bytes)
    stored = encrypt_stream(data, fresh.encryption_key, fresh.aad_prefix, block_bytes=block_bytes)
    metadata = KeyMetadata(encryption_key=fresh.encryption_key, aad_prefix=fresh.aad_prefix, file_length=len(stored))
    return stored, serialize_key_metadata(metadata)


def manifest_list_key_metadata(
    keys: Iterable[EncryptedKey], key_id: str, kms: KeyManagement, *, source: str = "table metadata"
) -> bytes:
    """The key metadata of a manifest list, by the snapshot's `key-id`: opened with its wrapping key."""
    by_id = {k.key_id: k for k in keys}
    wrapped = by_id.get(key_id)
    if wrapped is None:
        raise NotFound(f"Cannot find encryption key {key_id!r} in {source}. " + what_exists("Keys", key_id, by_id))
    wrapping = by_id.get(wrapped.encrypted_by_id or "")
    if wrapping is None:
        raise FormatViolation(
            f"Invalid encryption key {key_id!r} in {source}: expected encrypted-by-id to name a key of the list, "
            f"got {wrapped.encrypted_by_id!r}."
        )
    cipher = cipher_of(key_encryption_key(wrapping, kms, source=source), f"encryption key {wrapping.key_id!r}")
    # The timestamp is authenticated with the key, so that an expired key cannot pass for a fresh one.
    aad = _timestamp(wrapping, source).encode()
    return open_block(cipher, wrapped.encrypted_key_metadata, aad, f"key {key_id!r} in {source}")


def wrap_manifest_list_key_metadata(
    key_id: str, key_metadata: bytes, wrapping: EncryptedKey, kms: KeyManagement, *, source: str = "table metadata"
) -> EncryptedKey:
    """An entry for `encryption-keys` that holds a manifest list's key metadata, wrapped with `wrapping`."""
    cipher = cipher_of(key_encryption_key(wrapping, kms, source=source), f"encryption key {wrapping.key_id!r}")
    sealed = seal_block(cipher, key_metadata, _timestamp(wrapping, source).encode())
    return EncryptedKey(key_id=key_id, encrypted_key_metadata=sealed, encrypted_by_id=wrapping.key_id)


def key_encryption_key(wrapping: EncryptedKey, kms: KeyManagement, *, source: str = "table metadata") -> bytes:
    """The plain key encryption key, unwrapped by the KMS with the table's master key."""
    if wrapping.encrypted_by_id is None:
        raise FormatViolation(
            f"Invalid encryption key {wrapping.key_id!r} in {source}: expected the id of a master key, got none."
        )
    return kms.unwrap(wrapping.encrypted_by_id, wrapping.encrypted_key_metadata)


def new_key_encryption_key(
    key_id: str, table_key_id: str, kms: KeyManagement, *, timestamp_ms: int, key_bytes: int = 16
) -> EncryptedKey:
    """An entry for `encryption-keys` that holds a fresh key encryption key, wrapped by the KMS."""
    if key_bytes not in KEY_BYTES:
        raise InvalidInput(f"Invalid key length {key_bytes}: expected 16, 24 or 32 bytes.")
    return EncryptedKey(
        key_id=key_id,
        encrypted_key_metadata=kms.wrap(table_key_id, os.urandom(key_bytes)),
        encrypted_by_id=table_key_id,
        properties={KEY_TIMESTAMP: str(timestamp_ms)},
    )


def _timestamp(wrapping: EncryptedKey, source: str) -> str:
    timestamp = wrapping.properties.get(KEY_TIMESTAMP)
    if timestamp is None:
        raise FormatViolation(
            f"Invalid encryption key {wrapping.key_id!r} in {source}: expected property {KEY_TIMESTAMP}, got none."
        )
    return timestamp


class _AvroReader:
    """The little of Avro that key metadata needs: bytes, longs and unions with null, after the version byte."""

    __slots__ = ("_data", "_source", "at")

    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self._source = source
        self.at = 1

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self._data)

    def long(self, what: str) -> int:
        unsigned = 0
        for shift in range(0, 70, 7):
            if self.at >= len(self._data):
                raise self._violation(what, "a varint", "the end")
            byte = self._data[self.at]
            self.at += 1
            unsigned |= (byte & 0x7F) << shift
            if byte < 0x80:
                if unsigned >= 2**64:
                    break
                return (unsigned >> 1) ^ -(unsigned & 1)
        raise self._violation(what, "a varint of 64 bits", "a longer one")

    def bytes_of(self, what: str) -> bytes:
        length = self.long(what)
        left = len(self._data) - self.at
        if not 0 <= length <= left:
            raise self._violation(what, f"0 to {left} bytes", str(length))
        self.at += length
        return self._data[self.at - length : self.at]

    def is_present(self, what: str) -> bool:
        branch = self.long(what)
        if branch not in (0, 1):
            raise self._violation(what, "union branch 0 or 1", str(branch))
        return branch == 1

    def _violation(self, what: str, expected: str, got: str) -> FormatViolation:
        return FormatViolation(
            f"Invalid key metadata of {self._source}: {what} before byte {self.at}: expected {expected}, got {got}."
        )


def _varint(value: int) -> bytes:
    unsigned = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while unsigned >= 0x80:
        encoded.append(unsigned & 0x7F | 0x80)
        unsigned >>= 7
    encoded.append(unsigned)
    return bytes(encoded)
