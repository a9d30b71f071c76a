"""Several writers on one table: whatever they interleave, the table is what the acknowledged commits say.

Each writer holds a base it read some time ago, does one of many changes to it and commits. A plain model replays what
must happen: which files are live in which branch, or that the commit must be rejected. Meanwhile answers get lost and
storage fails.
"""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.support.commits import SCHEMA, Lake, data_files, entries, joined, live_files, vectors

from skipstone.catalog.protocol import LoadedTable
from skipstone.commit import (
    Append,
    Change,
    Committed,
    Delete,
    Isolation,
    Overwrite,
    Rejected,
    Replace,
    RowDelta,
    Unknown,
    UpdateProperties,
    UpdateSchema,
)
from skipstone.errors import CommitOutcomeUnknown, InvalidInput
from skipstone.metadata.types import STRING
from skipstone.predicate import as_predicate, bind

WRITERS = 3
STATES = ("CA", "WA")


class Writers(RuleBasedStateMachine):
    """`live` is the model: data files with their state and vector, as the last acknowledged commit left them."""

    def __init__(self) -> None:
        super().__init__()
        self.lake = Lake()
        self.names = itertools.count()
        self.live: dict[str, str] = {}
        self.vectors: dict[str, str] = {}  # data file -> key of its deletion vector
        self.acknowledged: list[int] = []
        self.row_ids: dict[str, int] = {}
        self.bases: list[LoadedTable] = []
        # What each writer saw: the model at the time it read the table.
        self.seen: list[tuple[dict[str, str], dict[str, str], int]] = []
        self.columns = 0

    @initialize(merge_count=st.sampled_from([2, 3, 100]))
    def create(self, merge_count: int) -> None:
        self.lake.create(
            format_version=3,
            partition_by=["state"],
            properties={"commit.manifest.min-count-to-merge": str(merge_count)},
        )
        self.bases = [self.lake.table] * WRITERS
        self.seen = [({}, {}, 0)] * WRITERS

    @rule(writer=st.integers(0, WRITERS - 1))
    def refresh(self, writer: int) -> None:
        self.bases[writer] = self.lake.table
        self.seen[writer] = (dict(self.live), dict(self.vectors), self.columns)

    @rule(
        writer=st.integers(0, WRITERS - 1), states=st.lists(st.sampled_from(STATES), min_size=1, max_size=3),
        fast=st.booleans(), lost=st.booleans(),
    )  # fmt: skip
    def append(self, writer: int, states: list[str], fast: bool, lost: bool) -> None:
        files = {f"f{next(self.names)}": state for state in states}
        change = Append(files=joined(*(data_files(p, rows=3, state=s) for p, s in files.items())), is_fast=fast)
        if lost:
            self.lake.catalog.after_publish.append(_lose_answer)
        self.expect(writer, [change], must_fail=False)
        self.live |= files

    @rule(writer=st.integers(0, WRITERS - 1), pick=st.randoms(use_true_random=False))
    def delete(self, writer: int, pick: Any) -> None:
        seen, _, _ = self.seen[writer]
        if not seen:
            return
        gone = pick.sample(sorted(seen), k=min(2, len(seen)))
        if self.expect(writer, [Delete(files=gone)], must_fail=not set(gone) <= set(self.live)):
            self.forget(gone)

    @rule(writer=st.integers(0, WRITERS - 1), state=st.sampled_from(STATES))
    def delete_partition(self, writer: int, state: str) -> None:
        predicate = bind(as_predicate(f"state = '{state}'"), SCHEMA)
        self.expect(writer, [Delete(predicate=predicate)], must_fail=False)
        self.forget([p for p, s in self.live.items() if s == state])

    @rule(
        writer=st.integers(0, WRITERS - 1), pick=st.randoms(use_true_random=False),
        isolation=st.sampled_from(Isolation),
    )  # fmt: skip
    def overwrite(self, writer: int, pick: Any, isolation: Isolation) -> None:
        """Copy-on-write: a file is rewritten by one who looked at its partition."""
        seen, had, _ = self.seen[writer]
        if not seen:
            return
        old = pick.choice(sorted(seen))
        state = seen[old]
        new = f"f{next(self.names)}"
        looked_at = bind(as_predicate(f"state = '{state}'"), SCHEMA)
        change = Overwrite(
            files=data_files(new, rows=3, state=state), remove_files=[old], conflict_filter=looked_at,
            isolation=isolation,
        )  # fmt: skip
        there = {p for p, s in self.live.items() if s == state}
        before = {p for p, s in seen.items() if s == state}
        must_fail = (
            old not in self.live
            or self.vectors.get(old) != had.get(old)
            or bool(before - there)  # somebody removed rows that it looked at
            or any(self.vectors.get(p) != had.get(p) for p in before)
            or (isolation == Isolation.SERIALIZABLE and bool(there - before))
        )
        # What came and went in between is rejected too; the model does not remember it.
        outcome = self.expect(writer, [change], must_fail=True if must_fail else None)
        if outcome:
            self.forget([old])
            self.live[new] = state

    @rule(writer=st.integers(0, WRITERS - 1), pick=st.randoms(use_true_random=False))
    def compact(self, writer: int, pick: Any) -> None:
        seen, had, _ = self.seen[writer]
        state = pick.choice(STATES)
        old = [p for p, s in sorted(seen.items()) if s == state][:3]
        if not old:
            return
        new = f"f{next(self.names)}"
        number = self.bases[writer].metadata.last_sequence_number
        change = Replace(files=data_files(new, rows=3, state=state), remove_files=old, data_sequence_number=number)
        must_fail = not set(old) <= set(self.live) or any(self.vectors.get(p) != had.get(p) for p in old)
        if self.expect(writer, [change], must_fail=must_fail):
            self.forget(old)
            self.live[new] = state

    @rule(writer=st.integers(0, WRITERS - 1), pick=st.randoms(use_true_random=False), extra=st.booleans())
    def delete_rows(self, writer: int, pick: Any, extra: bool) -> None:
        """Merge-on-read: a data file gets a deletion vector, which takes in the one it had."""
        seen, had, _ = self.seen[writer]
        if not seen:
            return
        target = pick.choice(sorted(seen))
        path = f"p{next(self.names)}"
        old = [(had[target].split("#")[0], 4)] if target in had else []
        files = vectors(path, target, state=seen[target])
        new = {f"f{next(self.names)}": "CA"} if extra else {}
        added = joined(files, *(data_files(p, rows=3, state=s) for p, s in new.items()))
        must_fail = target not in self.live or self.vectors.get(target) != had.get(target)
        if self.expect(writer, [RowDelta(files=added, remove_delete_files=old)], must_fail=must_fail):
            self.vectors[target] = f"{path}#4"
            self.live |= new

    @rule(writer=st.integers(0, WRITERS - 1))
    def change_schema(self, writer: int) -> None:
        name = f"c{next(self.names)}"
        change = UpdateSchema(change=lambda u: u.add_column(name, STRING))
        if self.expect(writer, [change], must_fail=self.seen[writer][2] != self.columns):
            self.columns += 1

    @rule(writer=st.integers(0, WRITERS - 1))
    def append_and_delete_in_one_commit(self, writer: int) -> None:
        kept, gone = f"f{next(self.names)}", f"f{next(self.names)}"
        files = data_files(kept, gone, rows=3, state="WA")
        key = f"k{next(self.names)}"
        changes = [UpdateProperties(updates={key: "1"}), Append(files=files), Delete(files=[gone])]
        self.expect(writer, changes, must_fail=False)
        self.live[kept] = "WA"
        assert self.lake.metadata.properties[key] == "1"

    @rule(writer=st.integers(0, WRITERS - 1))
    def lose_the_request(self, writer: int) -> None:
        """The catalog never got the request, and says that it does not know."""
        self.lake.catalog.before_publish.append(_lose_answer)
        outcome = self.lake.commit(Append(files=data_files("never", state="CA")), base=self.bases[writer])
        assert isinstance(outcome, Unknown)

    @rule(writer=st.integers(0, WRITERS - 1), call=st.integers(0, 1))
    def storage_fails(self, writer: int, call: int) -> None:
        before = self.lake.stored()
        calls = itertools.count()
        storage = self.lake.catalog.storage
        real = storage.write_new

        def write_new(path: str, data: bytes) -> None:
            real(path, data)
            if next(calls) == call:
                raise OSError("the answer was lost")

        storage.write_new = write_new
        try:
            self.lake.commit(Append(files=data_files("never", state="CA")), base=self.bases[writer])
            raise AssertionError("the failure was not told")
        except OSError:
            assert self.lake.stored() == before
        finally:
            del storage.write_new

    def expect(self, writer: int, changes: list[Change], *, must_fail: bool | None) -> bool:
        """Commit from the writer's base; whether it was acknowledged, which must be as the model says."""
        before = self.lake.table
        try:
            outcome = self.lake.commit(*changes, base=self.bases[writer])
        except InvalidInput:
            assert must_fail, changes
            assert self.bases[writer] == before, "only what the writer saw itself can be its own mistake"
            return False
        if isinstance(outcome, Rejected):
            assert must_fail is not False, outcome
            assert outcome.is_conflict and self.lake.table == before
            return False
        assert isinstance(outcome, Committed), outcome
        assert not must_fail, changes
        self.acknowledged += outcome.snapshot_ids
        self.bases[writer] = self.lake.table
        return True

    def forget(self, paths: list[str]) -> None:
        for path in paths:
            self.live.pop(path, None)
            self.vectors.pop(path, None)

    @invariant()
    def the_table_is_what_was_acknowledged(self) -> None:
        if not self.bases:
            return
        # Whoever holds the latest state has seen what the model now says.
        for writer, base in enumerate(self.bases):
            if base is self.lake.table:
                self.seen[writer] = (dict(self.live), dict(self.vectors), self.columns)
        metadata = self.lake.metadata
        assert [s.snapshot_id for s in metadata.snapshots] == self.acknowledged
        numbers = [s.sequence_number for s in metadata.snapshots]
        assert numbers == list(range(1, len(numbers) + 1))
        live = self.lake.live()
        assert set(live) == set(self.live) | set(self.vectors.values())
        self.check_row_ids(live)
        self.check_totals(live)
        stored = {p for p in self.lake.stored() if p.endswith(".avro")}
        assert self.lake.referenced() <= stored

    def check_row_ids(self, live: dict[str, dict[str, Any]]) -> None:
        """No two data files share a row id, no file ever changes its own."""
        ranges = []
        for path, row in live.items():
            if row["content"] != 0:
                continue
            first = row["first_row_id"]
            assert self.row_ids.setdefault(path, first) == first
            ranges.append((first, first + row["record_count"]))
        ranges.sort()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ranges))
        assert not ranges or ranges[-1][1] <= self.lake.metadata.next_row_id

    def check_totals(self, live: dict[str, dict[str, Any]]) -> None:
        current = self.lake.metadata.current_snapshot
        if current is None:
            return
        assert current.summary is not None
        assert current.summary["total-data-files"] == str(len(self.live))
        assert current.summary["total-delete-files"] == str(len(self.vectors))
        assert current.summary["total-records"] == str(
            sum(r["record_count"] for r in live.values() if not r["content"])
        )

    def teardown(self) -> None:
        """Every snapshot of the history can still be read."""
        if not self.bases:
            return
        metadata = self.lake.metadata
        for snapshot in metadata.snapshots:
            live_files(self.lake.catalog.storage, metadata, snapshot)
            for row in entries(self.lake.catalog.storage, metadata, snapshot):
                assert row["sequence_number"] <= snapshot.sequence_number


def _lose_answer() -> None:
    raise CommitOutcomeUnknown("The answer was lost.")


Writers.TestCase.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
TestWriters = Writers.TestCase
