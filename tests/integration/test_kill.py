"""A writing process killed at a hundred seeded points: the table holds what was acknowledged, perhaps one commit more.

Each process dies by SIGKILL at the n-th call of any function, with no chance to clean up. The next one goes on with
the same table, so what one leaves behind is in the way of all later ones.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path

from tests.support.writers import DEADLINE_SECONDS, NAME, Place, commit_until_killed, is_delete, processes

from skipstone import Lake

KILLS = 100
SEED = 20261116
CALLS_MAX = 60_000  # a few commits' worth
PROPERTIES = {"write.delete.mode": "merge-on-read", "commit.manifest.min-count-to-merge": "10"}


def test_a_killed_writer_leaves_the_old_or_the_new_state(tmp_path: Path) -> None:
    place = Place(uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    columns = [("writer", "long not null"), ("id", "long not null")]
    place.open().create_table(NAME, columns, format_version=3, properties=PROPERTIES)
    chance = random.Random(SEED)
    before: set[int] = set()
    commits = 0
    for kill in range(KILLS):
        first = kill * 10_000
        told = killed_writer(place, first=first, calls=chance.randint(1, CALLS_MAX))
        now = rows(place.open())
        old, new = (after(before, first, count) for count in (told, told + 1))
        assert now in (old, new), f"kill {kill}: {told} commits were acknowledged"
        before = now
        commits += told
    table = place.open().load_table(NAME)
    assert commits > KILLS + KILLS // 4, "the writers came far enough to write"
    for snapshot in table.snapshots[::10]:
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    table.append([{"writer": 1, "id": -1}])
    assert rows(place.open()) == before | {-1}, "a writer that lives is not disturbed by what the dead left"


def killed_writer(place: Place, *, first: int, calls: int) -> int:
    """How many commits a process was told are done before it died."""
    context = processes()
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=commit_until_killed, args=(place, first, calls, writing))
    process.start()
    writing.close()
    told = 0
    with reading:
        while reading.poll(DEADLINE_SECONDS):
            try:
                assert reading.recv() == told
            except EOFError:
                break
            told += 1
    process.join(DEADLINE_SECONDS)
    assert process.exitcode == -signal.SIGKILL
    return told


def after(before: set[int], first: int, commits: int) -> set[int]:
    """The rows after some commits of a writer."""
    now = set(before)
    for number in range(commits):
        row = first + 2 * number
        now = now - {row - 1} if is_delete(number) else now | {row, row + 1}
    return now


def rows(lake: Lake) -> set[int]:
    read = lake.load_table(NAME).scan(columns=["id", "_row_id"], threads=1).to_arrow()
    found = read.column("id").to_pylist()
    assert len(set(found)) == len(found) == len(set(read.column("_row_id").to_pylist())), "nothing is there twice"
    return set(found)
