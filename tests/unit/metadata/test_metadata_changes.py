"""Changes to table metadata, and what ends a set of them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from tests.support.metadata_builder import ORDER, SCHEMA, SPEC, START_MS, WIDER_SCHEMA, empty_table, snapshot, table

from skipstone.errors import AlreadyExists, InvalidInput, NotFound
from skipstone.metadata.partitions.partitioning import UNPARTITIONED, PartitionField, PartitionSpec
from skipstone.metadata.partitions.sorting import UNSORTED, SortOrder
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables import metadata_changes as changes
from skipstone.metadata.tables.encryption_keys import EncryptedKey
from skipstone.metadata.tables.refs import branch, tag
from skipstone.metadata.tables.snapshots import MetadataLogEntry, SnapshotLogEntry
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import STRING, TIMESTAMP_NS, Field

NOW_MS = START_MS + 50_000


def _sealed(base: TableMetadata, changed: TableMetadata, now_ms: int = NOW_MS) -> TableMetadata:
    return changes.next_metadata(base, changed, now_ms=now_ms, base_metadata_file="v1.metadata.json")


def test_a_schema_is_added_under_the_next_id() -> None:
    schema = Schema(fields=(*WIDER_SCHEMA.fields, Field(id=9, name="x", type=STRING)), schema_id=77)
    changed, schema_id = changes.add_schema(table(), schema)
    assert (schema_id, changed.last_column_id) == (2, 9)
    assert changed.schema(2) == schema.with_id(2)
    assert changes.set_current_schema(changed, 2).current_schema == schema.with_id(2)


def test_an_equal_schema_is_reused() -> None:
    assert changes.add_schema(table(), SCHEMA.with_id(40)) == (table(), 0)


def test_a_schema_the_version_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidInput, match="needs v3"):
        changes.add_schema(table(2), Schema(fields=(Field(id=5, name="t", type=TIMESTAMP_NS),)))


def test_the_last_column_id_never_falls() -> None:
    narrow = Schema(fields=SCHEMA.fields[:1])
    assert changes.add_schema(table(), narrow)[0].last_column_id == 4


def test_a_spec_is_added_under_the_next_id_or_reused() -> None:
    field = PartitionField(source_ids=(3,), field_id=1001, name="day_month", transform=parse_transform("month"))
    spec = PartitionSpec(spec_id=8, fields=(*SPEC.fields, field))
    changed, spec_id = changes.add_spec(table(), spec)
    assert (spec_id, changed.last_partition_id) == (1, 1001)
    assert changes.set_default_spec(changed, 1).default_spec == replace(spec, spec_id=1)
    assert changes.add_spec(changed, replace(spec, spec_id=5)) == (changed, 1)
    back, unpartitioned_id = changes.add_spec(changed, UNPARTITIONED)
    assert (unpartitioned_id, back.last_partition_id) == (2, 1001)


def test_v1_specs_have_sequential_field_ids() -> None:
    gap = PartitionSpec(fields=(replace(SPEC.fields[0], field_id=1002, name="s2"),))
    with pytest.raises(InvalidInput, match=r"expected field ids \[1000\], got \[1002\]"):
        changes.add_spec(table(1), gap)
    assert changes.add_spec(table(2), gap)[1] == 1


def test_a_sort_order_is_added_under_the_next_id_and_0_is_the_unsorted_one() -> None:
    order = SortOrder(order_id=9, fields=(*ORDER.fields, replace(ORDER.fields[0], source_ids=(1,))))
    order = replace(order, fields=(order.fields[0], replace(order.fields[1], transform=parse_transform("identity"))))
    changed, order_id = changes.add_sort_order(table(), order)
    assert (order_id, changed.sort_order(2).fields) == (2, order.fields)
    assert changes.add_sort_order(changed, replace(ORDER, order_id=9)) == (changed, 1)
    changed, order_id = changes.add_sort_order(changed, UNSORTED)
    assert order_id == 0
    assert changes.set_default_sort_order(changed, 0).default_sort_order == UNSORTED


@pytest.mark.parametrize(
    "change", [changes.set_current_schema, changes.set_default_spec, changes.set_default_sort_order]
)
def test_a_default_that_does_not_exist_is_not_found(change: Any) -> None:
    with pytest.raises(NotFound, match=r"Cannot find .* 9 in the table's metadata"):
        change(table(), 9)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_snapshot_advances_sequence_number_and_row_ids(version: int) -> None:
    changed = changes.add_snapshot(table(version), snapshot(44, number=4, parent=33, format_version=version))
    assert changed.last_sequence_number == (0 if version == 1 else 4)
    assert changed.next_row_id == (40 if version == 3 else 0)
    assert changed.current_snapshot_id == 33


def test_row_ids_advance_even_for_a_snapshot_of_no_branch_and_may_skip_ahead() -> None:
    skipping = replace(snapshot(44, number=4, format_version=3), first_row_id=100, added_rows=5)
    assert changes.add_snapshot(table(3), skipping).next_row_id == 105


@pytest.mark.parametrize(
    ("version", "fields", "message"),
    [
        (2, {"sequence_number": 3}, "expected a sequence number above 3, got 3"),
        (1, {"sequence_number": 4}, "expected no sequence number in a v1 table"),
        (2, {"manifest_list": None}, "expected a manifest list"),
        (2, {"summary": None}, "expected a summary with an operation"),
        (2, {"summary": {}}, "expected a summary with an operation"),
        (2, {"parent_snapshot_id": 44}, "got itself"),
        (2, {"first_row_id": 0}, "expected no first-row-id in a v2 table"),
        (3, {"first_row_id": 29}, r"expected first-row-id 30 .* got 29"),
        (3, {"first_row_id": None}, "expected first-row-id 30"),
        (3, {"added_rows": None}, "and added-rows, got"),
    ],
)
def test_a_snapshot_that_breaks_a_rule_is_refused(version: int, fields: dict[str, Any], message: str) -> None:
    new = replace(snapshot(44, number=4, parent=33, format_version=version), **fields)
    with pytest.raises(InvalidInput, match=rf"Cannot add snapshot 44: .*{message}"):
        changes.add_snapshot(table(version), new)


def test_a_snapshot_id_is_used_once_and_its_schema_exists() -> None:
    with pytest.raises(AlreadyExists, match="has a snapshot with this id"):
        changes.add_snapshot(table(), snapshot(33, number=4))
    with pytest.raises(NotFound, match="Cannot find schema 9"):
        changes.add_snapshot(table(), replace(snapshot(44, number=4), schema_id=9))


def test_setting_main_sets_the_current_snapshot() -> None:
    changed = changes.set_ref(table(), "main", branch(22))
    assert (changed.current_snapshot_id, changed.refs["main"]) == (22, branch(22))
    assert changes.set_ref(table(), "v1.0", tag(22)).current_snapshot_id == 33


def test_a_ref_points_to_a_known_snapshot_under_a_fit_name() -> None:
    with pytest.raises(NotFound, match="Cannot find snapshot 99"):
        changes.set_ref(table(), "x", tag(99))
    with pytest.raises(InvalidInput, match="expected a branch, got a tag"):
        changes.set_ref(table(), "main", tag(11))


def test_removing_a_ref_leaves_the_snapshots() -> None:
    changed = changes.remove_ref(table(), "audit")
    assert set(changed.refs) == {"main", "first"}
    assert changed.snapshots == table().snapshots
    assert changes.remove_ref(table(), "main").current_snapshot_id is None
    with pytest.raises(NotFound, match="Cannot find ref 'x'"):
        changes.remove_ref(table(), "x")


def _statistics(snapshot_id: int, path: str = "p") -> StatisticsFile:
    return StatisticsFile(
        snapshot_id=snapshot_id, statistics_path=path, file_size_in_bytes=9, file_footer_size_in_bytes=1
    )


def test_removed_snapshots_take_their_refs_and_statistics_along() -> None:
    base = changes.set_statistics(changes.set_statistics(table(), _statistics(11)), _statistics(33))
    base = changes.set_partition_statistics(
        base, PartitionStatisticsFile(snapshot_id=11, statistics_path="q", file_size_in_bytes=1)
    )
    changed = changes.remove_snapshots(base, {11, 12345})
    assert [s.snapshot_id for s in changed.snapshots] == [22, 33]
    assert set(changed.refs) == {"main", "audit"}
    assert [s.snapshot_id for s in changed.statistics] == [33]
    assert changed.partition_statistics == ()
    assert changes.remove_snapshots(base, {33}).current_snapshot_id is None


def test_statistics_replace_those_of_the_same_snapshot() -> None:
    changed = changes.set_statistics(changes.set_statistics(table(), _statistics(33, "old")), _statistics(33, "new"))
    assert [s.statistics_path for s in changed.statistics] == ["new"]
    assert changes.remove_statistics(changed, 33).statistics == ()
    with pytest.raises(NotFound):
        changes.set_statistics(table(), _statistics(99))


def test_partition_statistics_replace_those_of_the_same_snapshot() -> None:
    changed = table()
    for path in ("old", "new"):
        file = PartitionStatisticsFile(snapshot_id=22, statistics_path=path, file_size_in_bytes=1)
        changed = changes.set_partition_statistics(changed, file)
    assert [s.statistics_path for s in changed.partition_statistics] == ["new"]
    assert changes.remove_partition_statistics(changed, 22).partition_statistics == ()


def test_properties_are_set_and_removed() -> None:
    changed = changes.set_properties(table(), {"a": "1", "write.format.default": "orc"})
    assert changed.properties == {"write.format.default": "orc", "a": "1"}
    assert changes.remove_properties(changed, {"a", "unknown"}).properties == {"write.format.default": "orc"}
    assert table().properties == {"write.format.default": "parquet"}
    with pytest.raises(InvalidInput, match="Cannot set property 'a': expected text"):
        changes.set_properties(table(), {"a": 1})  # type: ignore[dict-item]


def test_the_location_is_set() -> None:
    assert changes.set_location(table(), "s3://other").location == "s3://other"
    with pytest.raises(InvalidInput, match="empty"):
        changes.set_location(table(), "")


def test_a_table_keeps_its_uuid() -> None:
    new = uuid.uuid4()
    assert changes.assign_uuid(replace(table(1), table_uuid=None), new).table_uuid == new
    with pytest.raises(InvalidInput, match="keeps its UUID for life"):
        changes.assign_uuid(table(), new)


def test_encryption_keys_are_unique_and_not_removed_in_use() -> None:
    key = EncryptedKey(key_id="k", encrypted_key_metadata=b"x")
    changed = changes.add_encryption_key(table(3), key)
    with pytest.raises(AlreadyExists, match="'k'"):
        changes.add_encryption_key(changed, key)
    with pytest.raises(InvalidInput, match="expected v3"):
        changes.add_encryption_key(table(2), key)
    assert changes.remove_encryption_key(changed, "k").encryption_keys == ()
    in_use = replace(changed, snapshots=tuple(replace(s, key_id="k") for s in changed.snapshots))
    with pytest.raises(InvalidInput, match="Cannot remove encryption key k"):
        changes.remove_encryption_key(in_use, "k")


def test_schemas_and_specs_in_use_are_not_removed() -> None:
    assert [s.schema_id for s in changes.remove_schemas(table(), [0]).schemas] == [1]
    with pytest.raises(InvalidInput, match="Cannot remove schema 1"):
        changes.remove_schemas(table(), [0, 1])
    with pytest.raises(InvalidInput, match="Cannot remove partition spec 0"):
        changes.remove_specs(table(), [0])
    unpartitioned, spec_id = changes.add_spec(table(), UNPARTITIONED)
    assert changes.remove_specs(unpartitioned, [spec_id]).partition_specs == (SPEC,)


def test_a_commit_logs_the_new_current_snapshot_and_the_previous_file() -> None:
    base = table()
    changed = changes.add_snapshot(base, snapshot(44, number=4, parent=33))
    sealed = _sealed(base, changes.set_ref(changed, "main", branch(44)))
    assert sealed.last_updated_ms == NOW_MS
    assert sealed.snapshot_log == (*base.snapshot_log, SnapshotLogEntry(timestamp_ms=NOW_MS, snapshot_id=44))
    assert sealed.metadata_log == (
        *base.metadata_log,
        MetadataLogEntry(timestamp_ms=base.last_updated_ms, metadata_file="v1.metadata.json"),
    )


def test_snapshots_that_were_current_only_inside_one_commit_are_not_logged() -> None:
    base = table()
    changed = changes.set_ref(changes.set_ref(base, "main", branch(11)), "main", branch(22))
    assert [e.snapshot_id for e in _sealed(base, changed).snapshot_log] == [11, 22, 33, 22]


def test_a_commit_that_leaves_the_current_snapshot_adds_no_log_entry() -> None:
    base = table()
    assert _sealed(base, changes.set_properties(base, {"a": "b"})).snapshot_log == base.snapshot_log


def test_the_snapshot_log_is_cut_before_an_expired_snapshot() -> None:
    base = table()
    assert [e.snapshot_id for e in _sealed(base, changes.remove_snapshots(base, {22})).snapshot_log] == [33]
    assert [e.snapshot_id for e in _sealed(base, changes.remove_snapshots(base, {11})).snapshot_log] == [22, 33]


@pytest.mark.parametrize(("limit", "kept"), [(None, 100), ("3", 3), ("0", 1), ("-5", 1)])
def test_the_metadata_log_is_trimmed(limit: str | None, kept: int) -> None:
    base = table()
    entries = tuple(MetadataLogEntry(timestamp_ms=START_MS + i, metadata_file=f"v{i}") for i in range(150))
    changed = replace(base, metadata_log=entries)
    if limit is not None:
        changed = changes.set_properties(changed, {changes.PREVIOUS_VERSIONS_MAX: limit})
    log = _sealed(base, changed).metadata_log
    assert len(log) == kept
    assert log[-1].metadata_file == "v1.metadata.json"


def test_a_bad_limit_of_the_metadata_log_is_told() -> None:
    changed = changes.set_properties(table(), {changes.PREVIOUS_VERSIONS_MAX: "many"})
    with pytest.raises(InvalidInput, match="expected an integer, got 'many'"):
        _sealed(table(), changed)


def test_a_table_that_was_never_stored_logs_no_file() -> None:
    base = empty_table()
    assert changes.next_metadata(base, base, now_ms=NOW_MS, base_metadata_file=None).metadata_log == ()


def test_time_never_runs_backwards() -> None:
    base = table()
    assert _sealed(base, base, now_ms=5).last_updated_ms == base.last_updated_ms
    ahead = changes.add_snapshot(base, replace(snapshot(44, number=4), timestamp_ms=NOW_MS + 7))
    assert _sealed(base, ahead).last_updated_ms == NOW_MS + 7


def test_an_inconsistent_result_is_refused_as_a_whole() -> None:
    base = table()
    dropped, schema_id = changes.add_schema(base, Schema(fields=SCHEMA.fields[:1]))
    changed = changes.set_current_schema(dropped, schema_id)
    with pytest.raises(
        InvalidInput, match=r"Cannot change table metadata: \$\.partition-specs\[0\]: Cannot find source"
    ):
        _sealed(base, changed)
    # The same change is fine once spec and order let go of the column, in whatever order the steps come.
    changed, spec_id = changes.add_spec(changed, UNPARTITIONED)
    changed, order_id = changes.add_sort_order(changed, UNSORTED)
    changed = changes.set_default_sort_order(changes.set_default_spec(changed, spec_id), order_id)
    assert _sealed(base, changed).current_schema_id == schema_id
