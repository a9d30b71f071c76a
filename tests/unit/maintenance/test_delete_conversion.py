"""Equality deletes become vectors or position deletes: what goes, what stays, and what others may do meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
from skipstone.commit import Replace, RowDelta
from skipstone.errors import CommitRejected
from skipstone.maintenance import convert_equality_deletes
from skipstone.write import write_equality_deletes, write_rows

COLUMNS = [("id", "long"), ("s", "string")]


def made(tmp_path: Path, version: int = 3, **options: Any) -> Any:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    properties = {"write.delete.mode": "merge-on-read", "write.delete.granularity": "file"}
    return lake.create_table("db.t", COLUMNS, format_version=version, properties=properties, **options)


def again(tmp_path: Path) -> Any:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    return lake.load_table("db.t")


def delete_ids(table: Any, *ids: int | None) -> None:
    rows = pa.table({"id": pa.array(ids, pa.int64())})
    table.apply(
        RowDelta(files=write_equality_deletes(rows, metadata=table.metadata, storage=table.storage, equality_ids=[1]))
    )


def ids(table: Any) -> list[int]:
    found: list[int] = sorted(table.scan(columns=["id"]).to_arrow().column("id").to_pylist())
    return found


def kinds(table: Any) -> list[tuple[int, str]]:
    files = table.inspect.delete_files()
    return sorted(zip(files.column("content").to_pylist(), files.column("file_format").to_pylist(), strict=True))


@pytest.mark.parametrize(("version", "kind"), [(2, (1, "PARQUET")), (3, (1, "PUFFIN"))])
def test_deletes_by_value_become_deletes_by_position(tmp_path: Path, version: int, kind: Any) -> None:
    table = made(tmp_path, version)
    table.append([{"id": i, "s": "x"} for i in range(6)])
    delete_ids(table, 1, 4)
    delete_ids(table, 77)  # deletes nothing, goes all the same
    table.append([{"id": 4, "s": "new"}])
    report = table.convert_equality_deletes()
    assert (report.equality_delete_files, report.data_files, report.rows) == (2, 1, 2)
    assert kinds(table) == [kind]
    assert ids(table) == [0, 2, 3, 4, 5]
    assert table.current_snapshot.operation == "replace"


def test_a_vector_takes_in_the_one_that_was_there(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append([{"id": i, "s": "x"} for i in range(6)])
    table.delete("id = 0")
    delete_ids(table, 0, 1)
    assert table.convert_equality_deletes().rows == 1
    assert kinds(table) == [(1, "PUFFIN")]
    assert table.scan().plan().count() == 4  # the vector says exactly how many rows it deletes


def test_keys_of_a_dropped_column_still_delete(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append([{"id": i, "s": "x"} for i in range(3)])
    delete_ids(table, 1)
    with table.update_schema() as schema:
        schema.delete_column("id")
    assert table.scan().count() == 2
    assert table.convert_equality_deletes().rows == 1
    assert table.scan().count() == 2


def test_a_table_without_such_deletes_stays_as_it_is(tmp_path: Path) -> None:
    table = made(tmp_path, 1)
    assert table.convert_equality_deletes().equality_delete_files == 0
    table.append([{"id": 1, "s": "x"}])
    before = table.current_snapshot.snapshot_id
    assert table.convert_equality_deletes().rows == 0
    assert table.current_snapshot.snapshot_id == before


def test_only_the_branch_is_converted(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append([{"id": i, "s": "x"} for i in range(3)])
    delete_ids(table, 1)
    table.create_branch("b")
    table.convert_equality_deletes(branch="b")
    assert table.scan(ref="b").plan().deletes.column("content").to_pylist() == [1]
    assert table.scan().plan().deletes.column("content").to_pylist() == [2]


def test_equality_deletes_that_come_meanwhile_stay(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append([{"id": i, "s": "x"} for i in range(4)])
    delete_ids(table, 1)
    change, _ = convert_equality_deletes(table.metadata, table.storage, ref="main")
    delete_ids(again(tmp_path), 2)
    table.apply(change)
    assert [content for content, _ in kinds(table)] == [1, 2]
    assert ids(table) == [0, 3]


@pytest.mark.parametrize("what", ["vector", "rewrite"])
def test_another_change_of_the_same_file_is_a_conflict(tmp_path: Path, what: str) -> None:
    table = made(tmp_path)
    table.append([{"id": i, "s": "x"} for i in range(4)])
    delete_ids(table, 1)
    change, _ = convert_equality_deletes(table.metadata, table.storage, ref="main")
    other = again(tmp_path)
    if what == "vector":
        other.delete("id = 3")
    else:
        rows = other.scan().to_arrow()
        paths = other.scan().plan().files.column("file_path").to_pylist()
        files = write_rows(rows, metadata=other.metadata, storage=other.storage)
        other.apply(Replace(files=files, remove_files=paths))
    expected = ids(other)
    with pytest.raises(CommitRejected, match="Cannot commit conversion of deletes"):
        table.apply(change)
    assert ids(table.refresh()) == expected
    table.convert_equality_deletes()
    assert ids(table) == expected


def test_compaction_that_began_before_the_deletes_cannot_bring_rows_back(tmp_path: Path) -> None:
    """Its files keep an old sequence number and count on the equality deletes that are no longer there."""
    table = made(tmp_path)
    table.append([{"id": i, "s": "x"} for i in range(4)])
    early = again(tmp_path)
    files = write_rows(early.scan().to_arrow(), metadata=early.metadata, storage=early.storage)
    compaction = Replace(
        files=files,
        remove_files=early.scan().plan().files.column("file_path").to_pylist(),
        data_sequence_number=early.metadata.last_sequence_number,
    )
    delete_ids(table, 1)
    table.convert_equality_deletes()
    with pytest.raises(CommitRejected):
        early.apply(compaction)
    assert ids(table.refresh()) == [0, 2, 3]
