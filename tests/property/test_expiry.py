"""Expiry against a model that follows the spec's five steps word by word."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.metadata_builder import START_MS, empty_table

from skipstone.metadata.tables.refs import MAIN, RefType, SnapshotRef
from skipstone.metadata.tables.retention import MAX_REF_AGE_MS, MAX_SNAPSHOT_AGE_MS, MIN_SNAPSHOTS_TO_KEEP, expiry_of
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata

AGE = st.integers(1, 12)
RULE = st.none() | AGE


@st.composite
def histories(draw: st.DrawFn) -> TableMetadata:
    """Snapshots with parents among the earlier ones, or expired ones, in an order of time that may be disturbed."""
    count = draw(st.integers(1, 10))
    snapshots = []
    for i in range(1, count + 1):
        parent = draw(st.none() | st.integers(1, i - 1) if i > 1 else st.sampled_from([None, 99]))
        when = START_MS + draw(st.integers(0, 12))
        snapshots.append(Snapshot(snapshot_id=i, parent_snapshot_id=parent, timestamp_ms=when, manifest_list=f"l{i}"))
    names = draw(st.sets(st.sampled_from([MAIN, "dev", "t1", "t2"])))
    refs = {}
    for name in sorted(names):
        kind = RefType.TAG if name.startswith("t") else RefType.BRANCH
        is_branch = kind is RefType.BRANCH
        refs[name] = SnapshotRef(
            snapshot_id=draw(st.integers(1, count)),
            type=kind,
            max_ref_age_ms=draw(RULE),
            min_snapshots_to_keep=draw(RULE) if is_branch else None,
            max_snapshot_age_ms=draw(RULE) if is_branch else None,
        )
    keys = (MIN_SNAPSHOTS_TO_KEEP, MAX_SNAPSHOT_AGE_MS, MAX_REF_AGE_MS)
    properties = {key: str(draw(AGE)) for key in sorted(draw(st.sets(st.sampled_from(keys))))}
    current = refs[MAIN].snapshot_id if MAIN in refs else None
    return replace(
        empty_table(), snapshots=tuple(snapshots), refs=refs, properties=properties, current_snapshot_id=current
    )


def five_steps(metadata: TableMetadata, now_ms: int) -> tuple[set[str], set[int]]:
    def rule(of_ref: int | None, key: str, default: int) -> int:
        return of_ref if of_ref is not None else int(metadata.properties.get(key, default))

    # 1. Start with an empty set.
    retained: set[int] = set()
    # 2. Remove refs, other than main, whose snapshot is older than their age.
    refs = dict(metadata.refs)
    for name, ref in metadata.refs.items():
        age = now_ms - metadata.snapshot(ref.snapshot_id).timestamp_ms
        if name != MAIN and age > rule(ref.max_ref_age_ms, MAX_REF_AGE_MS, 2**63 - 1):
            del refs[name]
    # 3. Each branch and tag keeps its snapshot.
    retained |= {ref.snapshot_id for ref in refs.values()}
    # 4. Each branch keeps its ancestors, until one is both old and not among the first.
    for ref in refs.values():
        if ref.type is RefType.TAG:
            continue
        position, snapshot_id = 1, metadata.snapshot(ref.snapshot_id).parent_snapshot_id
        while snapshot_id in metadata.snapshots_by_id:
            assert snapshot_id is not None
            snapshot = metadata.snapshot(snapshot_id)
            is_old = now_ms - snapshot.timestamp_ms > rule(ref.max_snapshot_age_ms, MAX_SNAPSHOT_AGE_MS, 432_000_000)
            if is_old and position >= rule(ref.min_snapshots_to_keep, MIN_SNAPSHOTS_TO_KEEP, 1):
                break
            retained.add(snapshot_id)
            position, snapshot_id = position + 1, snapshot.parent_snapshot_id
    # 5. All others expire.
    return set(metadata.refs) - set(refs), {s.snapshot_id for s in metadata.snapshots} - retained


@settings(max_examples=300, deadline=None)
@given(metadata=histories(), after_ms=st.integers(0, 30))
def test_what_expires_is_what_the_five_steps_say(metadata: TableMetadata, after_ms: int) -> None:
    expiry = expiry_of(metadata, now_ms=START_MS + after_ms)
    assert (set(expiry.refs), set(expiry.snapshot_ids)) == five_steps(metadata, START_MS + after_ms)


@settings(max_examples=200, deadline=None)
@given(metadata=histories(), after_ms=st.integers(0, 30), later_ms=st.integers(0, 20))
def test_time_only_lets_more_go(metadata: TableMetadata, after_ms: int, later_ms: int) -> None:
    early = expiry_of(metadata, now_ms=START_MS + after_ms)
    late = expiry_of(metadata, now_ms=START_MS + after_ms + later_ms)
    assert early.snapshot_ids <= late.snapshot_ids
    assert early.refs <= late.refs
