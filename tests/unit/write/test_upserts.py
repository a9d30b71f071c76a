"""Upserts by equality deletes: the table is not read, and reads the same as after a merge."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone.errors import CommitRejected, InvalidInput

COLUMNS = [("id", "long"), ("day", "date"), ("v", "string"), ("at", "int")]


def made(tmp_path: Path, mode: str = "equality-delete", version: int = 2, **options: Any) -> Any:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/{mode}.db", warehouse=str(tmp_path / mode))
    return lake.create_table("db.t", COLUMNS, format_version=version, properties={"write.upsert.mode": mode}, **options)


def row(id_: int | None, v: str, at: int | None = 0, day: int = 1) -> dict[str, Any]:
    return {"id": id_, "day": date(2024, 1, day), "v": v, "at": at}


def values(table: Any) -> list[tuple[Any, ...]]:
    rows = table.scan(columns=["id", "v"]).to_arrow().to_pylist()
    return sorted((tuple(r.values()) for r in rows), key=repr)


@pytest.mark.parametrize("version", [2, 3])
def test_both_modes_leave_the_same_rows(tmp_path: Path, version: int) -> None:
    tables = [made(tmp_path, mode, version) for mode in ("merge", "equality-delete")]
    for table in tables:
        table.upsert([row(1, "a"), row(2, "b"), row(None, "n")], on=["id"])
        table.upsert([row(2, "c"), row(3, "d"), row(None, "m")], on=["id"])
    assert values(tables[0]) == values(tables[1]) == sorted([(1, "a"), (2, "c"), (3, "d"), (None, "m")], key=repr)
    assert [t.scan().plan().deletes.num_rows for t in tables] == [0, 1]
    assert tables[1].convert_equality_deletes().rows == 2
    assert values(tables[0]) == values(tables[1])


def test_no_data_file_is_opened(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append([row(1, "a")])
    for path in (tmp_path / "equality-delete").rglob("*.parquet"):
        path.unlink()
    table.upsert([row(1, "b")], on=["id"])
    assert table.current_snapshot.summary["added-equality-deletes"] == "1"


@pytest.mark.parametrize("mode", ["merge", "equality-delete"])
def test_the_last_row_of_a_key_is_taken(tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, mode)
    rows = [row(1, "late", 3), row(1, "early", 1), row(2, "only", None), row(3, "null", None), row(3, "set", -1)]
    table.upsert(rows, on=["id"], order_by="at")
    assert values(table) == [(1, "late"), (2, "only"), (3, "set")]


@pytest.mark.parametrize("order_by", [None, "at"])
def test_rows_that_cannot_be_told_apart_are_refused(tmp_path: Path, order_by: str | None) -> None:
    table = made(tmp_path)
    with pytest.raises(InvalidInput, match="expected one row a key, got 1 rows"):
        table.upsert([row(1, "a"), row(1, "b")], on=["id"], order_by=order_by)
    assert table.current_snapshot is None


def test_an_unknown_order_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="in the order of 'when': expected one of id, day, v, at"):
        made(tmp_path).upsert([row(1, "a")], on=["id"], order_by="when")


def test_partitions_of_the_key_have_deletes_of_their_own(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["day"])
    table.upsert([row(1, "a"), row(1, "b", day=2)], on=["id", "day"])
    table.upsert([row(1, "c")], on=["id", "day"])
    assert values(table) == [(1, "b"), (1, "c")]
    assert table.scan().plan().deletes.column("spec_id").to_pylist() == [table.spec.spec_id]


def test_a_key_that_moves_between_partitions_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["day"])
    with pytest.raises(InvalidInput, match=r"may lie in several partitions \(by day\).*Add the columns to the key"):
        table.upsert([row(1, "a")], on=["id"])


def test_after_a_change_of_partitions_deletes_reach_the_older_files(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append([row(1, "a"), row(2, "b")])
    with table.update_spec() as spec:
        spec.add_term("day")
    table.upsert([row(1, "c", day=2)], on=["id"])
    table.upsert([row(2, "d", day=2)], on=["id", "day"])  # another row: the key has the day
    assert values(table) == [(1, "c"), (2, "b"), (2, "d")]


def test_v1_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a v1 table has no deletes"):
        made(tmp_path, version=1).upsert([row(1, "a")], on=["id"])


def test_unknown_modes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected one of merge, equality-delete"):
        made(tmp_path).set_properties({"write.upsert.mode": "replace"})


def test_rows_that_come_meanwhile_where_the_deletes_do_not_reach_are_a_conflict(tmp_path: Path) -> None:
    """Another spec has other partitions: the old row of the key would stay beside the new one."""
    table = made(tmp_path, partition_by=["day"])
    table.append([row(1, "a")])
    stale, other = (reloaded(tmp_path) for _ in range(2))
    other.append([row(2, "theirs")])
    stale.upsert([row(1, "b"), row(2, "b")], on=["id", "day"])
    assert values(stale) == [(1, "b"), (2, "b")], "rows of the same spec are reached"
    stale = reloaded(tmp_path)
    with other.update_spec() as spec:
        spec.add_term("bucket(4, id)")
    other.append([row(3, "theirs")])
    with pytest.raises(
        CommitRejected, match="under partition spec 1, where equality deletes under spec 0 do not reach"
    ):
        stale.upsert([row(3, "c")], on=["id", "day"])
    assert values(reloaded(tmp_path)) == [(1, "b"), (2, "b"), (3, "theirs")]


def reloaded(tmp_path: Path) -> Any:
    mode = "equality-delete"
    return skipstone.catalog(f"sqlite:///{tmp_path}/{mode}.db", warehouse=str(tmp_path / mode)).load_table("db.t")
