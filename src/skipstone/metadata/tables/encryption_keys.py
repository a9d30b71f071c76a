"""Keys that a table's metadata lists for table encryption: wrapped, never in the clear.

Spec: "Encryption Keys".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skipstone.metadata.json_reader import JsonObject
from skipstone.metadata.tables.statistics_files import base64_text, read_base64


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptedKey:
    """`encrypted_by_id` names the key this one is wrapped with: another of the list, or one of the KMS."""

    key_id: str
    encrypted_key_metadata: bytes
    encrypted_by_id: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)


def read_encrypted_key(json: JsonObject) -> EncryptedKey:
    return EncryptedKey(
        key_id=json.text("key-id"),
        encrypted_key_metadata=read_base64(json, "encrypted-key-metadata"),
        encrypted_by_id=json.optional_text("encrypted-by-id"),
        properties=json.text_map("properties"),
    )


def encrypted_key_to_json(key: EncryptedKey) -> dict[str, Any]:
    written: dict[str, Any] = {
        "key-id": key.key_id,
        "encrypted-key-metadata": base64_text(key.encrypted_key_metadata),
    }
    if key.encrypted_by_id is not None:
        written["encrypted-by-id"] = key.encrypted_by_id
    if key.properties:
        written["properties"] = dict(key.properties)
    return written
