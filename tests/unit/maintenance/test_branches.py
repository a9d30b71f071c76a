"""Branches moved along history, cherry-picks, and write-audit-publish."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.support.commits import Lake, data_files

from skipstone.commit import Append, Change, Delete, Rejected, ReplacePartitions, SetRef, UpdateProperties
from skipstone.errors import AlreadyExists, InvalidInput, NotFound, Unsupported
from skipstone.maintenance import (
    CherryPick,
    ExpireSnapshots,
    FastForward,
    MoveRef,
    RenameBranch,
    RollBack,
    staged_snapshot,
)
from skipstone.maintenance.branches import ancestor_as_of
from skipstone.metadata.tables.refs import branch, tag
from skipstone.metadata.tables.snapshots import Snapshot


@pytest.fixture(params=[1, 2, 3])
def lake(request: pytest.FixtureRequest) -> Lake:
    lake = Lake()
    lake.create(format_version=request.param, properties={"write.wap.enabled": "true"})
    return lake


def run(lake: Lake, *changes: Change) -> None:
    lake.commit(*changes).unwrap()


def append(lake: Lake, *paths: str, **options: Any) -> int:
    """Append files and return the new snapshot's id."""
    before = set(lake.metadata.snapshots_by_id)
    run(lake, Append(files=data_files(*paths), **options))
    (new,) = set(lake.metadata.snapshots_by_id) - before
    return new


def current(lake: Lake) -> Snapshot:
    found = lake.metadata.current_snapshot
    assert found is not None
    return found


def test_rollback_goes_to_an_ancestor_and_back_by_set_current(lake: Lake) -> None:
    first, second = append(lake, "a"), append(lake, "b")
    run(lake, RollBack(snapshot_id=first))
    assert set(lake.live()) == {"a"}
    run(lake, MoveRef(snapshot_id=second))
    assert set(lake.live()) == {"a", "b"}
    assert [e.snapshot_id for e in lake.metadata.snapshot_log] == [first, second, first, second]


def test_rollback_to_a_snapshot_of_another_branch_is_refused(lake: Lake) -> None:
    append(lake, "a")
    other = append(lake, "b", ref="dev")
    with pytest.raises(InvalidInput, match="expected an ancestor"):
        run(lake, RollBack(snapshot_id=other))
    with pytest.raises(NotFound, match="Snapshots"):
        run(lake, RollBack(snapshot_id=404))


def test_a_rollback_never_undoes_a_commit_that_the_caller_did_not_see(lake: Lake) -> None:
    first = append(lake, "a")
    append(lake, "b")
    seen = lake.table
    append(lake, "c")
    outcome = lake.commit(RollBack(snapshot_id=first), base=seen)
    assert isinstance(outcome, Rejected)
    assert outcome.is_conflict
    assert set(lake.live()) == {"a", "b", "c"}


def test_rollback_by_time_takes_the_last_ancestor_at_that_time(lake: Lake) -> None:
    first, second = append(lake, "a"), append(lake, "b")
    when = lake.metadata.snapshot(second).timestamp_ms
    assert ancestor_as_of(lake.metadata, "main", when) == second
    assert ancestor_as_of(lake.metadata, "main", when - 1) == first
    with pytest.raises(NotFound, match="that old"):
        ancestor_as_of(lake.metadata, "main", 0)


def test_fast_forward_follows_a_descendant_and_makes_a_missing_branch(lake: Lake) -> None:
    append(lake, "a")
    ahead = append(lake, "b", ref="audit")
    run(lake, FastForward(name="main", to="audit"))
    assert lake.metadata.current_snapshot_id == ahead
    run(lake, FastForward(name="new", to="main"))
    assert lake.metadata.refs["new"] == branch(ahead)


def test_fast_forward_of_branches_that_went_apart_is_refused(lake: Lake) -> None:
    append(lake, "a")
    append(lake, "b", ref="audit")
    append(lake, "c")
    with pytest.raises(InvalidInput, match="went apart"):
        run(lake, FastForward(name="main", to="audit"))


def test_a_tag_is_no_branch(lake: Lake) -> None:
    first = append(lake, "a")
    run(lake, SetRef(name="t", ref=tag(first)))
    refused: list[Change] = [
        RollBack(snapshot_id=first, name="t"),
        FastForward(name="t", to="main"),
        RenameBranch(name="t", new_name="u"),
    ]
    for change in refused:
        with pytest.raises(InvalidInput, match="expected a branch"):
            run(lake, change)


