"""What others commit meanwhile: what each operation tolerates and what it rejects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.commits import SCHEMA, Lake, data_files, equality_deletes, position_deletes, vectors

from skipstone.commit import (
    Append,
    Change,
    Committed,
    Delete,
    Isolation,
    Overwrite,
    Rejected,
    Replace,
    ReplacePartitions,
    RowDelta,
    SetRef,
)
from skipstone.metadata.tables.refs import branch
from skipstone.predicate import as_predicate, bind


def where(text: str) -> Any:
    return bind(as_predicate(text), SCHEMA)


CA, WA = {"state": "CA"}, {"state": "WA"}


def start(version: int = 2) -> Lake:
    """Two partitions, a file in each: `ca` with ids 1 to 5 and `wa` with ids 6 to 9."""
    lake = Lake()
    lake.create(format_version=version, partition_by=["state"])
    lake.commit(Append(files=data_files("ca", ids=(1, 5), **CA))).unwrap()
    lake.commit(Append(files=data_files("wa", ids=(6, 9), **WA))).unwrap()
    return lake


def race(lake: Lake, ours: Change, *theirs: Change) -> Any:
    """Commit ours from a base that theirs have left behind."""
    base = lake.table
    for change in theirs:
        lake.commit(change).unwrap()
    return lake.commit(ours, base=base)


def overwrite(**more: Any) -> Overwrite:
    return Overwrite(files=data_files("ca2", **CA), remove_files=["ca"], **more)


NEW_CA = data_files("ca9", ids=(2, 3), **CA)
NEW_WA = data_files("wa9", ids=(7, 8), **WA)
COMPACT_CA = Replace(files=data_files("ca-compact", ids=(1, 5), **CA), remove_files=["ca"], data_sequence_number=1)

CASES: list[tuple[str, int, Callable[[], Change], Callable[[], Change], str | None]] = [
    ("append after anything", 2, lambda: Append(files=NEW_CA), lambda: Delete(files=["ca"]), None),
    ("delete of a file that went", 2, lambda: Delete(files=["ca"]), lambda: overwrite(), "data file ca was removed"),
    ("delete by filter after an append", 2, lambda: Delete(predicate=where("state = 'CA'")),
     lambda: Append(files=NEW_CA), None),
    ("replace of a file that went", 2, lambda: COMPACT_CA, lambda: Delete(files=["ca"]), "data file ca was removed"),
    ("replace under new position deletes", 2, lambda: COMPACT_CA,
     lambda: RowDelta(files=position_deletes("d", "ca", **CA)), "delete file d was added meanwhile"),
    ("replace under position deletes of another file", 2, lambda: COMPACT_CA,
     lambda: RowDelta(files=position_deletes("d", "wa", **WA)), None),
    ("replace under a new vector", 3, lambda: COMPACT_CA, lambda: RowDelta(files=vectors("p", "ca", **CA)),
     "delete file p was added meanwhile"),
    ("replace that keeps numbers under equality deletes", 2, lambda: COMPACT_CA,
     lambda: RowDelta(files=equality_deletes("e", **CA)), None),
    ("replace with new numbers under equality deletes", 2,
     lambda: Replace(files=data_files("x", **CA), remove_files=["ca"]),
     lambda: RowDelta(files=equality_deletes("e", **CA)), "delete file e was added meanwhile"),
    ("overwrite of files under equality deletes elsewhere", 2, lambda: overwrite(),
     lambda: RowDelta(files=equality_deletes("e", **WA)), None),
    ("overwrite of files under equality deletes", 2, lambda: overwrite(),
     lambda: RowDelta(files=equality_deletes("e", **CA)), "delete file e was added meanwhile"),
    ("serializable overwrite and rows it would have seen", 2, lambda: overwrite(conflict_filter=where("id < 6")),
     lambda: Append(files=NEW_CA), "data file ca9 was added meanwhile and may hold rows where id < 6"),
    ("serializable overwrite and rows it would not have seen", 2, lambda: overwrite(conflict_filter=where("id < 6")),
     lambda: Append(files=NEW_WA), None),
    ("snapshot overwrite and new rows", 2,
     lambda: overwrite(conflict_filter=where("id < 6"), isolation=Isolation.SNAPSHOT),
     lambda: Append(files=NEW_CA), None),
    ("serializable overwrite by filter and new rows", 2,
     lambda: Overwrite(files=data_files("n", **CA), predicate=where("state = 'CA'")), lambda: Append(files=NEW_CA),
     "data file ca9 was added meanwhile"),
    ("serializable overwrite and a compaction, which adds no rows", 2,
     lambda: Overwrite(files=data_files("n", **WA), remove_files=["wa"], conflict_filter=where("state = 'WA'")),
     lambda: COMPACT_CA, None),
    ("overwrite by filter and new deletes", 2,
     lambda: Overwrite(files=data_files("n", **CA), predicate=where("state = 'CA'"), isolation=Isolation.SNAPSHOT),
     lambda: RowDelta(files=equality_deletes("e", **CA)), "delete file e was added meanwhile and may delete rows"),
    ("row delta for a file that went", 3, lambda: RowDelta(files=vectors("p", "ca", **CA)),
     lambda: Delete(files=["ca"]), "data file ca, which new deletes point to, was removed"),
    ("row delta for a compacted file", 2, lambda: RowDelta(files=position_deletes("d", "ca", **CA)),
     lambda: COMPACT_CA, "data file ca, which new deletes point to, was removed"),
    ("row delta and another vector for the file", 3, lambda: RowDelta(files=vectors("p", "ca", **CA)),
     lambda: RowDelta(files=vectors("q", "ca", **CA)), "data file ca was given another deletion vector"),
    ("row delta and a vector for another file", 3, lambda: RowDelta(files=vectors("p", "ca", **CA)),
     lambda: RowDelta(files=vectors("q", "wa", **WA)), None),
    ("two position deletes for one file", 2, lambda: RowDelta(files=position_deletes("d", "ca", **CA)),
     lambda: RowDelta(files=position_deletes("f", "ca", **CA)), None),
    ("serializable row delta and new rows", 2,
     lambda: RowDelta(files=position_deletes("d", "ca", **CA), conflict_filter=where("id = 3")),
     lambda: Append(files=NEW_CA), "data file ca9 was added meanwhile"),
    ("serializable row delta and rows elsewhere", 2,
     lambda: RowDelta(files=position_deletes("d", "ca", **CA), conflict_filter=where("id = 3")),
     lambda: Append(files=NEW_WA), None),
    ("replaced partitions, last writer wins", 2, lambda: ReplacePartitions(files=data_files("n", **CA)),
     lambda: Append(files=NEW_CA), None),
    ("serializable replaced partitions and new rows there", 2,
     lambda: ReplacePartitions(files=data_files("n", **CA), isolation=Isolation.SERIALIZABLE),
     lambda: Append(files=NEW_CA), "data file ca9 was added meanwhile to a partition"),
    ("serializable replaced partitions and new rows elsewhere", 2,
     lambda: ReplacePartitions(files=data_files("n", **CA), isolation=Isolation.SERIALIZABLE),
     lambda: Append(files=NEW_WA), None),
    ("snapshot replaced partitions and new deletes there", 2,
     lambda: ReplacePartitions(files=data_files("n", **CA), isolation=Isolation.SNAPSHOT),
     lambda: RowDelta(files=equality_deletes("e", **CA)), "delete file e was added meanwhile to a partition"),
    ("snapshot replaced partitions and rows deleted there by files", 2,
     lambda: ReplacePartitions(files=data_files("n", **CA), isolation=Isolation.SNAPSHOT),
     lambda: Delete(files=["ca"]), "data file ca of a partition that the change replaces was removed meanwhile"),
    ("snapshot replaced partitions and rows deleted elsewhere by files", 2,
     lambda: ReplacePartitions(files=data_files("n", **CA), isolation=Isolation.SNAPSHOT),
     lambda: Delete(files=["wa"]), None),
    ("replaced partitions, last writer wins, and rows deleted there", 2,
     lambda: ReplacePartitions(files=data_files("n", **CA)), lambda: Delete(files=["ca"]), None),
]  # fmt: skip


@pytest.mark.parametrize(("version", "ours", "theirs", "conflict"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_race(version: int, ours: Callable[[], Change], theirs: Callable[[], Change], conflict: str | None) -> None:
    lake = start(version)
    outcome = race(lake, ours(), theirs())
    if conflict is None:
        assert isinstance(outcome, Committed), outcome
        assert outcome.attempts == 2
    else:
        assert isinstance(outcome, Rejected), outcome
        assert outcome.is_conflict and conflict in outcome.message
        assert "Nothing was published" in outcome.message
    # Either way nothing is left behind that no snapshot names.
    assert {p for p in lake.stored() if p.endswith(".avro")} == lake.referenced()


def test_a_rollback_meanwhile_is_a_conflict_for_what_must_know_the_history() -> None:
    lake = start()
    first = lake.metadata.snapshots[0].snapshot_id
    base = lake.table
    lake.commit(SetRef(name="main", ref=branch(first))).unwrap()
    outcome = lake.commit(
        Overwrite(files=data_files("n", **CA), remove_files=["ca"], conflict_filter=where("true")), base=base
    )
    assert isinstance(outcome, Rejected) and "does not follow from snapshot" in outcome.message
    assert isinstance(lake.commit(Append(files=NEW_CA), base=base), Committed)


def test_a_delete_by_filter_that_meets_a_partly_matching_new_file_publishes_nothing() -> None:
    lake = start()
    before = lake.table
    lake.commit(Append(files=data_files("mixed", ids=(1, 9), **CA))).unwrap()
    published = lake.catalog.published
    outcome = lake.commit(Delete(predicate=where("id <= 5")), base=before)
    assert isinstance(outcome, Rejected) and outcome.is_conflict
    assert lake.catalog.published == published and set(lake.live()) == {"ca", "wa", "mixed"}


def test_commits_to_different_branches_do_not_conflict() -> None:
    lake = start()
    base = lake.table
    lake.commit(Append(files=NEW_CA, ref="audit")).unwrap()
    lake.commit(overwrite(conflict_filter=where("true")), base=base).unwrap()
    assert set(lake.live()) == {"ca2", "wa"}
    assert set(lake.live("audit")) == {"ca", "wa", "ca9"}
