"""Which refs and snapshots a table's retention policy lets go.

Law: a snapshot expires only if no kept ref reaches it within its rules. `main` never expires.

Spec: "Snapshot Retention Policy", "Snapshot References".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from skipstone.errors import InvalidInput
from skipstone.metadata.tables.history import ancestors_of
from skipstone.metadata.tables.refs import MAIN, SnapshotRef
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import LONG_MAX

MIN_SNAPSHOTS_TO_KEEP: Final = "history.expire.min-snapshots-to-keep"
MAX_SNAPSHOT_AGE_MS: Final = "history.expire.max-snapshot-age-ms"
MAX_REF_AGE_MS: Final = "history.expire.max-ref-age-ms"
# The values of the reference implementation: one snapshot, five days, for ever.
_DEFAULTS: Final = {MIN_SNAPSHOTS_TO_KEEP: 1, MAX_SNAPSHOT_AGE_MS: 5 * 24 * 60 * 60 * 1000, MAX_REF_AGE_MS: LONG_MAX}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """What the policy removes: ref names, and ids of the snapshots that then are kept by nothing."""

    refs: frozenset[str]
    snapshot_ids: frozenset[int]


def expiry_of(
    metadata: TableMetadata, *, now_ms: int, older_than_ms: int | None = None, retain_last: int | None = None
) -> Expiry:
    """What is due to expire now, by the rules of each ref or else the table's properties.

    `older_than_ms` (a moment) and `retain_last` stand in for the properties, never for a rule that a ref has itself.
    """
    if retain_last is not None and retain_last < 1:
        raise InvalidInput(f"Cannot expire snapshots: expected to retain at least the last one, got {retain_last}.")
    expired_refs = {name for name, ref in metadata.refs.items() if _is_ref_expired(metadata, name, ref, now_ms)}
    retained: set[int] = set()
    for name, ref in metadata.refs.items():
        if name in expired_refs:
            continue
        retained.add(ref.snapshot_id)
        if ref.is_branch:
            retained |= _retained_by_branch(metadata, ref, now_ms, older_than_ms, retain_last)
    return Expiry(refs=frozenset(expired_refs), snapshot_ids=frozenset(metadata.snapshots_by_id.keys() - retained))


def _is_ref_expired(metadata: TableMetadata, name: str, ref: SnapshotRef, now_ms: int) -> bool:
    if name == MAIN:
        return False
    max_age_ms = _rule(metadata, ref.max_ref_age_ms, MAX_REF_AGE_MS)
    return now_ms - metadata.snapshot(ref.snapshot_id).timestamp_ms > max_age_ms


def _retained_by_branch(
    metadata: TableMetadata, ref: SnapshotRef, now_ms: int, older_than_ms: int | None, retain_last: int | None
) -> set[int]:
    """The branch's newest snapshots: as many as must be kept, and then those young enough."""
    min_kept = ref.min_snapshots_to_keep or retain_last or _rule(metadata, None, MIN_SNAPSHOTS_TO_KEEP)
    if older_than_ms is None or ref.max_snapshot_age_ms is not None:
        older_than_ms = now_ms - _rule(metadata, ref.max_snapshot_age_ms, MAX_SNAPSHOT_AGE_MS)
    retained: set[int] = set()
    for position, snapshot in enumerate(ancestors_of(metadata, ref.snapshot_id)):
        if position >= min_kept and snapshot.timestamp_ms < older_than_ms:
            break
        retained.add(snapshot.snapshot_id)
    return retained


def _rule(metadata: TableMetadata, of_ref: int | None, key: str) -> int:
    if of_ref is not None:
        return of_ref
    text = metadata.properties.get(key)
    if text is None:
        return _DEFAULTS[key]
    # A property that is no number must not make snapshots expire early.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= LONG_MAX):
        raise InvalidInput(f"Invalid table property {key}: expected a positive integer, got {text!r}.")
    return int(text)
