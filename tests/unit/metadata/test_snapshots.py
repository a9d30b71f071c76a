"""Snapshots as JSON, snapshot ids, lineage, and which snapshot was current when."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from tests.support.metadata_builder import START_MS, empty_table, table

from skipstone.errors import FormatViolation, NotFound
from skipstone.metadata.json_reader import JsonObject
from skipstone.metadata.tables.history import ancestors_of, is_ancestor, snapshot_as_of, snapshots_between
from skipstone.metadata.tables.snapshot_ids import new_snapshot_id, snapshot_id_of
from skipstone.metadata.tables.snapshots import Operation, Snapshot, SnapshotLogEntry, read_snapshot, snapshot_to_json

V1: dict[str, Any] = {"snapshot-id": 1, "timestamp-ms": 5, "manifest-list": "m.avro"}
V2: dict[str, Any] = {**V1, "sequence-number": 1, "summary": {"operation": "append"}}
V3: dict[str, Any] = {**V2, "first-row-id": 0, "added-rows": 9, "key-id": "k", "parent-snapshot-id": 2, "schema-id": 3}


def _read(stored: dict[str, Any], version: int) -> Snapshot:
    return read_snapshot(JsonObject.of(stored, label="x"), format_version=version)


@pytest.mark.parametrize(("stored", "version"), [(V1, 1), (V2, 2), (V3, 3), (V1, 2), (V2, 3)])
def test_a_snapshot_is_written_as_it_was_read(stored: dict[str, Any], version: int) -> None:
    assert snapshot_to_json(_read(stored, version), format_version=version) == stored


def test_a_v1_snapshot_with_a_list_of_manifests_is_kept_through_upgrades() -> None:
    stored = {"snapshot-id": 1, "timestamp-ms": 5, "manifests": ["a.avro", "b.avro"]}
    for version in (1, 2, 3):
        snapshot = _read(stored, version)
        assert (snapshot.manifest_list, snapshot.manifests) == (None, ("a.avro", "b.avro"))
        assert snapshot_to_json(snapshot, format_version=version) == stored


def test_manifests_beside_a_manifest_list_are_ignored() -> None:
    assert _read({**V1, "manifests": ["a.avro"]}, 1).manifests is None


def test_v1_has_no_sequence_numbers_whatever_the_file_says() -> None:
    assert _read({**V1, "sequence-number": 4}, 1).sequence_number == 0
    assert _read({**V1, "sequence-number": None}, 1).sequence_number == 0
    assert "sequence-number" not in snapshot_to_json(_read(V2, 2), format_version=1)


def test_an_absent_sequence_number_is_0() -> None:
    assert _read(V1, 2).sequence_number == 0


@pytest.mark.parametrize(
    ("stored", "place"),
    [
        ({**V2, "snapshot-id": None}, "snapshot-id"),
        ({**V2, "timestamp-ms": "5"}, "timestamp-ms"),
        ({**V2, "manifest-list": None}, "manifest-list"),
        ({**V2, "summary": None}, "summary"),
        ({**V2, "summary": {"operation": 1}}, r"summary\.operation"),
        ({**V2, "sequence-number": -1}, "sequence-number"),
        ({**V2, "snapshot-id": 2**63}, "snapshot-id"),
        ({**V3, "added-rows": None}, "added-rows"),
        ({**V3, "added-rows": -1}, "added-rows"),
        ({**V3, "first-row-id": -1}, "first-row-id"),
        ({"snapshot-id": 1, "timestamp-ms": 5}, "manifests"),
    ],
)
def test_a_fault_names_its_place(stored: dict[str, Any], place: str) -> None:
    with pytest.raises(FormatViolation, match=rf"Invalid x: \$\.{place}: expected"):
        _read(stored, 3)


def test_the_operation_is_read_from_the_summary() -> None:
    assert [_read({**V2, "summary": {"operation": o}}, 2).operation for o in Operation] == list(Operation)
    assert _read(V1, 1).operation is None


def test_a_missing_or_unknown_operation_is_read_as_overwrite_which_promises_nothing() -> None:
    assert _read({**V2, "summary": {"a": "b"}}, 2).summary == {"operation": "overwrite", "a": "b"}
    odd = _read({**V2, "summary": {"operation": "rebase"}}, 2)
    assert odd.operation is Operation.OVERWRITE
    assert odd.summary == {"operation": "rebase"}


def test_unknown_summary_keys_are_kept() -> None:
    summary = {"operation": "append", "engine-name": "spark", "spark.app.id": "local-1"}
    assert _read({**V2, "summary": summary}, 2).summary == summary


def test_a_snapshot_id_folds_the_halves_of_a_uuid_into_a_positive_long() -> None:
    assert snapshot_id_of(uuid.UUID(int=(5 << 64) | 6)) == 3
    assert snapshot_id_of(uuid.UUID(int=((2**64 - 1) << 64) | 1)) == 2**63 - 2


def test_a_new_snapshot_id_is_neither_zero_nor_used() -> None:
    drawn = iter([uuid.UUID(int=0), uuid.UUID(int=7), uuid.UUID(int=8)])
    assert new_snapshot_id({7}, random_uuid=lambda: next(drawn)) == 8
    assert all(0 < new_snapshot_id() < 2**63 for _ in range(100))


def test_ancestors_lead_back_to_the_first_snapshot() -> None:
    assert [s.snapshot_id for s in ancestors_of(table(), 33)] == [33, 22, 11]
    assert is_ancestor(table(), ancestor_id=11, snapshot_id=33)
    assert not is_ancestor(table(), ancestor_id=33, snapshot_id=22)


def test_ancestors_end_at_an_expired_parent() -> None:
    metadata = replace(table(), snapshots=table().snapshots[1:])
    assert [s.snapshot_id for s in ancestors_of(metadata, 33)] == [33, 22]


def test_ancestors_of_an_unknown_snapshot_are_not_found_and_the_message_lists_the_known() -> None:
    with pytest.raises(NotFound, match=r"Cannot find snapshot 44 .* Snapshots: 11, 22, 33"):
        list(ancestors_of(table(), 44))


def test_a_cycle_of_parents_is_a_violation_not_a_hang() -> None:
    first, *rest = table().snapshots
    cyclic = replace(table(), snapshots=(replace(first, parent_snapshot_id=33), *rest))
    with pytest.raises(FormatViolation, match="without a cycle"):
        list(ancestors_of(cyclic, 22))


def test_snapshots_between_two_are_oldest_first() -> None:
    assert [s.snapshot_id for s in snapshots_between(table(), after_id=11, up_to_id=33)] == [22, 33]
    assert [s.snapshot_id for s in snapshots_between(table(), after_id=None, up_to_id=22)] == [11, 22]


def test_a_path_that_is_not_provably_complete_is_refused() -> None:
    expired = replace(table(), snapshots=table().snapshots[1:])
    for after_id in (None, 44):
        with pytest.raises(NotFound, match=r"Cannot find a path from .* to snapshot 33"):
            snapshots_between(expired, after_id=after_id, up_to_id=33)


@pytest.mark.parametrize(("offset_ms", "expected"), [(1000, 11), (1999, 11), (2000, 22), (2001, 22), (99_000, 33)])
def test_the_snapshot_as_of_a_time_is_the_last_logged_one_not_later(offset_ms: int, expected: int) -> None:
    assert snapshot_as_of(table(), START_MS + offset_ms).snapshot_id == expected


def test_time_travel_follows_the_log_not_the_lineage() -> None:
    rolled_back = replace(
        table(),
        snapshot_log=(*table().snapshot_log, SnapshotLogEntry(timestamp_ms=START_MS + 9000, snapshot_id=11)),
    )
    assert snapshot_as_of(rolled_back, START_MS + 9500).snapshot_id == 11


def test_a_time_before_the_log_is_refused_with_the_start_of_the_log() -> None:
    with pytest.raises(
        NotFound, match=r"the snapshot-log starts at 1600000001000 ms \(2020-09-13T12:26:41.000\+00:00\)"
    ):
        snapshot_as_of(table(), START_MS)


def test_time_travel_without_a_log_is_refused_with_the_reason() -> None:
    with pytest.raises(NotFound, match="has no snapshot-log"):
        snapshot_as_of(empty_table(), START_MS)


def test_time_travel_to_an_expired_snapshot_is_refused_with_its_id() -> None:
    with pytest.raises(NotFound, match="snapshot 11 was current then and has expired"):
        snapshot_as_of(replace(table(), snapshots=table().snapshots[1:]), START_MS + 1000)


def test_any_long_is_a_time_to_ask_for() -> None:
    assert snapshot_as_of(table(), 2**63 - 1).snapshot_id == 33
    with pytest.raises(NotFound, match="outside the years"):
        snapshot_as_of(table(), -(2**63))
