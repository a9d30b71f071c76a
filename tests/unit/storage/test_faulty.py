"""Faults happen where they were asked for, once, and lose the call or its answer."""

from __future__ import annotations

import pytest

from skipstone.storage import MemoryStorage
from skipstone.storage.faulty import Call, Fault, FaultyStorage, InjectedFault


def test_calls_are_counted_by_kind_and_path() -> None:
    storage = FaultyStorage(MemoryStorage())
    storage.write_new("/x", b"1")
    storage.exists("/x")
    storage.delete_many(["/x", "/y"])
    assert storage.calls == [
        Call(kind="write_new", path="/x"),
        Call(kind="exists", path="/x"),
        Call(kind="delete_many", path="/x"),
    ]


def test_a_call_that_fails_before_does_nothing() -> None:
    storage = FaultyStorage(MemoryStorage(), [Fault(number=2)])
    storage.write_new("/x", b"1")
    with pytest.raises(InjectedFault, match="write_new /y"):
        storage.write_new("/y", b"1")
    storage.write_new("/z", b"1")
    assert [info.path for info in storage.list("/")] == ["/x", "/z"]
    assert storage.faults_ahead == 0


def test_a_lost_answer_is_of_a_call_that_was_done() -> None:
    storage = FaultyStorage(MemoryStorage(), [Fault(number=1, is_answer_lost=True)])
    with pytest.raises(InjectedFault):
        storage.write_new("/x", b"1")
    assert storage.read("/x") == b"1"


@pytest.mark.parametrize("is_answer_lost", [False, True])
def test_a_created_file_fails_before_or_after(is_answer_lost: bool) -> None:
    storage = FaultyStorage(MemoryStorage(), [Fault(number=1, is_answer_lost=is_answer_lost)])
    with pytest.raises(InjectedFault), storage.create("/x") as stream:
        stream.write(b"1")
    assert storage.exists("/x") == is_answer_lost


def test_only_calls_of_the_named_kinds_count() -> None:
    storage = FaultyStorage(MemoryStorage(), [Fault(number=2, kinds=frozenset({"write_new", "delete"}))])
    storage.write_new("/x", b"1")
    storage.exists("/x")
    storage.read("/x")
    with pytest.raises(InjectedFault):
        storage.delete("/x")
    storage.delete("/x")


def test_a_new_plan_counts_anew() -> None:
    storage = FaultyStorage(MemoryStorage(), [Fault(number=5)])
    storage.exists("/x")
    storage.plan([Fault(number=1), Fault(number=2)])
    for _ in range(2):
        with pytest.raises(InjectedFault):
            storage.exists("/x")
    assert not storage.exists("/x")
