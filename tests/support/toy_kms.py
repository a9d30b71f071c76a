"""A key management of one master key, as that of the golden encrypted table."""

from __future__ import annotations

import os
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12


@dataclass(frozen=True)
class ToyKms:
    """Wrapping is AES-GCM without associated data."""

    master_key: bytes

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        assert key_id == "keyA"
        return AESGCM(self.master_key).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], None)

    def wrap(self, key_id: str, key: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + AESGCM(self.master_key).encrypt(nonce, key, None)
