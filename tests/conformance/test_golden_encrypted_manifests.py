"""The encrypted table of Iceberg Java: opened from the master key down to the entries, and sealed again."""

from __future__ import annotations

import pytest
from tests.support.golden import GoldenTable, local
from tests.support.golden_values import golden_entries, golden_manifest
from tests.support.table_reader import OpenTable, open_golden
from tests.support.toy_kms import ToyKms

from skipstone.errors import FormatViolation
from skipstone.metadata.avro import decode, parse_container
from skipstone.metadata.blobs.encryption import decrypt_file, encrypt_file, manifest_list_key_metadata
from skipstone.metadata.manifests.manifest_list import read_manifest_list

TABLE = GoldenTable("v3_encrypted")


@pytest.fixture(scope="module")
def opened() -> OpenTable:
    return open_golden(TABLE, kms=ToyKms(bytes.fromhex(TABLE.inspect["kms_master_key_hex"])))


def test_manifest_lists_are_opened_with_the_snapshots_key_and_read_as_in_java(opened: OpenTable) -> None:
    current = opened.manifests(opened.metadata.current_snapshot)
    assert [golden_manifest(m) for m in current] == TABLE.manifests()


def test_manifests_are_opened_with_the_lists_key_metadata_and_read_as_in_java(opened: OpenTable) -> None:
    ours = []
    for manifest in opened.manifests(opened.metadata.current_snapshot):
        ours += golden_entries(manifest, opened.entries(manifest), opened.partition_type(manifest))
    assert ours == TABLE.entries()


def test_an_avro_data_file_is_opened_with_the_entrys_key_metadata(opened: OpenTable) -> None:
    entry = next(e for e in TABLE.entries() if e["file_format"] == "AVRO")
    data = local(entry["file_path"]).read_bytes()
    assert len(data) == entry["file_size_in_bytes"]
    plain = decrypt_file(data, bytes.fromhex(entry["key_metadata"]), source=entry["file_path"])
    assert decode(parse_container(plain, source=entry["file_path"])).num_rows == entry["record_count"]


def test_a_manifest_list_sealed_again_opens_to_the_same_manifests(opened: OpenTable) -> None:
    snapshot = opened.metadata.current_snapshot
    assert snapshot is not None and snapshot.manifest_list is not None and snapshot.key_id is not None
    assert opened.kms is not None
    key = manifest_list_key_metadata(opened.metadata.encryption_keys, snapshot.key_id, opened.kms)
    plain = decrypt_file(opened.fetch(snapshot.manifest_list), key)
    sealed, fresh_key = encrypt_file(plain)
    assert sealed != opened.fetch(snapshot.manifest_list)
    again = read_manifest_list(decrypt_file(sealed, fresh_key), source="again")
    assert again == opened.manifests(snapshot)


def test_a_manifest_cut_short_or_changed_is_refused(opened: OpenTable) -> None:
    manifest = opened.manifests(opened.metadata.current_snapshot)[0]
    data = opened.fetch(manifest.manifest_path)
    assert manifest.key_metadata is not None
    changed = data[:200] + bytes([data[200] ^ 1]) + data[201:]
    for damaged in (data[:-1], data[: len(data) // 2], changed):
        with pytest.raises(FormatViolation, match="Invalid"):
            decrypt_file(damaged, manifest.key_metadata, source=manifest.manifest_path)
