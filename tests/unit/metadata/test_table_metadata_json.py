"""Metadata files: all versions, the defaults of old ones, and damaged files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.metadata_builder import SCHEMA, SPEC, TABLE_UUID, changed_json, empty_table, table

from skipstone.errors import FormatViolation, InvalidInput, UnknownVersion
from skipstone.metadata.partitions.sorting import UNSORTED
from skipstone.metadata.tables.encryption_keys import EncryptedKey
from skipstone.metadata.tables.refs import branch
from skipstone.metadata.tables.statistics_files import BlobMetadata, PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata, serialize_table_metadata

V1_REQUIRED = {"location", "last-updated-ms", "last-column-id", "schema", "partition-spec"}
V2_REQUIRED = {
    "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id", "schemas",
    "current-schema-id", "partition-specs", "default-spec-id", "last-partition-id", "sort-orders",
    "default-sort-order-id",
}  # fmt: skip
V3_REQUIRED = V2_REQUIRED | {"next-row-id"}


def _parse(data: bytes, **options: Any) -> TableMetadata:
    return parse_table_metadata(data, source="v7.metadata.json", **options)


def _full(version: int) -> TableMetadata:
    """A table that uses every member of its version."""
    blob = BlobMetadata(
        type="apache-datasketches-theta-v1", snapshot_id=33, sequence_number=3, fields=(1, 2), properties={"ndv": "7"}
    )
    full = replace(
        table(version),
        statistics=(
            StatisticsFile(
                snapshot_id=33,
                statistics_path="s3://lake/33.stats",
                file_size_in_bytes=100,
                file_footer_size_in_bytes=20,
                blob_metadata=(blob, replace(blob, properties={})),
                key_metadata=b"\x00\xff",
            ),
        ),
        partition_statistics=(
            PartitionStatisticsFile(snapshot_id=33, statistics_path="s3://lake/33.parquet", file_size_in_bytes=9),
        ),
    )
    if version < 3:
        return full
    keys = (
        EncryptedKey(key_id="a", encrypted_key_metadata=b"wrapped", encrypted_by_id="kms", properties={"p": "q"}),
        EncryptedKey(key_id="b", encrypted_key_metadata=b"", encrypted_by_id="a"),
    )
    snapshots = tuple(replace(s, key_id="b") for s in full.snapshots)
    return replace(full, encryption_keys=keys, snapshots=snapshots)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_every_member_survives_writing_and_reading(version: int, compression: Any) -> None:
    for metadata in (_full(version), empty_table(version)):
        assert _parse(serialize_table_metadata(metadata, compression=compression)) == metadata


@pytest.mark.parametrize(
    ("version", "required"), [(1, V1_REQUIRED), (2, V2_REQUIRED), (3, V3_REQUIRED)], ids=["v1", "v2", "v3"]
)
def test_what_the_version_requires_is_written_and_missed_when_absent(version: int, required: set[str]) -> None:
    assert required | {"format-version"} <= json.loads(changed_json(lambda _: None, table(version))).keys()
    for member in required:
        # v1 readers use the legacy members only when the newer ones are absent.
        newer = {"schema": "schemas", "partition-spec": "partition-specs"}.get(member, member)
        with pytest.raises(FormatViolation, match=rf"v7\.metadata\.json: \$\.{member}: expected a value, got nothing"):
            _parse(changed_json(lambda m, gone=(member, newer): [m.pop(k, None) for k in gone], table(version)))


def test_v1_is_written_with_its_legacy_members_and_without_later_ones() -> None:
    written = json.loads(serialize_table_metadata(table(1)))
    assert written["schema"] == written["schemas"][1]
    assert written["partition-spec"] == written["partition-specs"][0]["fields"]
    assert not {"last-sequence-number", "next-row-id", "encryption-keys"} & written.keys()
    assert all("sequence-number" not in s for s in written["snapshots"])


@pytest.mark.parametrize("version", [2, 3])
def test_later_versions_are_written_without_legacy_members(version: int) -> None:
    written = json.loads(serialize_table_metadata(table(version)))
    assert not {"schema", "partition-spec"} & written.keys()
    assert ("next-row-id" in written) == (version == 3)


def test_no_current_snapshot_is_minus_1_before_v3_and_null_from_then_on() -> None:
    written = [json.loads(serialize_table_metadata(empty_table(v)))["current-snapshot-id"] for v in (1, 2, 3)]
    assert written == [-1, -1, None]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_minus_1_null_and_absent_mean_no_current_snapshot(version: int) -> None:
    for change in (
        lambda m: m.update({"current-snapshot-id": -1}),
        lambda m: m.update({"current-snapshot-id": None}),
        lambda m: m.pop("current-snapshot-id"),
    ):
        assert _parse(changed_json(change, empty_table(version))).current_snapshot_id is None


def test_an_old_v1_file_is_read_with_the_defaults_of_the_spec() -> None:
    def age(m: dict[str, Any]) -> None:
        m["schema"] = {k: v for k, v in m["schemas"][0].items() if k != "schema-id"}
        m["partition-spec"] = [{k: v for k, v in f.items() if k != "field-id"} for f in m["partition-spec"]]
        for newer in (
            "table-uuid", "schemas", "current-schema-id", "partition-specs", "default-spec-id", "last-partition-id",
            "sort-orders", "default-sort-order-id", "refs", "properties", "snapshot-log", "metadata-log", "statistics",
            "partition-statistics",
        ):  # fmt: skip
            del m[newer]
        m["snapshots"] = [
            {"snapshot-id": 33, "timestamp-ms": 5, "manifests": ["s3://lake/m0.avro"]},
        ]

    old = _parse(changed_json(age, table(1)))
    assert (old.table_uuid, old.last_sequence_number, old.next_row_id) == (None, 0, 0)
    assert (old.schemas, old.current_schema_id) == ((SCHEMA,), 0)
    assert (old.partition_specs, old.default_spec_id, old.last_partition_id) == ((SPEC,), 0, 1000)
    assert (old.sort_orders, old.default_sort_order_id) == ((UNSORTED,), 0)
    assert old.refs == {"main": branch(33)}
    assert (old.properties, old.snapshot_log, old.metadata_log, old.statistics) == ({}, (), (), ())
    assert old.snapshots[0].manifests == ("s3://lake/m0.avro",)
    assert _parse(serialize_table_metadata(old)) == old


def test_an_unpartitioned_old_v1_table_has_assigned_no_partition_id() -> None:
    def age(m: dict[str, Any]) -> None:
        m["partition-spec"] = []
        for newer in ("partition-specs", "default-spec-id", "last-partition-id"):
            del m[newer]

    assert _parse(changed_json(age, table(1))).last_partition_id == 999


@pytest.mark.parametrize("refs", [None, {}, {"audit": {"snapshot-id": 22, "type": "branch"}}])
def test_main_is_always_there_when_there_is_a_current_snapshot(refs: Any) -> None:
    read = _parse(changed_json(lambda m: m.update(refs=refs)))
    assert read.refs["main"] == branch(33)
    assert set(read.refs) == {"main", *(refs or {})}


def test_partition_fields_of_later_versions_need_their_ids() -> None:
    with pytest.raises(FormatViolation, match=r"\$\.partition-specs\[0\]\.fields\[0\]\.field-id: expected a value"):
        _parse(changed_json(lambda m: m["partition-specs"][0]["fields"][0].pop("field-id")))


def test_an_unknown_transform_is_kept() -> None:
    def change(m: dict[str, Any]) -> None:
        m["partition-specs"][0]["fields"][0]["transform"] = "zorder[8]"
        m["sort-orders"][0]["fields"][0]["transform"] = "hilbert"

    data = changed_json(change, table(3))
    assert json.loads(serialize_table_metadata(_parse(data))) == json.loads(data)


def test_a_multi_argument_transform_is_kept() -> None:
    def change(m: dict[str, Any]) -> None:
        field = m["partition-specs"][0]["fields"][0]
        del field["source-id"]
        field.update({"source-ids": [1, 2], "transform": "zorder"})

    data = changed_json(change, table(3))
    assert json.loads(serialize_table_metadata(_parse(data))) == json.loads(data)
    with pytest.raises(FormatViolation, match="needs v3"):
        _parse(changed_json(change, table(2)))


def test_unknown_members_are_ignored() -> None:
    assert _parse(changed_json(lambda m: m.update({"x-future": [1], "row-lineage": True}))) == table()


def test_metadata_from_the_future_is_unsupported_and_names_its_version() -> None:
    with pytest.raises(UnknownVersion, match=r"v7\.metadata\.json: \$\.format-version: expected 1 to 3, got 4"):
        _parse(b'{"format-version": 4, "root": "a tree of files"}')


def test_the_metadata_of_a_view_is_told_apart() -> None:
    with pytest.raises(FormatViolation, match="expected a table, got the metadata of a view"):
        _parse(b'{"view-uuid": "x", "format-version": 1}')


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nul",
        b"\x00\x01",
        b'{"location": "\xff"}',
        b'{"location": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"format-version": ' + b"9" * 5000 + b"}",
        b"\x1f\x8b",
        b"\x1f\x8b" + b"\x00" * 30,
        gzip.compress(b'{"format-version": 2}')[:-9],
        gzip.compress(b"{}") + b"tail",
    ],
    ids=range(13),
)
def test_damaged_bytes_are_one_violation_naming_the_file(data: bytes) -> None:
    with pytest.raises(FormatViolation, match=r"^Invalid table metadata v7\.metadata\.json: "):
        _parse(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", r"\$: expected an object, got a list"),
        (b"{}", r"\$\.format-version: expected a value, got nothing"),
        (b'{"format-version": 0}', r"\$\.format-version: expected an integer from 1"),
        (b'{"format-version": "2"}', r"\$\.format-version: expected an integer"),
        (b'{"format-version": 2.5}', r"\$\.format-version: expected an integer"),
        (b'{"format-version": true}', r"\$\.format-version: expected an integer"),
    ],
)
def test_a_wrong_shape_is_a_violation_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(FormatViolation, match=message):
        _parse(data)


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("table-uuid", "nope", "expected a UUID, got 'nope'"),
        ("table-uuid", "{" + str(TABLE_UUID) + "}", "expected a UUID"),
        ("location", 7, "expected a string, got 7"),
        ("last-sequence-number", -1, "expected an integer from 0"),
        ("last-updated-ms", 2**63, "expected an integer"),
        ("last-column-id", 2**31, "expected an integer"),
        ("schemas", {}, "expected a list, got an object"),
        ("properties", {"a": 1}, r"\$\.properties\.a: expected a string, got 1"),
        ("properties", [], "expected an object, got a list"),
        ("snapshots", [1], r"\$\.snapshots\[0\]: expected an object, got 1"),
        ("refs", [], "expected an object"),
        ("snapshot-log", [{}], r"\$\.snapshot-log\[0\]\.timestamp-ms: expected a value"),
        ("metadata-log", [{"timestamp-ms": 1}], r"\$\.metadata-log\[0\]\.metadata-file: expected a value"),
        ("statistics", [{}], r"\$\.statistics\[0\]\.snapshot-id: expected a value"),
        ("partition-statistics", [{}], r"\$\.partition-statistics\[0\]\.snapshot-id: expected a value"),
        ("next-row-id", -1, "expected an integer from 0"),
        ("encryption-keys", [{"key-id": "a"}], r"encrypted-key-metadata: expected a value"),
        ("encryption-keys", [{"key-id": "a", "encrypted-key-metadata": "*"}], "expected base64"),
        ("encryption-keys", [{"key-id": "a", "encrypted-key-metadata": "é"}], "expected base64"),
    ],
)
def test_a_wrong_member_is_a_violation_with_its_place(member: str, value: Any, message: str) -> None:
    with pytest.raises(FormatViolation, match=message) as raised:
        _parse(changed_json(lambda m: m.update({member: value}), table(3)))
    assert f"$.{member}" in str(raised.value)


def test_schemas_of_the_list_need_their_ids() -> None:
    with pytest.raises(FormatViolation, match=r"\$\.schemas\[0\]\.schema-id: expected a value"):
        _parse(changed_json(lambda m: m["schemas"][0].pop("schema-id")))


def test_gzip_is_told_by_its_magic_bytes_and_may_have_several_members() -> None:
    data = serialize_table_metadata(table())
    assert _parse(gzip.compress(data[:100]) + gzip.compress(data[100:])) == table()


def test_a_decompression_bomb_stops_at_the_cap() -> None:
    bomb = gzip.compress(b" " * 5_000_000)
    with pytest.raises(FormatViolation, match="expected at most 1000000 inflated bytes, got more"):
        _parse(bomb, inflated_bytes_max=1_000_000)


def test_a_flood_of_empty_gzip_members_is_refused() -> None:
    with pytest.raises(FormatViolation, match="gzip members, got more"):
        _parse(gzip.compress(b"") * 5000)


def test_equal_metadata_gives_equal_bytes() -> None:
    for compression in ("none", "gzip"):
        first, second = (serialize_table_metadata(_full(3), compression=compression) for _ in range(2))
        assert first == second


def test_inconsistent_metadata_is_never_written() -> None:
    with pytest.raises(FormatViolation, match=r"to be written: \$\.current-schema-id"):
        serialize_table_metadata(replace(table(), current_schema_id=9))


def test_text_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected values that JSON can hold"):
        serialize_table_metadata(replace(table(), properties={"a": "\ud800"}))


def test_an_unknown_compression_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected 'none' or 'gzip', got 'zstd'"):
        serialize_table_metadata(table(), compression="zstd")  # type: ignore[arg-type]