def test_a_renamed_branch_keeps_its_snapshot_and_main_keeps_its_name(lake: Lake) -> None:
    append(lake, "a")
    dev = append(lake, "b", ref="dev")
    run(lake, RenameBranch(name="dev", new_name="next"))
    assert lake.metadata.refs["next"].snapshot_id == dev
    assert "dev" not in lake.metadata.refs
    with pytest.raises(InvalidInput, match="always has this name"):
        run(lake, RenameBranch(name="main", new_name="x"))
    with pytest.raises(AlreadyExists):
        run(lake, RenameBranch(name="next", new_name="main"))


def test_a_staged_append_is_seen_only_after_it_is_published(lake: Lake) -> None:
    append(lake, "a")
    append(lake, "b", wap_id="w1")
    assert set(lake.live()) == {"a"}
    append(lake, "c")
    run(lake, CherryPick(snapshot_id=staged_snapshot(lake.metadata, "w1").snapshot_id))
    assert set(lake.live()) == {"a", "b", "c"}
    summary = current(lake).summary or {}
    assert summary["published-wap-id"] == "w1"
    assert summary["source-snapshot-id"] == str(staged_snapshot(lake.metadata, "w1").snapshot_id)
    assert summary["operation"] == "append"


def test_publishing_on_the_unchanged_table_makes_the_staged_snapshot_current(lake: Lake) -> None:
    append(lake, "a")
    staged = append(lake, "b", wap_id="w1")
    run(lake, CherryPick(snapshot_id=staged))
    assert lake.metadata.current_snapshot_id == staged


def test_the_first_snapshot_of_a_table_can_be_staged(lake: Lake) -> None:
    staged = append(lake, "a", wap_id="w1")
    assert lake.metadata.current_snapshot_id is None
    run(lake, CherryPick(snapshot_id=staged))
    assert lake.metadata.current_snapshot_id == staged


@pytest.mark.parametrize("meanwhile", [True, False])
def test_nothing_is_published_twice(lake: Lake, meanwhile: bool) -> None:
    append(lake, "a")
    staged = append(lake, "b", wap_id="w1")
    if meanwhile:
        append(lake, "c")
    run(lake, CherryPick(snapshot_id=staged))
    with pytest.raises(InvalidInput, match="already"):
        run(lake, CherryPick(snapshot_id=staged))
    second = append(lake, "d", wap_id="w1")
    with pytest.raises(InvalidInput, match="published already"):
        run(lake, CherryPick(snapshot_id=second))


def test_an_unknown_wap_id_lists_those_that_are_staged(lake: Lake) -> None:
    append(lake, "a", wap_id="monday")
    with pytest.raises(NotFound, match="monday"):
        staged_snapshot(lake.metadata, "tuesday")


def test_an_id_that_two_snapshots_were_staged_under_publishes_neither(lake: Lake) -> None:
    append(lake, "a")
    first, second = append(lake, "b", wap_id="w1"), append(lake, "c", wap_id="w1")
    with pytest.raises(InvalidInput, match=f"got 2: {first}, {second}"):
        staged_snapshot(lake.metadata, "w1")
    run(lake, CherryPick(snapshot_id=first))
    assert set(lake.live()) == {"a", "b"}
    with pytest.raises(InvalidInput, match="published already"):
        run(lake, CherryPick(snapshot_id=second))


def test_staging_needs_the_table_property(lake: Lake) -> None:
    run(lake, UpdateProperties(removals=["write.wap.enabled"]))
    with pytest.raises(InvalidInput, match=r"write\.wap\.enabled"):
        append(lake, "a", wap_id="w1")


def test_a_pick_is_made_on_what_others_committed_meanwhile(lake: Lake) -> None:
    append(lake, "a")
    staged = append(lake, "b", wap_id="w1")
    lake.catalog.before_publish.append(lambda: append(lake, "c"))
    run(lake, CherryPick(snapshot_id=staged))
    assert set(lake.live()) == {"a", "b", "c"}
    assert lake.stored() >= lake.referenced()


def test_files_that_others_add_while_a_pick_is_tried_again_are_not_picked_too(lake: Lake) -> None:
    append(lake, "a")
    staged = append(lake, "b", wap_id="w1")
    append(lake, "c")
    lake.catalog.before_publish.append(lambda: append(lake, "b"))
    with pytest.raises(InvalidInput, match="1 of its files are in the table already"):
        run(lake, CherryPick(snapshot_id=staged))
    assert set(lake.live()) == {"a", "b", "c"}


