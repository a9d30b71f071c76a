"""The retention policy: what expires, and what a ref keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.metadata_builder import START_MS, empty_table, table

from skipstone.errors import InvalidInput
from skipstone.metadata.tables.metadata_changes import remove_snapshots
from skipstone.metadata.tables.refs import RefType, SnapshotRef, branch, tag
from skipstone.metadata.tables.retention import (
    MAX_REF_AGE_MS,
    MAX_SNAPSHOT_AGE_MS,
    MIN_SNAPSHOTS_TO_KEEP,
    Expiry,
    expiry_of,
)
from skipstone.metadata.tables.table_metadata import TableMetadata

DAY_MS = 24 * 60 * 60 * 1000
MUCH_LATER_MS = START_MS + 1000 * DAY_MS
NOTHING = Expiry(refs=frozenset(), snapshot_ids=frozenset())


def _table(refs: dict[str, SnapshotRef], **properties: str) -> TableMetadata:
    """Snapshots 11, 22, 33 at 1, 2 and 3 seconds after the start, main at 33."""
    return replace(table(), refs={"main": branch(33), **refs}, properties=properties)


def _expired(metadata: TableMetadata, now_ms: int = MUCH_LATER_MS) -> tuple[set[str], set[int]]:
    expiry = expiry_of(metadata, now_ms=now_ms)
    return set(expiry.refs), set(expiry.snapshot_ids)


def test_nothing_young_expires() -> None:
    assert expiry_of(_table({}), now_ms=START_MS + 5 * DAY_MS) == NOTHING
    assert expiry_of(empty_table(), now_ms=MUCH_LATER_MS) == NOTHING


def test_old_snapshots_of_main_expire_after_five_days_by_default_but_never_its_last() -> None:
    assert _expired(_table({})) == (set(), {11, 22})


def test_an_age_of_exactly_the_limit_is_kept() -> None:
    metadata = _table({}, **{MAX_SNAPSHOT_AGE_MS: "1000"})
    assert _expired(metadata, START_MS + 3000) == (set(), {11})


def test_the_newest_snapshots_are_kept_at_any_age() -> None:
    assert _expired(_table({}, **{MIN_SNAPSHOTS_TO_KEEP: "2"})) == (set(), {11})


def test_the_rules_of_a_ref_win_over_the_properties() -> None:
    kept = SnapshotRef(snapshot_id=33, type=RefType.BRANCH, min_snapshots_to_keep=3)
    assert _expired(_table({"main": kept}, **{MIN_SNAPSHOTS_TO_KEEP: "1"})) == (set(), set())
    young = SnapshotRef(snapshot_id=33, type=RefType.BRANCH, max_snapshot_age_ms=1)
    assert _expired(_table({"main": young}), START_MS + 3000) == (set(), {11, 22})


def test_a_tag_keeps_its_snapshot_but_not_the_ones_before() -> None:
    assert _expired(_table({"t": tag(22)})) == (set(), {11})


def test_a_branch_keeps_its_own_lineage() -> None:
    kept = SnapshotRef(snapshot_id=22, type=RefType.BRANCH, min_snapshots_to_keep=2)
    assert _expired(_table({"audit": kept})) == (set(), set())


def test_an_old_ref_expires_with_what_only_it_kept_and_main_never_does() -> None:
    metadata = _table({"t": tag(11, max_ref_age_ms=5), "u": tag(22)})
    assert _expired(metadata) == ({"t"}, {11})
    assert _expired(_table({"t": tag(11)}, **{MAX_REF_AGE_MS: "1"})) == ({"t"}, {11, 22})


def test_what_the_policy_keeps_is_a_sound_table() -> None:
    metadata = _table({"t": tag(11, max_ref_age_ms=5)})
    expiry = expiry_of(metadata, now_ms=MUCH_LATER_MS)
    left = remove_snapshots(metadata, expiry.snapshot_ids)
    assert set(left.refs) == {"main"}
    assert [s.snapshot_id for s in left.snapshots] == [33]


@pytest.mark.parametrize("text", ["0", "-1", "soon", "", "9" * 30, "1.5", "٣"])
def test_a_property_that_is_no_positive_number_is_refused_before_anything_expires(text: str) -> None:
    with pytest.raises(InvalidInput, match=f"Invalid table property {MIN_SNAPSHOTS_TO_KEEP}: expected a positive"):
        expiry_of(_table({}, **{MIN_SNAPSHOTS_TO_KEEP: text}), now_ms=MUCH_LATER_MS)
