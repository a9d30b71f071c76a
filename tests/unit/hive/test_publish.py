"""Our tables in the store, and statistics to and from a metastore."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.hive import every_type, fill, statistics_of

import skipstone
from skipstone.errors import NotFound
from skipstone.hive.accurate import accurate_columns, with_columns, without_columns
from skipstone.hive.catalog import open_hive_catalog
from skipstone.hive.client import HiveClient
from skipstone.hive.mirror import mirror_lake, partition_naming
from skipstone.hive.partition_names import NULL_NAME, parse_partition_name, partition_name
from skipstone.hive.publish import (
    ImportedStatistics,
    distinct_counts,
    import_statistics,
    publish_statistics,
    publish_table,
)
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.statistics import ColumnStatistics
from skipstone.hive.store import HiveStore
from skipstone.hive.types import Kind
from skipstone.lake import Lake
from skipstone.stats.labels import Accuracy


@pytest.fixture
def store() -> HiveStore:
    return HiveStore("sqlite://")


@pytest.fixture
def client(store: HiveStore) -> Iterator[HiveClient]:
    fill(store, partitions=2)
    with (
        HiveServer(HiveService(store, allow_writes=True), ServerSettings(port=0)) as server,
        HiveClient(f"thrift://127.0.0.1:{server.port}") as made,
    ):
        yield made


def test_published_statistics_are_marked_and_come_back(client: HiveClient, store: HiveStore) -> None:
    publish_statistics(client, "db", "t", every_type(), partitions={"p=1": every_type(2)})
    found = import_statistics(client, "db", "t", partitions=["p=0", "p=1"])
    assert [f.statistics for f in found if f.partition is None] == every_type()
    assert {f.partition for f in found} == {None, "p=1"}
    assert all(f.is_accurate for f in found)


def test_statistics_of_older_rows_are_stored_and_not_marked(client: HiveClient, store: HiveStore) -> None:
    publish_statistics(client, "db", "t", every_type())
    publish_statistics(client, "db", "t", [statistics_of("i", "int", 9)], is_current=False)
    found = {f.statistics.column: f for f in import_statistics(client, "db", "t")}
    assert found["i"].statistics.num_nulls == 9
    assert not found["i"].is_accurate
    assert found["s"].is_accurate


def test_what_an_analysis_found_is_published(client: HiveClient, store: HiveStore, tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "lake"))
    ours = lake.create_table("db.ours", [("I", "int"), ("ts", "timestamptz"), ("p", "int")], partition_by=["p"])
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    ours.append([{"I": 5, "ts": moment, "p": 0}, {"I": None, "ts": moment, "p": 1}, {"I": 9, "ts": None, "p": 7}])
    assert publish_table(client, ours, "db", "t") == []
    ours.analyze(partitions=partition_naming(ours.metadata))
    assert sorted(publish_table(client, ours, "db", "t")) == ["I", "ts"]
    found = {
        (f.partition, f.statistics.column): f for f in import_statistics(client, "db", "t", partitions=["p=0", "p=1"])
    }
    assert found.keys() == {(p, c) for p in (None, "p=0", "p=1") for c in ("i", "ts")}
    assert all(one.is_accurate for one in found.values())
    whole = found[None, "i"]
    assert (whole.statistics.low, whole.statistics.high, whole.statistics.num_nulls) == (5, 9, 1)
    assert found[None, "ts"].statistics.type == "timestamp"
    # Accurate or not, what a metastore says is an estimate here.
    assert {label.accuracy for label in whole.labelled().values()} == {Accuracy.ESTIMATE}
    ours.append([{"I": 100, "ts": None, "p": 0}])
    assert publish_table(client, ours, "db", "t") == []


@pytest.fixture
def theirs(client: HiveClient, tmp_path: Path) -> Iterator[Lake]:
    """A Hive catalog in the metastore that the client publishes to."""
    lake = open_hive_catalog(client.uri, warehouse=str(tmp_path / "lake"))
    yield lake
    lake.catalog.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("uses_locks", [True, False])
@pytest.mark.parametrize("moment", ["put_table_statistics", "table"])
def test_a_commit_while_statistics_are_published_is_neither_undone_nor_called_analysed(
    client: HiveClient, theirs: Lake, monkeypatch: pytest.MonkeyPatch, moment: str, uses_locks: bool
) -> None:
    ours = theirs.create_table("db.ice", [("i", "int")])
    ours.append([{"i": 1}])
    ours.analyze()
    another, calls = theirs.load_table("db.ice"), []
    done = getattr(client, moment)

    def then_another_commits(*given: Any) -> Any:
        answer = done(*given)
        calls.append(given)
        # Of the entries the one that is read after the statistics were put.
        if len(calls) == (1 if moment == "put_table_statistics" else 3):
            another.append([{"i": 100}])
        return answer

    monkeypatch.setattr(client, moment, then_another_commits)
    assert publish_table(client, ours, "db", "ice", uses_locks=uses_locks) == ["i"]
    assert sorted(row["i"] for row in theirs.load_table("db.ice").scan().to_arrow().to_pylist()) == [1, 100]
    found = import_statistics(client, "db", "ice")
    assert [one.is_accurate for one in found] == [False]


def test_statistics_of_an_older_snapshot_than_the_entrys_are_not_called_accurate(
    client: HiveClient, theirs: Lake
) -> None:
    ours = theirs.create_table("db.ice", [("i", "int")])
    ours.append([{"i": 1}])
    ours.analyze()
    theirs.load_table("db.ice").append([{"i": 100}])
    assert publish_table(client, ours, "db", "ice") == ["i"]
    assert [one.is_accurate for one in import_statistics(client, "db", "ice")] == [False]
    current = theirs.load_table("db.ice")
    current.analyze()
    assert publish_table(client, current, "db", "ice") == ["i"]
    assert [one.is_accurate for one in import_statistics(client, "db", "ice")] == [True]


def test_accuracy_is_kept_beside_what_others_wrote() -> None:
    parameters = with_columns({"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}', "a": "b"}, ["y", "x"])
    assert parameters["COLUMN_STATS_ACCURATE"] == '{"BASIC_STATS":"true","COLUMN_STATS":{"x":"true","y":"true"}}'
    assert accurate_columns(without_columns(parameters, ["x"])) == {"y"}
    assert without_columns({"COLUMN_STATS_ACCURATE": '{"COLUMN_STATS":{"x":"true"}}'}, ["x"]) == {}
    for damaged in ("", "[]", '"x"', '{"COLUMN_STATS":7}'):
        assert accurate_columns({"COLUMN_STATS_ACCURATE": damaged}) == set()


def test_our_tables_become_hives(tmp_path: Path, store: HiveStore) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "lake"))
    columns = [("id", "long"), ("state", "string"), ("ts", "timestamp"), ("Upper", "decimal(9,2)")]
    table = lake.create_table("db.t", columns, partition_by=["state", "day(ts)"])
    table.append([{"id": 1, "state": "N/Y", "ts": datetime(2026, 11, 16, 3)}])
    table.append([{"id": 2, "state": None, "ts": datetime(1969, 12, 31)}])
    mirror_lake(lake, store)
    hive = store.table("db", "t")
    assert {c.name: c.type for c in hive.columns} == {"id": "bigint", "ts": "timestamp", "Upper": "decimal(9,2)"}
    assert [(k.name, k.type) for k in hive.partition_keys] == [("state", "string"), ("ts_day", "date")]
    assert store.partition_names("db", "t") == [
        "state=N%2FY/ts_day=2026-11-16",
        f"state={NULL_NAME}/ts_day=1969-12-31",
    ]
    store.put_table_statistics("db", "t", [statistics_of("id", "bigint")], now=1)
    lake.load_table("db.t").delete("id = 2")
    mirror_lake(lake, store)
    assert store.partition_names("db", "t") == ["state=N%2FY/ts_day=2026-11-16"]
    assert [s.column for s in store.table_statistics("db", "t")] == ["id"]
    lake.drop_table("db.t")
    mirror_lake(lake, store)
    assert store.table_names("db") == []


@pytest.mark.parametrize("value", ["a", "a b", "a/b", "50%", "x=y", "ü日", 'q"uote', "it's", "#", "\x7f", "[x]", "a:b"])
def test_partition_names_are_parsed_back(value: str) -> None:
    name = partition_name(["k", "K 2"], [value, None])
    assert parse_partition_name(name) == {"k": value, "K 2": NULL_NAME}
    assert name.count("/") == 1


def test_imported_numbers_of_distinct_values_make_an_estimate_likelier_and_move_no_bound(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "lake"))
    table = lake.create_table("db.t", [("Id", "long"), ("s", "string")])
    table.append([{"Id": number % 50, "s": "x"} for number in range(1000)])
    told = ColumnStatistics(column="id", type="bigint", kind=Kind.LONG, num_nulls=0, num_distincts=50)
    of_table, of_part, of_none = (
        ImportedStatistics(statistics=told, partition=None, is_accurate=False),
        ImportedStatistics(statistics=replace(told, num_distincts=1), partition="p=1", is_accurate=True),
        ImportedStatistics(statistics=replace(told, column="gone"), partition=None, is_accurate=True),
    )
    counts = distinct_counts([of_table, of_part, of_none], table)
    assert counts == {"Id": 50}
    plain, likelier = table.estimate("Id = 7"), table.estimate("Id = 7", distinct_counts=counts)
    assert likelier.rows == 20 != plain.rows
    assert replace(likelier, rows=plain.rows, bytes=plain.bytes) == plain
    # What was analysed is better than what is told, and a lie moves no bound.
    table.analyze()
    assert table.estimate("Id = 7", distinct_counts={"Id": 1}) == table.estimate("Id = 7")
    with pytest.raises(NotFound, match="'nope'"):
        table.estimate("Id = 7", distinct_counts={"nope": 1})
