"""Transactions: one commit for several changes, retried, looked for after a lost answer, and never half published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.commits import TABLE, Lake, data_files, equality_deletes

from skipstone.commit import (
    Append,
    Committed,
    Delete,
    Rejected,
    RowDelta,
    Timing,
    Transaction,
    Unknown,
    UpdateProperties,
    UpdateSchema,
)
from skipstone.errors import AlreadyExists, CommitOutcomeUnknown, CommitRejected, InvalidInput, Unsupported
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.types import STRING


@pytest.fixture
def lake() -> Lake:
    lake = Lake()
    lake.create()
    return lake


def raising(error: Exception) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


def avro_files(lake: Lake) -> set[str]:
    return {p for p in lake.stored() if p.endswith(".avro")}


def test_all_changes_of_a_commit_are_published_together(lake: Lake) -> None:
    published = lake.catalog.published
    outcome = lake.commit(
        UpdateSchema(change=lambda u: u.add_column("zip", STRING)),
        Append(files=data_files("a")),
        UpdateProperties(updates={"owner": "me"}),
        Append(files=data_files("b")),
    )
    assert isinstance(outcome, Committed) and len(outcome.snapshot_ids) == 2
    assert lake.catalog.published == published + 1
    assert set(lake.live()) == {"a", "b"} and lake.metadata.properties["owner"] == "me"
    assert [s.schema_id for s in lake.metadata.snapshots] == [1, 1]
    assert [s.sequence_number for s in lake.metadata.snapshots] == [1, 2]


def test_the_transaction_shows_the_state_to_come(lake: Lake) -> None:
    transaction = Transaction(lake.catalog, lake.table)
    transaction.add(UpdateSchema(change=lambda u: u.add_column("zip", STRING)))
    assert transaction.metadata.current_schema.find("zip") is not None
    assert lake.metadata.current_schema.find("zip") is None
    transaction.commit().unwrap()
    assert lake.metadata.current_schema.find("zip") is not None
    with pytest.raises(InvalidInput, match="has ended"):
        transaction.add(Append(files=data_files("a")))


def test_a_change_that_raises_is_not_part_of_the_transaction(lake: Lake) -> None:
    transaction = Transaction(lake.catalog, lake.table)
    transaction.add(Append(files=data_files("a")))
    with pytest.raises(InvalidInput):
        transaction.add(Delete(files=["nowhere"]))
    transaction.commit().unwrap()
    assert set(lake.live()) == {"a"} and avro_files(lake) == lake.referenced()


def test_a_discarded_transaction_leaves_nothing(lake: Lake) -> None:
    before = lake.stored()
    transaction = Transaction(lake.catalog, lake.table)
    transaction.add(Append(files=data_files("a")))
    assert lake.stored() != before
    transaction.discard()
    assert lake.stored() == before


def test_no_changes_publish_nothing(lake: Lake) -> None:
    published = lake.catalog.published
    lake.commit(UpdateProperties(updates={"owner": "me"})).unwrap()
    outcome = lake.commit(UpdateProperties(updates={"owner": "me"}))
    assert isinstance(outcome, Committed) and outcome.table == lake.table
    assert lake.catalog.published == published + 1


def test_a_retry_writes_only_a_new_manifest_list(lake: Lake) -> None:
    base = lake.table
    lake.commit(Append(files=data_files("other"))).unwrap()
    before = avro_files(lake)
    writes: list[str] = []
    real = lake.catalog.storage.write_new
    lake.catalog.storage.write_new = lambda path, data: (writes.append(path), real(path, data))[1]
    outcome = lake.commit(Append(files=data_files("a", "b")), base=base)
    assert isinstance(outcome, Committed) and outcome.attempts == 2
    assert sum("-m" in path.rsplit("/", 1)[1] and "snap-" not in path for path in writes) == 1
    assert sum("/snap-" in path for path in writes) == 2
    # The list of the attempt that lost is gone.
    assert len(avro_files(lake) - before) == 2 and avro_files(lake) == lake.referenced()
    assert lake.live()["a"]["sequence_number"] == 2
    assert len(lake.sleeps) == 1


def test_a_commit_gives_up_after_as_many_retries_as_the_table_says(lake: Lake) -> None:
    lake.commit(UpdateProperties(updates={"commit.retry.num-retries": "2"})).unwrap()
    before = avro_files(lake)
    numbers = iter(range(9))

    def interfere() -> None:
        lake.catalog.before_publish.insert(0, lambda: None)
        lake.commit(UpdateProperties(updates={"n": str(next(numbers))})).unwrap()

    lake.catalog.before_publish += [interfere, interfere, interfere]
    outcome = lake.commit(Append(files=data_files("a")))
    assert isinstance(outcome, Rejected) and not outcome.is_conflict and outcome.attempts == 3
    assert len(lake.sleeps) == 2
    assert avro_files(lake) == before
    with pytest.raises(CommitRejected, match="Nothing was published"):
        outcome.unwrap()


def test_the_message_of_a_lost_race_names_who_won(lake: Lake) -> None:
    lake.commit(UpdateProperties(updates={"commit.retry.num-retries": "0"})).unwrap()
    lake.commit(Append(files=data_files("a"))).unwrap()
    base = lake.table
    lake.commit(Append(files=data_files("b"))).unwrap()
    outcome = lake.commit(Append(files=data_files("c")), base=base)
    assert isinstance(outcome, Rejected)
    assert outcome.message == (
        f"Cannot commit append to db.sales: snapshot {lake.metadata.current_snapshot_id} replaced "
        f"{base.metadata.current_snapshot_id} while staging. Nothing was published. Retry is safe."
    )


def test_a_lost_answer_of_a_commit_that_happened_is_committed(lake: Lake) -> None:
    lake.catalog.after_publish.append(raising(CommitOutcomeUnknown("The connection broke.")))
    outcome = lake.commit(Append(files=data_files("a")))
    assert isinstance(outcome, Committed) and outcome.table == lake.table
    assert set(lake.live()) == {"a"} and avro_files(lake) == lake.referenced()


def test_a_lost_answer_is_found_below_later_commits_of_others(lake: Lake) -> None:
    def others_then_lost() -> None:
        lake.commit(UpdateProperties(updates={"n": "1"})).unwrap()
        lake.commit(Append(files=data_files("other"))).unwrap()
        raise CommitOutcomeUnknown("The connection broke.")

    lake.catalog.after_publish.append(others_then_lost)
    assert isinstance(lake.commit(Append(files=data_files("a"))), Committed)
    assert set(lake.live()) == {"a", "other"}
    # Without a snapshot of its own, the commit is found in the metadata log.
    lake.catalog.after_publish.append(others_then_lost_again(lake))
    assert isinstance(lake.commit(UpdateProperties(updates={"owner": "me"})), Committed)
    assert lake.metadata.properties["owner"] == "me"


def others_then_lost_again(lake: Lake) -> Callable[[], None]:
    def run() -> None:
        lake.commit(UpdateProperties(updates={"n": "2"})).unwrap()
        lake.commit(UpdateProperties(updates={"n": "3"})).unwrap()
        raise CommitOutcomeUnknown("The connection broke.")

    return run


@pytest.mark.parametrize(
    "change", [Append(files=data_files("a")), UpdateProperties(updates={"k": "v"})], ids=["snapshot", "property"]
)
def test_a_lost_answer_of_a_commit_that_is_not_seen_is_unknown_and_deletes_nothing(lake: Lake, change: Any) -> None:
    lake.catalog.before_publish.append(raising(CommitOutcomeUnknown("The connection broke.")))
    deleted: list[str] = []
    lake.catalog.storage.delete_many = deleted.extend
    outcome = lake.commit(change)
    assert isinstance(outcome, Unknown) and deleted == []
    assert len(lake.sleeps) == 3
    with pytest.raises(CommitOutcomeUnknown, match=r"The connection broke\. No file was deleted"):
        outcome.unwrap()


def test_staged_files_survive_when_the_status_check_fails_too(lake: Lake) -> None:
    lake.catalog.after_publish.append(raising(CommitOutcomeUnknown("The connection broke.")))
    real, calls = lake.catalog.load, []

    def load(identifier: Any) -> Any:
        calls.append(identifier)
        if len(calls) < 3:
            raise OSError("no route to host")
        return real(identifier)

    base = lake.table
    lake.catalog.load = load
    outcome = lake.commit(Append(files=data_files("a")), base=base)
    assert isinstance(outcome, Committed) and len(lake.sleeps) == 2


@pytest.mark.parametrize("is_done", [True, False])
def test_patience_that_cannot_be_read_deletes_nothing_when_an_answer_is_lost(lake: Lake, is_done: bool) -> None:
    lost = raising(CommitOutcomeUnknown("The connection broke."))
    (lake.catalog.after_publish if is_done else lake.catalog.before_publish).append(lost)
    foreign = {"commit.status-check.num-retries": "few", "commit.retry.num-retries": "many"}
    told = replace(lake.metadata, properties={**lake.metadata.properties, **foreign})
    base = replace(lake.table, metadata=told)
    lake.catalog.tables[TABLE] = base
    deleted: list[str] = []
    lake.catalog.storage.delete_many = deleted.extend
    outcome = lake.commit(Append(files=data_files("a")), base=base)
    assert isinstance(outcome, Committed if is_done else Unknown) and deleted == []


def test_a_storage_that_cannot_clean_up_after_a_commit_deletes_nothing_of_it(lake: Lake) -> None:
    lake.catalog.before_publish.append(lambda: lake.commit(UpdateProperties(updates={"n": "1"})).unwrap())
    refused: list[str] = []

    def refuse(paths: Any) -> None:
        refused.extend(paths)
        raise Unsupported("Cannot delete files here.")

    base = lake.table
    lake.catalog.storage.delete_many = refuse
    lake.commit(Append(files=data_files("a")), base=base).unwrap()
    assert refused and not {*refused} & lake.referenced()
    assert set(lake.live()) == {"a"}


def test_a_storage_that_fails_while_staging_leaves_no_files(lake: Lake) -> None:
    before = lake.stored()
    real = lake.catalog.storage.write_new

    def lose_answer(path: str, data: bytes) -> None:
        real(path, data)
        if "/snap-" in path:
            raise OSError("connection reset")

    lake.catalog.storage.write_new = lose_answer
    with pytest.raises(OSError, match="connection reset"):
        lake.commit(Append(files=data_files("a")))
    assert lake.stored() == before


def test_an_interrupt_while_publishing_deletes_nothing(lake: Lake) -> None:
    lake.catalog.after_publish.append(raising(KeyboardInterrupt()))  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        lake.commit(Append(files=data_files("a")))
    assert set(lake.live()) == {"a"}


def test_a_table_replaced_under_the_same_name_is_not_committed_to(lake: Lake) -> None:
    base = lake.table
    del lake.catalog.tables[TABLE]
    lake.create()
    outcome = lake.commit(Append(files=data_files("a")), base=base)
    assert isinstance(outcome, Rejected) and "replaced by another one" in outcome.message
    assert lake.live() == {}


def test_a_table_is_created_with_its_first_rows_in_one_commit(lake: Lake) -> None:
    metadata = new_table_metadata(lake.metadata.current_schema, location="memory://lake/new", now_ms=1)
    new = Transaction.create(lake.catalog, ("db", "new"), metadata)
    new.add(Append(files=data_files("a")))
    loaded = new.commit().unwrap()
    assert loaded.metadata.current_snapshot is not None and loaded.metadata.metadata_log == ()
    again = Transaction.create(lake.catalog, ("db", "new"), metadata)
    again.add(Append(files=data_files("b")))
    with pytest.raises(AlreadyExists):
        again.commit()
    stored = {i.path for i in lake.catalog.storage.list("memory://lake/new") if i.path.endswith(".avro")}
    assert len(stored) == 2


def test_a_new_table_without_changes_is_created(lake: Lake) -> None:
    metadata = new_table_metadata(lake.metadata.current_schema, location="memory://lake/empty", now_ms=1)
    assert Transaction.create(lake.catalog, ("db", "empty"), metadata).commit().unwrap().metadata.snapshots == ()


def test_a_clock_that_runs_behind_does_not_move_the_table_back_in_time(lake: Lake) -> None:
    lake.commit(Append(files=data_files("a"))).unwrap()
    before = lake.metadata.last_updated_ms
    transaction = Transaction(lake.catalog, lake.table, timing=Timing(clock=lambda: 5))
    transaction.add(Append(files=data_files("b")))
    transaction.commit().unwrap()
    current = lake.metadata.current_snapshot
    assert current is not None and current.timestamp_ms == before == lake.metadata.last_updated_ms


def test_delete_files_of_a_row_delta_and_data_of_one_commit_get_the_same_number(lake: Lake) -> None:
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(RowDelta(files=equality_deletes("e"))).unwrap()
    assert lake.live()["e"]["sequence_number"] == 2
