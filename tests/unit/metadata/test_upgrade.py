"""Upgrades of the format version: forward only, and nothing but metadata changes."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from tests.support.metadata_builder import TABLE_UUID, table

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata, serialize_table_metadata
from skipstone.metadata.tables.upgrade import upgrade_format_version


@pytest.mark.parametrize(("start", "end"), [(1, 2), (1, 3), (2, 3)])
def test_an_upgrade_changes_the_version_and_keeps_the_snapshots(start: int, end: int) -> None:
    upgraded = upgrade_format_version(table(start), end)
    assert upgraded == replace(table(start), format_version=end)
    assert upgraded.snapshots == table(start).snapshots
    assert parse_table_metadata(serialize_table_metadata(upgraded), source="t") == upgraded


def test_row_ids_start_at_0_after_an_upgrade_and_old_snapshots_have_none() -> None:
    upgraded = upgrade_format_version(table(2), 3)
    assert upgraded.next_row_id == 0
    assert all(s.first_row_id is None for s in upgraded.snapshots)


def test_sequence_numbers_start_after_0_when_v1_is_upgraded() -> None:
    upgraded = upgrade_format_version(table(1), 2)
    assert (upgraded.last_sequence_number, upgraded.next_sequence_number) == (0, 1)
    assert {s.sequence_number for s in upgraded.snapshots} == {0}


def test_a_v1_table_without_a_uuid_gets_one() -> None:
    drawn = uuid.UUID(int=5)
    old = replace(table(1), table_uuid=None)
    assert upgrade_format_version(old, 2, random_uuid=lambda: drawn).table_uuid == drawn
    assert upgrade_format_version(table(1), 2, random_uuid=lambda: drawn).table_uuid == TABLE_UUID


def test_the_same_version_is_no_change() -> None:
    metadata = table(2)
    assert upgrade_format_version(metadata, 2) is metadata


def test_a_downgrade_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Cannot change format version 3 to 2: expected an upgrade"):
        upgrade_format_version(table(3), 2)


def test_a_version_of_the_future_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="format version 4: expected at most 3"):
        upgrade_format_version(table(3), 4)
