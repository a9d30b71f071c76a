"""Processes that write to a table: for tests of what many of them, or killed ones, leave behind.

They are forked by a clean server process that has everything imported and no threads, so a process costs little and
carries no state of the tests.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from typing import Any

import skipstone
from skipstone.catalog import SqlCatalog
from skipstone.errors import CommitRejected
from skipstone.storage.local import LocalStorage

NAME = "db.t"
DEADLINE_SECONDS = 300


def processes() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


@dataclass(frozen=True, kw_only=True)
class Place:
    """A catalog that any process can open."""

    uri: str
    warehouse: str

    def open(self) -> skipstone.Lake:
        storage = LocalStorage(is_durable=False)  # processes are killed here, not machines
        return skipstone.Lake(SqlCatalog(self.uri, warehouse=self.warehouse, storage=storage))


@dataclass
class Acknowledged:
    """What one writer was told is done."""

    writer: int
    snapshot_ids: list[int] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)
    columns: list[str] = field(default_factory=list)
    commits: int = 0
    rejections: int = 0


def commit_many(place: Place, writer: int, commits: int, seed: int, results: Any) -> None:
    """Appends, deletes of own rows and new columns, in a seeded order."""
    chance = random.Random(seed * 1000 + writer)
    done = Acknowledged(writer)
    table = place.open().load_table(NAME)
    for number in range(commits):
        row = writer * 1_000_000 + number * 10
        kind = chance.choices(["append", "delete", "column"], [8, 3, 1])[0]
        if kind == "column":
            _until_done(table, done, lambda n=number: _add_column(table, f"c{writer}_{n}"))  # type: ignore[misc]
            done.columns.append(f"c{writer}_{number}")
        elif kind == "delete" and done.rows:
            gone = chance.choice(sorted(done.rows))
            _until_done(table, done, lambda g=gone: table.delete(f"writer = {writer} AND id = {g}"))  # type: ignore[misc]
            done.rows.remove(gone)
            done.snapshot_ids.append(_snapshot(table))
        else:
            rows = [{"writer": writer, "id": row + i} for i in range(chance.randint(1, 5))]
            _until_done(table, done, lambda r=rows: table.append(r))  # type: ignore[misc]
            done.rows |= {r["id"] for r in rows}
            done.snapshot_ids.append(_snapshot(table))
        done.commits += 1
    results.put(done)


def _until_done(table: skipstone.Table, done: Acknowledged, work: Callable[[], object]) -> None:
    """Again from the current table whenever the commit is definitely rejected."""
    while True:
        try:
            work()
            return
        except CommitRejected:
            done.rejections += 1
            table.refresh()


def _add_column(table: skipstone.Table, name: str) -> None:
    with table.update_schema() as update:
        update.add_column(name, "long")


def _snapshot(table: skipstone.Table) -> int:
    assert table.current_snapshot is not None
    return table.current_snapshot.snapshot_id


def commit_until_killed(place: Place, first: int, calls: int, told: Any) -> None:
    """Commits that are told to the parent once acknowledged, and death without warning at the n-th call of anything.

    The first commit, which costs many times more calls than others, comes before the count.
    """
    table = place.open().load_table(NAME)
    left = calls

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for number in range(1000):
        if number == 1:
            sys.setprofile(count)
        if is_delete(number):
            table.delete(f"id = {first + 2 * number - 1}")
        else:
            table.append([{"writer": 0, "id": first + 2 * number + i} for i in range(2)])
        told.send(number)


def is_delete(number: int) -> bool:
    """Whether a commit of a writer that will be killed deletes a row of its commit before."""
    return number % 3 == 2
