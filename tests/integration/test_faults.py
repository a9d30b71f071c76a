"""A commit with a failure at every single call, one after the other, not done or done with the answer lost.

Afterwards a process that saw nothing of it opens the table and finds the state before or the state after, whole, and
never a third; an error other than an unknown outcome means the state before; and doing it again succeeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.support.faulty_database import FaultyDatabase

from skipstone import Lake, Table
from skipstone.catalog import FilesystemCatalog, SqlCatalog
from skipstone.errors import AlreadyExists, CommitOutcomeUnknown, NotFound, SkipstoneError
from skipstone.storage.faulty import Fault, FaultyStorage
from skipstone.storage.local import LocalStorage

NAME = "db.t"
CALLS_MAX = 200  # far more than any commit makes; an endless loop ends here
PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "commit.retry.min-wait-ms": "1",
    "commit.retry.max-wait-ms": "1",
    "commit.status-check.min-wait-ms": "1",
    "commit.status-check.max-wait-ms": "1",
    # Merging rewrites manifests, so it is part of what is broken here.
    "commit.manifest.min-count-to-merge": "4",
}
COLUMNS = [("id", "long not null"), ("v", "string")]
State = tuple[Any, ...]


@dataclass
class World:
    """A catalog whose storage and database fail on demand, and the same one as others see it."""

    kind: str
    home: Path

    def __post_init__(self) -> None:
        self.storage = FaultyStorage(LocalStorage(is_durable=False))
        self.lake = self._lake(self.storage)
        catalog = self.lake.catalog
        self.database = FaultyDatabase(catalog) if isinstance(catalog, SqlCatalog) else None

    def _lake(self, storage: Any) -> Lake:
        warehouse = str(self.home / "lake")
        if self.kind == "filesystem":
            return Lake(FilesystemCatalog(warehouse=warehouse, storage=storage))
        return Lake(SqlCatalog(f"sqlite:///{self.home}/catalog.db", warehouse=warehouse, storage=storage))

    def others(self) -> Lake:
        return self._lake(LocalStorage(is_durable=False))

    def series(self) -> Iterator[Iterator[str]]:
        """Faults at each call of a commit in turn: of the storage and of the database, not done and done."""
        for is_answer_lost in (False, True):
            yield self._storage_faults(is_answer_lost)
            if self.database is not None:
                yield self._database_faults(self.database, is_answer_lost)

    def _storage_faults(self, is_answer_lost: bool) -> Iterator[str]:
        for number in range(1, CALLS_MAX):
            self.storage.plan([Fault(number=number, is_answer_lost=is_answer_lost)])
            yield f"storage call {number}, done: {is_answer_lost}"
            if self.storage.faults_ahead:
                break  # the commit made fewer calls: each has failed once
        self.storage.plan([])

    def _database_faults(self, database: FaultyDatabase, is_answer_lost: bool) -> Iterator[str]:
        for number in range(1, CALLS_MAX):
            database.plan(number, is_answer_lost=is_answer_lost)
            yield f"database call {number}, done: {is_answer_lost}"
            if database.is_fault_ahead:
                break
        database.heal()


@pytest.fixture(params=["sqlite", "sqlite without memory", "filesystem without memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """With the memory of a process that remembers the manifests it wrote, or none, so that it must read them."""
    kind, _, memory = request.param.partition(" ")
    if memory:
        monkeypatch.setattr("skipstone.commit.manifests._Kept.find", lambda self, location: None)
    return World(kind, tmp_path)


def state(lake: Lake, name: str = NAME) -> State:
    """Everything a reader may see, with every file opened."""
    table = lake.load_table(name)
    columns = ["id", "v", "_row_id", "_last_updated_sequence_number"]
    rows = table.scan(columns=columns, threads=1).to_arrow().to_pylist()
    names = tuple(sorted(".".join(p) for p in table.schema.paths_by_id.values()))
    properties = tuple(sorted(table.properties.items()))
    return (len(table.snapshots), names, properties, tuple(sorted(tuple(r.values()) for r in rows)))


def ids(seen: State) -> list[int]:
    return [row[0] for row in seen[3]]


class Work:
    """Changes that can be made again and again; each says what the next state must show."""

    def __init__(self) -> None:
        self.number = 1000

    def append(self, table: Table) -> None:
        table.append([{"id": self.number, "v": "new"}])

    def delete(self, table: Table) -> None:
        """Some rows of a file, so that its deletion vector grows."""
        table.delete(f"id = {self.number - 1000}")

    def rewrite(self, table: Table) -> None:
        table.overwrite([{"id": self.number, "v": "over"}], filter=f"id = {self.number - 1000}")

    def replace(self, table: Table) -> None:
        table.overwrite([{"id": self.number, "v": "all"}])

    def add_column(self, table: Table) -> None:
        with table.update_schema() as update:
            update.add_column(f"c{self.number}", "long")

    def several(self, table: Table) -> None:
        with table.transaction() as tx:
            tx.append([{"id": self.number, "v": "tx"}])
            tx.delete(f"id = {self.number - 1000}")
            tx.set_properties({"number": str(self.number)})


WORK: list[Callable[[Work, Table], None]] = [
    Work.append, Work.delete, Work.rewrite, Work.replace, Work.add_column, Work.several,
]  # fmt: skip


@pytest.mark.parametrize("change", WORK, ids=lambda w: w.__name__)
def test_a_commit_that_fails_anywhere_leaves_the_old_or_the_new_state(
    world: World, change: Callable[[Work, Table], None]
) -> None:
    others = world.others()
    for series, faults in enumerate(world.series()):
        name = f"db.t{series}"
        table = others.create_table(name, COLUMNS, format_version=3, properties=PROPERTIES)
        table.append([{"id": i, "v": "old"} for i in range(200)])
        work, now = Work(), state(others, name)
        for fault in faults:
            work.number += 1
            old = now
            error = attempt(lambda work=work, name=name: change(work, world.lake.load_table(name)))  # type: ignore[misc]
            now = state(world.others(), name)
            if error is None:
                assert now != old, f"{fault}: reported as done, and is not there"
            elif not isinstance(error, CommitOutcomeUnknown):
                assert now == old, f"{fault}: reported as not done ({error}), and is there"
            if now == old:
                change(work, others.load_table(name))
                now = state(others, name)
            assert one_step(old, now, work.number, change.__name__), fault
        assert work.number > 1003, "faults were injected"
        for snapshot in (end := others.load_table(name)).snapshots[::5]:
            assert end.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows > 0, "the past is still there"


def attempt(work: Callable[[], object]) -> Exception | None:
    """The error, which is one of ours or the storage's own."""
    try:
        work()
    except (SkipstoneError, OSError) as error:
        return error
    return None


