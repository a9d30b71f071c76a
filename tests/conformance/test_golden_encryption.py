"""A table that Iceberg Java encrypted: every metadata file opens, and the Avro inside is Avro."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from tests.support.golden import GoldenTable, local

from skipstone.errors import FormatViolation
from skipstone.metadata.blobs.encryption import (
    decrypt_file,
    manifest_list_key_metadata,
    parse_key_metadata,
    serialize_key_metadata,
)
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata

TABLE = GoldenTable("v3_encrypted")


class RecordedKms:
    """The toy service the table was written with: AES GCM under one master key, the nonce in front."""

    def __init__(self) -> None:
        self._cipher = AESGCM(bytes.fromhex(TABLE.inspect["kms_master_key_hex"]))

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        assert key_id == "keyA"
        return self._cipher.decrypt(wrapped[:12], wrapped[12:], None)

    def wrap(self, key_id: str, key: bytes) -> bytes:
        raise AssertionError("nothing is written")


@pytest.fixture(scope="module")
def metadata() -> TableMetadata:
    return parse_table_metadata(TABLE.metadata_file.read_bytes(), source=TABLE.metadata_file.name)


def manifest_lists(metadata: TableMetadata) -> Iterator[tuple[Any, bytes]]:
    for snapshot in metadata.snapshots:
        key_metadata = manifest_list_key_metadata(metadata.encryption_keys, snapshot.key_id, RecordedKms())
        path = local(snapshot.manifest_list)
        yield snapshot, decrypt_file(path.read_bytes(), key_metadata, source=path.name)


def records(data: bytes) -> list[dict[str, Any]]:
    return list(fastavro.reader(io.BytesIO(data)))


def test_manifest_lists_and_manifests_decrypt_to_avro(metadata):
    seen = 0
    for _, manifest_list in manifest_lists(metadata):
        assert manifest_list[:4] == b"Obj\x01"
        for entry in records(manifest_list):
            path = local(entry["manifest_path"])
            assert decrypt_file(path.read_bytes(), entry["key_metadata"], source=path.name)[:4] == b"Obj\x01"
            assert parse_key_metadata(entry["key_metadata"]).file_length == entry["manifest_length"]
            seen += 1
    assert seen == 3


def test_manifests_say_what_java_reads_from_them(metadata):
    current = [ml for s, ml in manifest_lists(metadata) if s.snapshot_id == metadata.current_snapshot_id]
    listed = records(current[0])
    expected = {m["manifest"]: m["key_metadata"] for m in TABLE.manifests()}
    assert {local(m["manifest_path"]).name: m["key_metadata"].hex() for m in listed} == expected
    files = {
        e["data_file"]["file_path"]: e["data_file"]["key_metadata"].hex()
        for m in listed
        for e in records(decrypt_file(local(m["manifest_path"]).read_bytes(), m["key_metadata"]))
    }
    assert files == {e["file_path"]: e["key_metadata"] for e in TABLE.entries()}


def test_an_avro_data_file_decrypts_to_its_rows():
    (entry,) = [e for e in TABLE.entries() if e["file_format"] == "AVRO"]
    data = decrypt_file(local(entry["file_path"]).read_bytes(), bytes.fromhex(entry["key_metadata"]))
    assert records(data) == [{"id": 11, "s": "one"}, {"id": 12, "s": None}, {"id": 13, "s": "three"}]


def test_key_metadata_is_written_as_java_writes_it():
    for e in (*TABLE.entries(), *TABLE.manifests()):
        stored = bytes.fromhex(e["key_metadata"])
        assert serialize_key_metadata(parse_key_metadata(stored)) == stored


def test_a_manifest_under_the_key_of_another_does_not_open():
    one, two = TABLE.manifests()
    manifest = (TABLE.root / "metadata" / one["manifest"]).read_bytes()
    with pytest.raises(FormatViolation):
        decrypt_file(manifest, bytes.fromhex(two["key_metadata"]))
