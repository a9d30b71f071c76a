"""A table as a stream of files: every file once, in limited portions, from where one left off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone.errors import InvalidInput, NotFound
from skipstone.table_stream import Offset, StreamSettings, TableStream


def made(tmp_path: Path, **properties: str) -> Any:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    return lake.create_table("db.t", [("id", "long"), ("p", "int")], partition_by=["p"], properties=properties)


def add(table: Any, *ids: int) -> None:
    """One file for each row."""
    table.append([{"id": i, "p": i} for i in ids])


def stream(table: Any, **settings: Any) -> TableStream:
    return TableStream(table=table, settings=StreamSettings(**settings))


def rows(stream: TableStream, start: Offset, end: Offset, filter_: str | None = None) -> list[int]:
    scan = stream.table.scan(filter_, columns=["id"])
    found = [scan.planned(p).to_arrow().column("id").to_pylist() for p in stream.plans(start, end, scan)]
    return sorted(i for part in found for i in part)


def batches(stream: TableStream, at: Offset, filter_: str | None = None) -> tuple[list[list[int]], Offset]:
    """What is read until there is nothing more, through the JSON that checkpoints keep."""
    found = []
    while (end := Offset.from_json(stream.latest(at).to_json())) != at:
        found.append(rows(stream, at, end, filter_))
        at = end
    return found, at


def test_the_table_comes_first_and_then_what_is_added(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, 1, 2, 3)
    table.delete("id = 2")
    followed = stream(table)
    first, at = batches(followed, followed.initial())
    add(table, 4, 5)
    table.rewrite_manifests()
    add(table, 6)
    more, end = batches(followed, at)
    assert (first, more) == ([[1, 3]], [[4, 5, 6]])
    assert batches(followed, end) == ([], end)


def test_an_empty_table_is_followed_from_its_first_rows(tmp_path: Path) -> None:
    table = made(tmp_path)
    followed = stream(table)
    start = followed.initial()
    assert batches(followed, start) == ([], start)
    add(table, 1)
    assert batches(followed, start)[0] == [[1]]


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        ({"max_files": 2}, [2, 2, 2, 1]),
        ({"max_files": 3}, [3, 3, 1]),
        ({"max_rows": 4}, [4, 3]),
        ({"max_rows": 1, "max_files": 5}, [1] * 7),
    ],
)
def test_batches_are_limited_and_together_everything(tmp_path: Path, limits: Any, sizes: list[int]) -> None:
    table = made(tmp_path)
    add(table, 1, 2, 3)
    followed = stream(table, **limits)
    start = followed.initial()
    add(table, 4, 5, 6)
    add(table, 7)
    found, _ = batches(followed, start)
    assert [len(b) for b in found] == sizes
    assert sorted(i for b in found for i in b) == [1, 2, 3, 4, 5, 6, 7]


def test_a_file_larger_than_the_limit_is_a_batch(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append([{"id": i, "p": 0} for i in range(10)])
    followed = stream(table, max_rows=3)
    assert [len(b) for b in batches(followed, followed.initial())[0]] == [10]


def test_a_filter_does_not_move_positions(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, 1, 2, 3, 4, 5, 6)
    followed = stream(table, max_files=2)
    found, _ = batches(followed, followed.initial(), "id >= 3 AND id < 6")
    assert len(found) == 3
    assert sorted(i for b in found for i in b) == [3, 4, 5]


def test_a_batch_that_is_read_again_is_the_same(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, 1, 2, 3)
    followed = stream(table, max_files=2)
    start = followed.initial()
    end = followed.latest(start)
    before = rows(followed, start, end)
    add(table, 4)
    table.build_index()
    assert rows(stream(table), start, end) == before
    assert len(before) == 2


def test_a_stream_in_the_middle_of_a_snapshot_goes_on_there(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, 1, 2, 3)
    at = stream(table, max_files=1).latest(stream(table).initial())
    add(table, 4, 5)
    found, _ = batches(stream(table, max_files=3), at)
    assert [len(b) for b in found] == [3, 1]
    later = Offset(snapshot_id=table.current_snapshot.snapshot_id, position=1, is_whole=True)
    with pytest.raises(InvalidInput, match="at the beginning of a stream only"):
        rows(stream(table), at, later)


def test_streams_begin_where_they_are_told_to(tmp_path: Path) -> None:
    table = made(tmp_path)
    for i in (1, 2, 3):
        add(table, i)
    ids = [s.snapshot_id for s in table.snapshots]
    times = [s.timestamp_ms for s in table.snapshots]
    for settings, expected in (
        ({"after_snapshot_id": ids[0]}, [2, 3]),
        ({"after_snapshot_id": ids[2]}, []),
        ({"from_timestamp_ms": 0}, [1, 2, 3]),
        ({"from_timestamp_ms": times[2] + 1}, []),
    ):
        followed = stream(table, **settings)
        found, at = batches(followed, followed.initial())
        assert [i for b in found for i in b] == expected
        assert batches(followed, at)[0] == []


@pytest.mark.parametrize(("change", "option"), [("delete", "skip_deletes"), ("overwrite", "skip_overwrites")])
def test_changes_of_old_rows_stop_the_stream_unless_passed_over(tmp_path: Path, change: str, option: str) -> None:
    table = made(tmp_path)
    add(table, 1, 2)
    start = Offset(snapshot_id=table.current_snapshot.snapshot_id, position=2)
    if change == "delete":
        table.delete("id = 1")
    else:
        table.overwrite([{"id": 9, "p": 1}], filter="p = 1")
    add(table, 3)
    with pytest.raises(InvalidInput, match=rf"it is {change}.*streaming-skip-{change}-snapshots"):
        batches(stream(table), start)
    assert batches(stream(table, **{option: True}), start)[0] == [[3]]


def test_an_expired_place_is_said_so(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, 1)
    at = stream(table).latest(stream(table).initial())
    add(table, 2)
    add(table, 3)
    table.expire_snapshots(snapshot_ids=[at.snapshot_id])
    with pytest.raises(NotFound, match="up to which it was read, has expired"):
        batches(stream(table), at)


def test_branches_are_followed_and_tags_are_not(tmp_path: Path) -> None:
    table = made(tmp_path)
    add(table, 1)
    table.create_branch("b")
    table.create_tag("t")
    followed = stream(table, branch="b")
    _, at = batches(followed, followed.initial())
    add(table, 2)
    table.append([{"id": 3, "p": 3}], branch="b")
    assert batches(followed, at)[0] == [[3]]
    with pytest.raises(InvalidInput, match="tags never move"):
        stream(table, branch="t").initial()


def test_offsets_of_other_sources_are_refused() -> None:
    with pytest.raises(InvalidInput, match="Use a checkpoint of this source"):
        Offset.from_json({"logOffset": 3})
