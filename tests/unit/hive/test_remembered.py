"""Answers that are given again: never once anything has been committed, by whomever."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hive import fill, statistics_of

from skipstone.hive.service import HiveService
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Message, MessageKind, api, methods
from skipstone.hive.thrift.binary import Input

CALL = Message(name="get_aggr_stats_for", kind=MessageKind.CALL, sequence=1)
OTHER_PROCESS = """
import sys
from tests.support.hive import statistics_of
from skipstone.hive.store import HiveStore
HiveStore(sys.argv[1]).put_partition_statistics("db", "t", {"p=0": [statistics_of("i", "int", 9)]}, now=1)
"""


def ask(service: HiveService, partitions: int = 3, table: str = "t") -> bytes:
    names = [f"p={number}" for number in range(partitions)]
    request = api.PartitionsStatsRequest(dbName="db", tblName=table, colNames=["i", "s"], partNames=names)
    out = bytearray()
    methods[CALL.name].arguments(request=request).write(out)
    return bytes(service.answer(CALL, Input(bytes(out))))


@pytest.fixture
def uri(tmp_path: Path) -> str:
    uri = f"sqlite:///{tmp_path}/hive.db"
    store = HiveStore(uri)
    fill(store, partitions=3)
    put(store, 1)
    store.close()
    return uri


def put(store: HiveStore, number: int) -> None:
    store.put_partition_statistics("db", "t", {"p=0": [statistics_of("i", "int", number)]}, now=1)


def test_the_same_question_is_answered_without_asking_the_tables_again(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = HiveStore(uri)
    service, asked, aggregate = HiveService(store), [], store.aggregate
    monkeypatch.setattr(store, "aggregate", lambda *a, **k: (asked.append(1), aggregate(*a, **k))[1])
    assert ask(service) == ask(service)
    assert len(asked) == 1
    assert ask(service, partitions=2) != b""
    assert len(asked) == 2
    store.close()


def test_a_commit_of_the_store_of_another_store_or_of_another_process_is_seen(uri: str) -> None:
    store, other = HiveStore(uri), HiveStore(uri)
    service = HiveService(store)
    seen = [ask(service)]
    put(store, 5)
    seen.append(ask(service))
    put(other, 7)
    seen.append(ask(service))
    subprocess.run([sys.executable, "-c", OTHER_PROCESS, uri], check=True)
    seen.append(ask(service))
    assert len(set(seen)) == 4
    assert seen[-1] == ask(HiveService(other))
    store.close()
    # The connection that watched is gone; what it had seen means nothing to the next.
    put(other, 11)
    assert ask(service) == ask(HiveService(other)) != seen[-1]


def test_a_fault_is_not_remembered(uri: str) -> None:
    store = HiveStore(uri)
    service = HiveService(store)
    assert b"Cannot find table" in ask(service, table="u")
    assert not service._remembered._answers


def test_a_database_that_does_not_tell_has_nothing_remembered() -> None:
    store = HiveStore("sqlite://")
    fill(store, partitions=3)
    put(store, 1)
    service = HiveService(store)
    before = ask(service)
    put(store, 4)
    assert store.state() is None
    assert ask(service) != before


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "drop", "add", "ask"]), st.integers(0, 2), st.integers(0, 50)),
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_what_is_remembered_is_what_would_be_computed(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:  # type: ignore[type-arg]
    uri = f"sqlite:///{tmp_path_factory.mktemp('hive')}/hive.db"
    store = HiveStore(uri)
    fill(store, partitions=3)
    service = HiveService(store)
    for kind, number, value in steps:
        name, names = f"p={number}", store.partition_names("db", "t")
        if kind == "put" and name in names:
            store.put_partition_statistics("db", "t", {name: [statistics_of("i", "int", value)]}, now=1)
        elif kind == "delete" and name in names:
            store.delete_partition_statistics("db", "t", [name])
        elif kind == "drop" and name in names:
            store.drop_partitions("db", "t", [name])
        elif kind == "add" and name not in names:
            store.add_partition_names("db", "t", [name])
        assert ask(service) == ask(HiveService(store))
    store.close()
