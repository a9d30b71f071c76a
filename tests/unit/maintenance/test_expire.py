"""Expiry: what leaves the table, which files go with it, and which never do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.commits import TABLE, Lake, data_files, live_files, vectors

from skipstone.commit import (
    Append,
    Change,
    Delete,
    RowDelta,
    SetRef,
    Timing,
    UpdateProperties,
    UpdateStatistics,
)
from skipstone.errors import CommitOutcomeUnknown, CommitRejected, InvalidInput, NotFound
from skipstone.maintenance import ExpireSnapshots, ExpiryReport, expire_snapshots, plan_expiry
from skipstone.maintenance.orphans import needed_paths
from skipstone.metadata.tables.metadata_changes import PREVIOUS_VERSIONS_MAX
from skipstone.metadata.tables.refs import RefType, SnapshotRef, tag
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile, StatisticsFile
from skipstone.storage.faulty import Fault, FaultyStorage

LATER_MS = 1_900_000_000_000


@pytest.fixture
def lake() -> Lake:
    lake = Lake()
    lake.create(format_version=3)
    return lake


def at(lake: Lake, name: str) -> str:
    return f"{lake.metadata.location}/data/{name}"


def run(lake: Lake, *changes: Change) -> int | None:
    lake.commit(*changes).unwrap()
    return lake.metadata.current_snapshot_id


def append(lake: Lake, *names: str, **options: Any) -> int | None:
    """Append files that are really there."""
    for name in names:
        lake.catalog.storage.write_new(at(lake, name), b"rows")
    return run(lake, Append(files=data_files(*(at(lake, n) for n in names)), **options))


def delete(lake: Lake, *names: str) -> int | None:
    return run(lake, Delete(files=[at(lake, n) for n in names]))


def expire(lake: Lake, *, now_ms: int = LATER_MS, table: Any = None, **options: Any) -> ExpiryReport:
    timing = Timing(clock=lambda: next(lake.now_ms), sleep=lake.sleeps.append)
    change = ExpireSnapshots(now_ms=now_ms, **options)
    _, report = expire_snapshots(lake.catalog, table or lake.table, change, timing=timing)
    return report


def data_left(lake: Lake) -> set[str]:
    return {p.rpartition("/")[2] for p in lake.stored() if "/data/" in p}


def assert_whole(lake: Lake) -> None:
    """Everything that a snapshot needs is there."""
    for snapshot in lake.metadata.snapshots:
        for file in live_files(lake.catalog.storage, lake.metadata, snapshot).values():
            assert lake.catalog.storage.exists(file["file_path"])


def test_files_that_only_expired_snapshots_needed_are_deleted(lake: Lake) -> None:
    append(lake, "a", "b")
    delete(lake, "a")
    append(lake, "c")
    before = lake.stored()
    report = expire(lake)
    assert len(report.snapshot_ids) == 2
    assert [p.rpartition("/")[2] for p in report.files.data_files] == ["a"]
    assert len(report.files.manifest_lists) == 2
    assert report.failures == ()
    assert data_left(lake) == {"b", "c"}
    # Index files lie beside the table.
    assert len(report.files.index_files) == 2
    assert before - lake.stored() == set(report.files.paths()) - set(report.files.index_files)
    assert_whole(lake)


def test_a_tag_keeps_the_files_of_its_snapshot(lake: Lake) -> None:
    first = append(lake, "a")
    assert first is not None
    run(lake, SetRef(name="keep", ref=tag(first)))
    delete(lake, "a")
    append(lake, "b")
    report = expire(lake)
    assert len(report.snapshot_ids) == 1
    assert data_left(lake) == {"a", "b"}
    assert_whole(lake)


def test_a_file_that_was_added_again_stays(lake: Lake) -> None:
    append(lake, "a")
    delete(lake, "a")
    run(lake, Append(files=data_files(at(lake, "a"))))
    expire(lake)
    assert data_left(lake) == {"a"}


def test_a_puffin_file_stays_while_one_of_its_vectors_is_needed(lake: Lake) -> None:
    append(lake, "a", "b")
    lake.catalog.storage.write_new(at(lake, "dv.puffin"), b"vectors")
    run(lake, RowDelta(files=vectors(at(lake, "dv.puffin"), at(lake, "a"), at(lake, "b"))))
    delete(lake, "a")
    expire(lake)
    assert data_left(lake) == {"b", "dv.puffin"}
    delete(lake, "b")
    append(lake, "c")
    report = expire(lake)
    assert [p.rpartition("/")[2] for p in report.files.delete_files] == ["dv.puffin"]
    assert data_left(lake) == {"c"}


def test_statistics_of_expired_snapshots_go_and_those_of_kept_ones_stay(lake: Lake) -> None:
    snapshots = [append(lake, name) for name in ("a", "b")]
    for i, snapshot_id in enumerate(snapshots):
        assert snapshot_id is not None
        puffin, parquet = at(lake, f"{i}.stats"), at(lake, f"{i}.parquet")
        lake.catalog.storage.write_new(puffin, b"")
        lake.catalog.storage.write_new(parquet, b"")
        table = StatisticsFile(
            snapshot_id=snapshot_id, statistics_path=puffin, file_size_in_bytes=0, file_footer_size_in_bytes=0
        )
        partition = PartitionStatisticsFile(snapshot_id=snapshot_id, statistics_path=parquet, file_size_in_bytes=0)
        run(lake, UpdateStatistics(set_table=[table], set_partition=[partition]))
    report = expire(lake)
    assert {p.rpartition("/")[2] for p in report.files.statistics_files} == {"0.stats", "0.parquet"}
    assert data_left(lake) == {"a", "b", "1.stats", "1.parquet"}


def test_nothing_to_expire_is_no_commit(lake: Lake) -> None:
    append(lake, "a")
    published = lake.catalog.published
    assert expire(lake) == ExpiryReport()
    assert lake.catalog.published == published


def test_a_dry_run_tells_the_same_and_changes_nothing(lake: Lake) -> None:
    append(lake, "a")
    delete(lake, "a")
    append(lake, "b")
    stored, table = lake.stored(), lake.table
    planned = plan_expiry(lake.catalog, table, ExpireSnapshots(), now_ms=LATER_MS)
    assert (lake.stored(), lake.table) == (stored, table)
    assert planned == expire(lake)


def test_snapshots_by_id_expire_alone_whatever_their_age(lake: Lake) -> None:
    first, second = append(lake, "a"), append(lake, "b")
    append(lake, "c")
    assert expire(lake, snapshot_ids=(second,)).snapshot_ids == (second,)
    assert first in lake.metadata.snapshots_by_id
    assert data_left(lake) == {"a", "b", "c"}


def test_a_snapshot_that_a_ref_points_to_is_not_expired_by_id(lake: Lake) -> None:
    first = append(lake, "a")
    with pytest.raises(InvalidInput, match="main"):
        expire(lake, snapshot_ids=(first,))
    with pytest.raises(NotFound, match="Snapshots"):
        expire(lake, snapshot_ids=(404,))


def test_older_than_and_retain_last_stand_in_for_properties_not_for_rules_of_refs(lake: Lake) -> None:
    ids = [append(lake, name) for name in "abcd"]
    times = [s.timestamp_ms for s in lake.metadata.snapshots]
    assert expire(lake, now_ms=times[-1], older_than_ms=times[1]).snapshot_ids == (ids[0],)
    assert expire(lake, retain_last=2).snapshot_ids == (ids[1],)
    assert ids[3] is not None
    kept = SnapshotRef(snapshot_id=ids[3], type=RefType.BRANCH, min_snapshots_to_keep=2)
    run(lake, SetRef(name="main", ref=kept))
    assert expire(lake, retain_last=1).snapshot_ids == ()
    with pytest.raises(InvalidInput, match="at least"):
        expire(lake, retain_last=0)


def test_old_refs_go_and_what_only_they_kept(lake: Lake) -> None:
    first = append(lake, "a")
    assert first is not None
    run(lake, SetRef(name="old", ref=tag(first, max_ref_age_ms=1)))
    delete(lake, "a")
    append(lake, "b")
    assert expire(lake).refs == ("old",)
    assert data_left(lake) == {"b"}


def test_a_tag_that_comes_meanwhile_keeps_its_snapshot(lake: Lake) -> None:
    first = append(lake, "a")
    assert first is not None
    delete(lake, "a")
    append(lake, "b")
    lake.catalog.before_publish.append(lambda: run(lake, SetRef(name="late", ref=tag(first))))
    report = expire(lake)
    assert first not in report.snapshot_ids
    assert data_left(lake) == {"a", "b"}
    assert_whole(lake)


def test_a_commit_that_comes_meanwhile_keeps_its_files(lake: Lake) -> None:
    append(lake, "a")
    append(lake, "b")
    lake.catalog.before_publish.append(lambda: append(lake, "c"))
    expire(lake)
    assert data_left(lake) == {"a", "b", "c"}
    assert set(lake.live()) == {at(lake, n) for n in "abc"}
    assert_whole(lake)


def test_after_an_unknown_outcome_nothing_is_deleted(lake: Lake) -> None:
    append(lake, "a")
    delete(lake, "a")
    append(lake, "b")
    stored = lake.stored()

    def lose() -> None:
        raise CommitOutcomeUnknown("Cannot tell.")

    lake.catalog.before_publish.append(lose)
    with pytest.raises(CommitOutcomeUnknown):
        expire(lake)
    assert lake.stored() >= stored


def test_after_a_rejection_nothing_is_deleted(lake: Lake) -> None:
    append(lake, "a")
    delete(lake, "a")
    append(lake, "b")
    run(lake, UpdateProperties(updates={"commit.retry.num-retries": "0"}))
    stored = lake.stored()

    def reject() -> None:
        raise CommitRejected("Cannot commit.")

    lake.catalog.before_publish.append(reject)
    with pytest.raises(CommitRejected):
        expire(lake)
    assert lake.stored() == stored


def test_files_that_cannot_be_deleted_are_told_and_the_table_is_whole(lake: Lake) -> None:
    append(lake, "a")
    delete(lake, "a")
    append(lake, "b")
    storage = lake.catalog.storage
    lake.catalog.storage = FaultyStorage(storage, [Fault(number=1, kinds=frozenset({"delete_many"}))])
    report = expire(lake)
    assert len(report.failures) == 1
    assert "data files" in report.failures[0]
    assert data_left(lake) == {"a", "b"}
    assert_whole(lake)


def test_a_manifest_that_cannot_be_read_stops_the_clean_up_not_the_expiry(lake: Lake) -> None:
    append(lake, "a")
    delete(lake, "a")
    append(lake, "b")
    stored = lake.stored()
    storage = FaultyStorage(lake.catalog.storage)
    table = lake.table
    # A process that has nothing in memory must read what is kept; it is gone.
    broken = replace(table.metadata.snapshots[-1], manifest_list=at(lake, "nowhere.avro"))
    metadata = replace(table.metadata, snapshots=(*table.metadata.snapshots[:-1], broken))
    lake.catalog.storage = storage
    lake.catalog.tables[TABLE] = replace(table, metadata=metadata)
    report = expire(lake)
    assert len(report.snapshot_ids) == 2
    assert "none was deleted" in report.failures[0]
    assert stored <= lake.stored()


def test_a_table_whose_files_others_share_is_refused(lake: Lake) -> None:
    append(lake, "a")
    run(lake, UpdateProperties(updates={"gc.enabled": "false"}))
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        expire(lake)


@pytest.mark.parametrize("is_enabled", [True, False])
def test_metadata_files_that_the_log_forgets_are_deleted_if_the_table_says_so(lake: Lake, is_enabled: bool) -> None:
    enabled = {"write.metadata.delete-after-commit.enabled": str(is_enabled).lower(), PREVIOUS_VERSIONS_MAX: "2"}
    run(lake, UpdateProperties(updates=enabled))
    before = metadata_files(lake)
    for name in "abcd":
        append(lake, name)
    remembered = {e.metadata_file for e in lake.metadata.metadata_log} | {lake.table.metadata_location}
    assert len(remembered) == 3
    # The file that fell out of the log with the property's own commit stays: the table did not say so then.
    assert (metadata_files(lake) - before <= remembered) == is_enabled


def metadata_files(lake: Lake) -> set[str]:
    return {p for p in lake.stored() if p.endswith(".metadata.json")}


def test_after_an_expiry_only_needed_files_are_left(lake: Lake) -> None:
    names: Sequence[str] = "abcdef"
    for name in names:
        append(lake, name)
    delete(lake, "a", "c")
    append(lake, "g")
    expire(lake)
    # The log still remembers versions with the expired snapshots: their files count as needed only if they exist.
    assert lake.stored() <= needed_paths(lake.table, lake.catalog.storage)
