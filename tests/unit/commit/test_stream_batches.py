"""A batch of a stream is in the table once, however often and by whomever it is tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone.errors import CommitRejected, InvalidInput
from skipstone.stream_batches import Batch, BatchTable, Once

ROWS = [{"id": 1}, {"id": 2}]


def opened(tmp_path: Path) -> Any:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    if not lake.list_namespaces() or not lake.table_exists("db.t"):
        return lake.create_table("db.t", [("id", "long")], format_version=2)
    return lake.load_table("db.t")


def add(table: Any, batch_id: int, query_id: str = "q", rows: Any = ROWS) -> bool:
    with Once(table, Batch(query_id=query_id, batch_id=batch_id)) as target:
        if target is not None:
            target.append(rows)
    return target is not None


def test_a_batch_is_added_once(tmp_path: Path) -> None:
    table = opened(tmp_path)
    assert [add(table, 0), add(table, 0), add(opened(tmp_path), 0), add(table, 1)] == [True, False, False, True]
    assert table.scan().count() == 4
    assert table.properties["skipstone.stream.q"] == "1"
    assert table.current_snapshot.summary["skipstone.stream.batch-id"] == "1"


def test_queries_do_not_know_each_other(tmp_path: Path) -> None:
    table = opened(tmp_path)
    assert add(table, 5, "a") and add(table, 0, "b")
    assert table.scan().count() == 4


def test_rows_and_mark_come_together_or_not_at_all(tmp_path: Path) -> None:
    table = opened(tmp_path)
    with pytest.raises(InvalidInput):
        add(table, 0, rows=[{"id": "text"}])
    assert "skipstone.stream.q" not in table.refresh().properties
    assert add(table, 0)


def test_two_runs_of_one_query_add_a_batch_once(tmp_path: Path) -> None:
    table, other = opened(tmp_path), opened(tmp_path)
    batch = Batch(query_id="q", batch_id=0)
    with Once(table, batch) as target:
        add(other, 0)  # faster
        assert target is not None
        target.append(ROWS)
    assert table.scan().count() == 2
    with pytest.raises(CommitRejected, match="batch 0 of query q is in the table"):
        BatchTable(table, batch).append(ROWS)


def test_another_writer_does_not_disturb(tmp_path: Path) -> None:
    table, other = opened(tmp_path), opened(tmp_path)
    with Once(table, Batch(query_id="q", batch_id=0)) as target:
        other.append(ROWS)
        assert target is not None
        target.append(ROWS)
    assert table.scan().count() == 4


@pytest.mark.parametrize("verb", ["append", "overwrite"])
def test_an_empty_batch_is_noted_without_a_snapshot(tmp_path: Path, verb: str) -> None:
    table = opened(tmp_path)
    with Once(table, Batch(query_id="q", batch_id=0)) as target:
        getattr(target, verb)([])
    assert table.current_snapshot is None
    assert not add(table, 0)


def test_an_empty_batch_replaces_all_rows_by_none(tmp_path: Path) -> None:
    table = opened(tmp_path)
    table.append(ROWS)
    with Once(table, Batch(query_id="q", batch_id=0)) as target:
        assert target is not None
        target.overwrite([])
    assert table.scan().count() == 0


def test_a_batch_replaces_all_rows(tmp_path: Path) -> None:
    table = opened(tmp_path)
    for batch_id in (0, 1, 1):
        with Once(table, Batch(query_id="q", batch_id=batch_id)) as target:
            if target is not None:
                target.overwrite(ROWS)
    assert table.scan().count() == 2


def test_changes_of_structure_are_no_batch(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected a change of rows"):
        BatchTable(opened(tmp_path), Batch(query_id="q", batch_id=0)).set_properties({"a": "b"})


@pytest.mark.parametrize(("query_id", "batch_id"), [("", 0), ("q", -1)])
def test_batches_that_cannot_be_are_refused(query_id: str, batch_id: int) -> None:
    with pytest.raises(InvalidInput, match="expected a number from 0 and an id"):
        Batch(query_id=query_id, batch_id=batch_id)


def test_the_mark_is_a_number(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected the number of a batch"):
        opened(tmp_path).set_properties({"skipstone.stream.q": "last"})
