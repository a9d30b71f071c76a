"""Eight processes that commit to one table at once: what was acknowledged is there, once, and nothing else.

On SQLite and on PostgreSQL. Writers append rows, delete rows of their own (deletion vectors) and add columns.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.writers import DEADLINE_SECONDS, NAME, Acknowledged, Place, commit_many, processes

from skipstone import Table

WRITERS = 8
COMMITS = 50
SEED = 20261116
COLUMNS = [("writer", "long not null"), ("id", "long not null")]
PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "commit.retry.num-retries": "100",
    "commit.retry.min-wait-ms": "20",
    "commit.retry.max-wait-ms": "1000",
}


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        uri = f"sqlite:///{tmp_path}/catalog.db"
    else:
        uri = request.getfixturevalue("postgres_uri")
    return Place(uri=uri, warehouse=str(tmp_path / "lake"))


def run_writers(place: Place) -> list[Acknowledged]:
    context = processes()
    results = context.Queue()
    started = [
        context.Process(target=commit_many, args=(place, writer, COMMITS, SEED, results)) for writer in range(WRITERS)
    ]
    for process in started:
        process.start()
    try:
        return [results.get(timeout=DEADLINE_SECONDS) for _ in started]
    finally:
        for process in started:
            process.join(timeout=10)
            if process.is_alive():
                process.kill()


def test_every_acknowledged_commit_is_in_the_history_and_every_row_is_there_once(place: Place) -> None:
    lake = place.open()
    lake.create_table(NAME, COLUMNS, format_version=3, properties=PROPERTIES)
    done = run_writers(place)
    table = lake.load_table(NAME)

    assert [d.commits for d in done] == [COMMITS] * WRITERS
    acknowledged = [s for d in done for s in d.snapshot_ids]
    assert len(set(acknowledged)) == len(acknowledged), "no snapshot is acknowledged twice"
    assert sorted(line_of_main(table)) == sorted(acknowledged), "one line of snapshots with nothing lost or doubled"
    assert [s.sequence_number for s in table.snapshots] == list(range(1, len(acknowledged) + 1))
    added = {c for d in done for c in d.columns}
    assert {f.name for f in table.schema.fields} == {"writer", "id", *added}

    rows = table.scan(columns=["writer", "id", "_row_id"]).to_arrow().to_pylist()
    expected = sorted((d.writer, id_) for d in done for id_ in d.rows)
    assert sorted((r["writer"], r["id"]) for r in rows) == expected
    assert len({r["_row_id"] for r in rows}) == len(rows), "no row id is given twice"
    assert table.scan().count() == len(expected), "and counted so by metadata"


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("one_more", [[], [{"writer": 1, "id": 1}]], ids=["whole file", "part of a file"])
def test_deletes_of_rows_in_different_files_both_commit(
    tmp_path: Path, mode: str, one_more: list[dict[str, int]]
) -> None:
    lake = Place(uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake")).open()
    table = lake.create_table(NAME, COLUMNS, format_version=3, properties=PROPERTIES | {"write.delete.mode": mode})
    table.append([{"writer": 1, "id": 0}, *one_more])
    table.append([{"writer": 2, "id": 0}, {"writer": 2, "id": 1}])
    other = lake.load_table(NAME)
    other.delete("writer = 2 AND id = 0")
    table.delete("writer = 1 AND id = 0")
    left = table.scan().to_arrow().to_pylist()
    assert sorted(left, key=str) == [*one_more, {"writer": 2, "id": 1}]


def line_of_main(table: Table) -> list[int]:
    """The snapshots from the current one back to the first."""
    line: list[int] = []
    snapshot = table.current_snapshot
    while snapshot is not None:
        line.append(snapshot.snapshot_id)
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.metadata.snapshot(parent)
    return line