def one_step(old: State, new: State, number: int, name: str) -> bool:
    """Whether a state is the one before with one change, no less and no more."""
    before, after = set(ids(old)), set(ids(new))
    gone, come = before - after, after - before
    assert len(ids(new)) == len(after), "no row is there twice"
    assert len({row[2] for row in new[3]}) == len(after), "no row id is there twice"
    steps: dict[str, bool] = {
        "append": (gone, come) == (set(), {number}),
        "delete": (gone, come) == ({number - 1000}, set()),
        "rewrite": (gone, come) == ({number - 1000}, {number}),
        "replace": (gone, come) == (before, {number}),
        "add_column": before == after and set(new[1]) - set(old[1]) == {f"c{number}"},
        "several": (gone, come) == ({number - 1000}, {number}) and ("number", str(number)) in new[2],
    }
    snapshots = {"add_column": 0, "several": 2}.get(name, 1)
    return steps[name] and new[0] - old[0] == snapshots


def test_a_table_whose_creation_fails_anywhere_is_there_whole_or_not_at_all(world: World) -> None:
    for tries, fault in enumerate(chain.from_iterable(world.series())):
        name = f"db.t{tries}"
        error = attempt(lambda name=name: world.lake.create_table(name, [("id", "long")]))  # type: ignore[misc]
        others = world.others()
        if error is None:
            assert others.table_exists(name), fault
        elif not isinstance(error, CommitOutcomeUnknown):
            with suppress(NotFound):
                others.load_table(name)
                pytest.fail(f"{fault}: reported as not done ({error}), and is there")
        with suppress(AlreadyExists):
            others.create_table(name, [("id", "long")])
        table = others.load_table(name)
        table.append([{"id": 1}])
        assert table.scan().count() == 1, fault


@pytest.mark.parametrize("is_answer_lost", [False, True])
def test_two_faults_in_one_commit_are_no_worse_than_one(tmp_path: Path, is_answer_lost: bool) -> None:
    """The second fault hits the clean-up after the first, or the look at the table after a lost answer."""
    world = World("sqlite", tmp_path)
    others = world.others()
    others.create_table(NAME, COLUMNS, format_version=3, properties=PROPERTIES)
    number = 1000
    for first in range(1, 12):
        for second in range(first + 1, first + 4):
            number += 1
            old = state(others)
            world.storage.plan([Fault(number=n, is_answer_lost=is_answer_lost) for n in (first, second)])
            row = [{"id": number, "v": "x"}]
            error = attempt(lambda row=row: world.lake.load_table(NAME).append(row))  # type: ignore[misc]
            seen = state(others)
            assert seen == old or set(ids(seen)) - set(ids(old)) == {number}
            if error is not None and not isinstance(error, CommitOutcomeUnknown):
                assert seen == old
