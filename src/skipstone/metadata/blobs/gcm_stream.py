"""AES GCM streams ("AGS1"): any file as a sequence of enciphered, authenticated blocks.

Law: nothing is returned that was not authenticated, and a block counts only at its own place in its own file.

AES GCM Stream spec: "File structure", "Cipher Block structure", "Additional Authenticated Data", "File length".
"""

from __future__ import annotations

import os
import struct
from typing import Any, Final

from skipstone.errors import FormatViolation, InvalidInput, Unsupported

STREAM_MAGIC: Final = b"AGS1"
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
KEY_BYTES: Final = (16, 24, 32)
BLOCK_BYTES: Final = 1024 * 1024
# A block is authenticated as a whole, so a reader must hold one: larger ones are refused.
BLOCK_BYTES_MAX: Final = 256 * 1024 * 1024

_HEADER_BYTES: Final = len(STREAM_MAGIC) + 4
_SEAL_BYTES: Final = NONCE_BYTES + TAG_BYTES


def decrypt_stream(
    data: bytes, key: bytes, aad_prefix: bytes = b"", *, source: str = "stream", file_length: int | None = None
) -> bytes:
    """The plain bytes of a whole AES GCM stream, every block authenticated."""
    block_bytes = _stream_block_bytes(data, source, file_length)
    cipher = cipher_of(key, f"stream {source}")
    sealed_bytes = block_bytes + _SEAL_BYTES
    plain: list[bytes] = []
    for ordinal, start in enumerate(range(_HEADER_BYTES, len(data), sealed_bytes)):
        sealed = data[start : start + sealed_bytes]
        # An empty block stands only for an empty file.
        bytes_min = _SEAL_BYTES if ordinal == 0 else _SEAL_BYTES + 1
        if len(sealed) < bytes_min:
            raise FormatViolation(
                f"Invalid encrypted file {source}: block {ordinal}: expected at least {bytes_min} bytes, "
                f"got {len(sealed)}."
            )
        plain.append(
            open_block(cipher, sealed, aad_prefix + struct.pack("<i", ordinal), f"file {source}: block {ordinal}")
        )
    return b"".join(plain)


def encrypt_stream(data: bytes, key: bytes, aad_prefix: bytes = b"", *, block_bytes: int = BLOCK_BYTES) -> bytes:
    """The bytes as an AES GCM stream."""
    if not 1 <= block_bytes <= BLOCK_BYTES_MAX:
        raise InvalidInput(f"Invalid block length {block_bytes}: expected 1 to {BLOCK_BYTES_MAX} bytes.")
    cipher = cipher_of(key, "encryption")
    parts = [STREAM_MAGIC, struct.pack("<i", block_bytes)]
    # An empty file has one empty block, so that it can be authenticated too.
    for ordinal, start in enumerate(range(0, max(len(data), 1), block_bytes)):
        parts.append(seal_block(cipher, data[start : start + block_bytes], aad_prefix + struct.pack("<i", ordinal)))
    return b"".join(parts)


def cipher_of(key: bytes, where: str) -> Any:
    """The AES GCM cipher under this key."""
    if len(key) not in KEY_BYTES:
        raise InvalidInput(f"Invalid key for {where}: expected 16, 24 or 32 bytes, got {len(key)}.")
    try:
        # Late, because the package is an optional extra.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as e:
        raise Unsupported(
            f"Cannot read or write {where}: expected the package 'cryptography', got none. "
            f"Install skipstone[encryption]."
        ) from e
    return AESGCM(key)


def open_block(cipher: Any, sealed: bytes, aad: bytes, where: str) -> bytes:
    """The plain bytes of nonce, ciphertext and tag."""
    from cryptography.exceptions import InvalidTag

    if len(sealed) < _SEAL_BYTES:
        raise FormatViolation(
            f"Invalid encrypted {where}: expected at least {_SEAL_BYTES} bytes of nonce and tag, got {len(sealed)}."
        )
    try:
        plain: bytes = cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], aad or None)
    except InvalidTag as e:
        raise FormatViolation(
            f"Invalid encrypted {where}: expected an authentic block, got one that was changed, moved, or sealed with "
            f"another key or AAD prefix."
        ) from e
    return plain


def seal_block(cipher: Any, plain: bytes, aad: bytes) -> bytes:
    """Nonce, ciphertext and tag, under a fresh nonce."""
    nonce = os.urandom(NONCE_BYTES)
    sealed: bytes = cipher.encrypt(nonce, plain, aad or None)
    return nonce + sealed


def _stream_block_bytes(data: bytes, source: str, file_length: int | None) -> int:
    if file_length is not None and len(data) != file_length:
        raise FormatViolation(
            f"Invalid encrypted file {source}: expected {file_length} bytes as its key metadata says, got {len(data)}."
        )
    if data[: len(STREAM_MAGIC)] != STREAM_MAGIC:
        raise FormatViolation(
            f"Invalid encrypted file {source}: magic: expected {STREAM_MAGIC!r}, got {data[: len(STREAM_MAGIC)]!r}."
        )
    if len(data) < _HEADER_BYTES + _SEAL_BYTES:
        raise FormatViolation(
            f"Invalid encrypted file {source}: expected at least one block, so {_HEADER_BYTES + _SEAL_BYTES} bytes, "
            f"got {len(data)}."
        )
    block_bytes = int.from_bytes(data[len(STREAM_MAGIC) : _HEADER_BYTES], "little", signed=True)
    if not 1 <= block_bytes <= BLOCK_BYTES_MAX:
        raise FormatViolation(
            f"Invalid encrypted file {source}: block length: expected 1 to {BLOCK_BYTES_MAX}, got {block_bytes}."
        )
    return block_bytes