def test_row_ids_of_picked_rows_are_new_and_unique() -> None:
    lake = Lake()
    lake.create(format_version=3, properties={"write.wap.enabled": "true"})
    append(lake, "a")
    staged = append(lake, "b", wap_id="w1")
    append(lake, "c")
    run(lake, CherryPick(snapshot_id=staged))
    firsts = sorted(row["first_row_id"] for row in lake.live().values())
    assert all(after - before >= 10 for before, after in itertools.pairwise(firsts))


def partitioned() -> Lake:
    lake = Lake()
    lake.create(partition_by=["state"], properties={"write.wap.enabled": "true"})
    run(lake, Append(files=data_files("ny1", state="NY")))
    run(lake, Append(files=data_files("ca1", state="CA")))
    return lake


def replace_partition(lake: Lake, path: str, state: str, **options: Any) -> int:
    before = set(lake.metadata.snapshots_by_id)
    run(lake, ReplacePartitions(files=data_files(path, state=state), **options))
    (new,) = set(lake.metadata.snapshots_by_id) - before
    return new


def test_an_overwrite_of_partitions_is_picked_while_they_are_unchanged() -> None:
    lake = partitioned()
    staged = replace_partition(lake, "ny2", "NY", wap_id="w1")
    run(lake, Append(files=data_files("ca2", state="CA")))
    run(lake, CherryPick(snapshot_id=staged))
    assert set(lake.live()) == {"ny2", "ca1", "ca2"}


def test_an_overwrite_of_partitions_that_others_changed_is_a_conflict() -> None:
    lake = partitioned()
    staged = replace_partition(lake, "ny2", "NY", wap_id="w1")
    run(lake, Append(files=data_files("ny3", state="NY")))
    outcome = lake.commit(CherryPick(snapshot_id=staged))
    assert isinstance(outcome, Rejected)
    assert "ny3" in outcome.message
    assert set(lake.live()) == {"ny1", "ny3", "ca1"}


def test_other_changes_are_picked_only_as_a_fast_forward() -> None:
    lake = partitioned()
    picked = replace_partition(lake, "x", "NY", ref="dev", summary={"replace-partitions": "no"})
    run(lake, Append(files=data_files("ca2", state="CA")))
    with pytest.raises(Unsupported, match="on the current table"):
        run(lake, CherryPick(snapshot_id=picked))


def test_a_pick_whose_files_are_in_the_table_is_refused_even_when_its_history_has_expired(lake: Lake) -> None:
    append(lake, "a")
    staged = append(lake, "s", wap_id="w1")
    append(lake, "b")
    run(lake, CherryPick(snapshot_id=staged))
    published = current(lake).snapshot_id
    append(lake, "c")
    run(lake, ExpireSnapshots(snapshot_ids=[published]))
    assert published not in lake.metadata.snapshots_by_id, "nothing tells any more that the snapshot was picked"
    with pytest.raises(InvalidInput, match=f"pick snapshot {staged}: 1 of its files are in the table already.* s\\."):
        run(lake, CherryPick(snapshot_id=staged))
    assert sorted(lake.live()) == ["a", "b", "c", "s"]


def test_partitions_whose_new_files_are_in_the_table_are_not_picked_again() -> None:
    lake = partitioned()
    staged = replace_partition(lake, "ny2", "NY", wap_id="w1")
    run(lake, Append(files=data_files("ca2", state="CA")))
    run(lake, CherryPick(snapshot_id=staged))
    published = current(lake).snapshot_id
    run(lake, Append(files=data_files("ca3", state="CA")))
    run(lake, ExpireSnapshots(snapshot_ids=[published]))
    with pytest.raises(InvalidInput, match="in the table already"):
        run(lake, CherryPick(snapshot_id=staged))


def test_a_pick_whose_file_was_removed_since_adds_it_again(lake: Lake) -> None:
    append(lake, "a")
    staged = append(lake, "s", wap_id="w1")
    append(lake, "b")
    run(lake, CherryPick(snapshot_id=staged))
    published = current(lake).snapshot_id
    run(lake, Delete(files=["s"]))
    run(lake, ExpireSnapshots(snapshot_ids=[published]))
    run(lake, CherryPick(snapshot_id=staged))
    assert sorted(lake.live()) == ["a", "b", "s"]
