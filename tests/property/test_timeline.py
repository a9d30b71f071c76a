"""A table's life in random order: commits, branches, tags, rollbacks, cherry-picks, expiries.

Laws: every snapshot that the table still has shows exactly the files it had when it was made, and they are there.
After an expiry no other data file is left, and no manifest or list that nothing names.
"""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support.commits import Lake, data_files, live_files, vectors

from skipstone.commit import Append, Change, Delete, Rejected, RemoveRef, RowDelta, SetRef, Timing
from skipstone.errors import InvalidInput, SkipstoneError, Unsupported
from skipstone.maintenance import CherryPick, ExpireSnapshots, FastForward, MoveRef, RollBack, expire_snapshots
from skipstone.metadata.tables.history import ancestors_of
from skipstone.metadata.tables.refs import branch, tag

BRANCHES = st.sampled_from(["main", "dev"])
PICK = st.integers(0, 1000)


class Timeline(RuleBasedStateMachine):
    """`made` is the model: the live files of each snapshot as of its commit."""

    def __init__(self) -> None:
        super().__init__()
        self.lake = Lake()
        self.names = itertools.count()
        self.made: dict[int, set[str]] = {}

    @initialize(merge_count=st.sampled_from([2, 100]))
    def create(self, merge_count: int) -> None:
        properties = {"write.wap.enabled": "true", "commit.manifest.min-count-to-merge": str(merge_count)}
        self.lake.create(format_version=3, properties=properties)

    def new_file(self) -> str:
        path = f"{self.lake.metadata.location}/data/{next(self.names)}"
        self.lake.catalog.storage.write_new(path, b"rows")
        return path

    def run(self, *changes: Change) -> bool:
        """Commit, and remember what each new snapshot holds. Whether it was done."""
        before = set(self.made)
        try:
            if isinstance(self.lake.commit(*changes), Rejected):
                return False
        except (InvalidInput, Unsupported):
            return False
        for snapshot in self.lake.metadata.snapshots:
            if snapshot.snapshot_id not in before:
                self.made[snapshot.snapshot_id] = self.live(snapshot)
        return True

    def live(self, snapshot: Any) -> set[str]:
        return set(live_files(self.lake.catalog.storage, self.lake.metadata, snapshot))

    def snapshot_id(self, pick: int) -> int:
        snapshots = self.lake.metadata.snapshots
        return snapshots[pick % len(snapshots)].snapshot_id

    def has_snapshots(self) -> bool:
        return bool(self.lake.metadata.snapshots)

    @rule(name=BRANCHES, is_staged=st.booleans())
    def append(self, name: str, is_staged: bool) -> None:
        path = self.new_file()
        wap_id = path if is_staged and name == "main" else None
        assert self.run(Append(files=data_files(path), ref=name, wap_id=wap_id))
        newest = self.lake.metadata.snapshots[-1].snapshot_id
        assert path in self.made[newest]

    @precondition(lambda self: self.lake.metadata.refs)
    @rule(name=BRANCHES, pick=PICK)
    def delete(self, name: str, pick: int) -> None:
        if name in self.lake.metadata.refs:
            data = sorted(p for p in self.live(self.lake.metadata.ref_snapshot(name)) if "#" not in p)
            if data:
                assert self.run(Delete(files=[data[pick % len(data)]], ref=name))

    @precondition(lambda self: self.lake.metadata.current_snapshot_id is not None)
    @rule(pick=PICK)
    def delete_rows(self, pick: int) -> None:
        live = self.live(self.lake.metadata.current_snapshot)
        rows = live_files(self.lake.catalog.storage, self.lake.metadata, self.lake.metadata.current_snapshot)
        marked = {row["referenced_data_file"] for row in rows.values()}
        targets = sorted(p for p in live if "#" not in p and p not in marked)
        if targets:
            assert self.run(RowDelta(files=vectors(self.new_file(), targets[pick % len(targets)])))

    @precondition(has_snapshots)
    @rule(name=st.sampled_from(["t", "u"]), pick=PICK)
    def set_tag(self, name: str, pick: int) -> None:
        assert self.run(SetRef(name=name, ref=tag(self.snapshot_id(pick))))

    @precondition(has_snapshots)
    @rule(pick=PICK)
    def set_branch(self, pick: int) -> None:
        assert self.run(SetRef(name="dev", ref=branch(self.snapshot_id(pick))))

    @precondition(lambda self: len(self.lake.metadata.refs) > 1)
    @rule(pick=PICK)
    def drop_ref(self, pick: int) -> None:
        names = sorted(self.lake.metadata.refs.keys() - {"main"})
        assert self.run(RemoveRef(name=names[pick % len(names)]))

    @precondition(lambda self: self.lake.metadata.current_snapshot_id is not None)
    @rule(pick=PICK, is_forced=st.booleans())
    def go_back(self, pick: int, is_forced: bool) -> None:
        target, current = self.snapshot_id(pick), self.lake.metadata.current_snapshot_id
        assert current is not None
        is_behind = target in {s.snapshot_id for s in ancestors_of(self.lake.metadata, current)}
        change: Change = MoveRef(snapshot_id=target) if is_forced else RollBack(snapshot_id=target)
        assert self.run(change) == (is_forced or is_behind)
        if is_forced or is_behind:
            assert self.lake.metadata.current_snapshot_id == target

    @precondition(lambda self: {"main", "dev"} <= self.lake.metadata.refs.keys())
    @rule()
    def fast_forward(self) -> None:
        refs = self.lake.metadata.refs
        behind = {s.snapshot_id for s in ancestors_of(self.lake.metadata, refs["dev"].snapshot_id)}
        assert self.run(FastForward(name="main", to="dev")) == (refs["main"].snapshot_id in behind)

    @precondition(has_snapshots)
    @rule(pick=PICK)
    def cherry_pick(self, pick: int) -> None:
        picked = self.lake.metadata.snapshot(self.snapshot_id(pick))
        before = self.live(self.lake.metadata.current_snapshot) if self.lake.metadata.current_snapshot_id else set()
        parent = self.made.get(picked.parent_snapshot_id or 0)
        try:
            is_done = self.run(CherryPick(snapshot_id=picked.snapshot_id))
        except SkipstoneError:
            return
        if is_done and picked.operation == "append" and parent is not None:
            added = self.made[picked.snapshot_id] - parent
            assert self.live(self.lake.metadata.current_snapshot) == before | added

    @precondition(has_snapshots)
    @rule(retain_last=st.integers(1, 3), age_ms=st.integers(0, 10_000))
    def expire(self, retain_last: int, age_ms: int) -> None:
        lake = self.lake
        now = lake.metadata.last_updated_ms
        change = ExpireSnapshots(now_ms=now, older_than_ms=now - age_ms, retain_last=retain_last)
        timing = Timing(clock=lambda: next(lake.now_ms), sleep=lake.sleeps.append)
        _, report = expire_snapshots(lake.catalog, lake.table, change, timing=timing)
        assert report.failures == ()
        assert not set(report.snapshot_ids) & lake.metadata.snapshots_by_id.keys()
        needed = {p.partition("#")[0] for s in lake.metadata.snapshots for p in self.live(s)}
        stored = lake.stored()
        assert {p for p in stored if "/data/" in p} == needed
        assert {p for p in stored if p.endswith(".avro")} == lake.referenced()

    @invariant()
    def every_snapshot_shows_what_it_showed(self) -> None:
        if not self.lake.catalog.tables:
            return
        for snapshot in self.lake.metadata.snapshots:
            live = self.live(snapshot)
            assert live == self.made[snapshot.snapshot_id]
            assert all(self.lake.catalog.storage.exists(p.partition("#")[0]) for p in live)


TestTimeline = Timeline.TestCase
TestTimeline.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
