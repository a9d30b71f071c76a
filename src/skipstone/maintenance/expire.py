"""Snapshot expiry: old snapshots leave the table, and then the files that only they needed.

Laws: what expires is decided anew in each attempt to commit, on the metadata that is then current. Files are deleted
only after the commit is known to have succeeded; after an unknown outcome nothing is.

Spec: "Snapshot Retention Policy".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from skipstone.catalog.protocol import Catalog, LoadedTable
from skipstone.commit.context import CommitContext
from skipstone.commit.retry import Timing
from skipstone.commit.transaction import Transaction
from skipstone.errors import InvalidInput, SkipstoneError, Unsupported
from skipstone.maintenance.garbage import Garbage, delete_garbage, garbage_of
from skipstone.metadata.tables.metadata_changes import remove_snapshots
from skipstone.metadata.tables.properties import GC_ENABLED, property_value
from skipstone.metadata.tables.retention import Expiry, expiry_of
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryReport:
    """What an expiry removed, or would remove. `failures` tells of files that are still there."""

    refs: tuple[str, ...] = ()
    snapshot_ids: tuple[int, ...] = ()
    files: Garbage = field(default_factory=Garbage)
    failures: tuple[str, ...] = ()


@dataclass(kw_only=True, eq=False)
class ExpireSnapshots:
    """Remove what the retention policy lets go, or, with `snapshot_ids` alone, these snapshots and nothing else.

    `older_than_ms` and `retain_last` stand in for the table's properties where a branch has no rule of its own.
    """

    snapshot_ids: Collection[int] = ()
    older_than_ms: int | None = None
    retain_last: int | None = None
    now_ms: int | None = None
    # The metadata that the last attempt started from.
    before: TableMetadata | None = None

    @property
    def operation(self) -> str:
        return "snapshot expiry"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        now_ms = context.now_ms if self.now_ms is None else self.now_ms
        self.before = current
        expiry = self.expiry(base, current, now_ms)
        return without(current, expiry)

    def expiry(self, base: TableMetadata, current: TableMetadata, now_ms: int) -> Expiry:
        """What goes from `current`."""
        due = Expiry(refs=frozenset(), snapshot_ids=frozenset())
        if not self.snapshot_ids or self.older_than_ms is not None or self.retain_last is not None:
            due = expiry_of(current, now_ms=now_ms, older_than_ms=self.older_than_ms, retain_last=self.retain_last)
        named = _named(self.snapshot_ids, base, current, due)
        return Expiry(refs=due.refs, snapshot_ids=due.snapshot_ids | named)


def _named(wanted: Collection[int], base: TableMetadata, current: TableMetadata, due: Expiry) -> frozenset[int]:
    """The snapshots asked for by id, of which no ref that stays points to one."""
    for snapshot_id in wanted:
        base.snapshot(snapshot_id)
        names = [n for n, r in current.refs.items() if r.snapshot_id == snapshot_id and n not in due.refs]
        if names:
            raise InvalidInput(
                f"Cannot expire snapshot {snapshot_id}: expected one that no ref points to, got one of "
                f"{', '.join(names)}. Drop or move the ref first."
            )
    return frozenset(wanted) & current.snapshots_by_id.keys()


def without(metadata: TableMetadata, expiry: Expiry) -> TableMetadata:
    """The metadata after an expiry; the same object if there is nothing to remove."""
    if not expiry.refs and not expiry.snapshot_ids:
        return metadata
    kept = {name: ref for name, ref in metadata.refs.items() if name not in expiry.refs}
    return remove_snapshots(replace(metadata, refs=kept), expiry.snapshot_ids)


def expire_snapshots(
    catalog: Catalog,
    table: LoadedTable,
    change: ExpireSnapshots,
    *,
    deletes_files: bool = True,
    timing: Timing | None = None,
) -> tuple[LoadedTable, ExpiryReport]:
    """Commit the expiry, then delete the files that nothing needs any more."""
    check_deletable(table.metadata, "expire snapshots", reads_files=deletes_files)
    transaction = Transaction(catalog, table, timing=timing)
    try:
        transaction.add(change)
    except BaseException:
        transaction.discard()
        raise
    committed = transaction.commit().unwrap()
    assert change.before is not None
    garbage = Garbage()
    failures: tuple[str, ...] = ()
    if deletes_files:
        garbage, failures = _clean(change.before, committed.metadata, catalog.storage)
    return committed, _report(change.before, committed.metadata, garbage, failures)


def _clean(before: TableMetadata, after: TableMetadata, storage: Storage) -> tuple[Garbage, tuple[str, ...]]:
    """Delete what nothing needs. The expiry is done, so whatever goes wrong here is told, not raised."""
    try:
        garbage = garbage_of(before, after, storage)
    except (SkipstoneError, OSError) as error:
        return Garbage(), (f"Cannot tell which files are unused, so none was deleted: {error}",)
    return garbage, delete_garbage(garbage, storage)


def plan_expiry(
    catalog: Catalog, table: LoadedTable, change: ExpireSnapshots, *, deletes_files: bool = True, now_ms: int
) -> ExpiryReport:
    """What an expiry would remove; nothing is changed."""
    before = table.metadata
    after = without(before, change.expiry(before, before, now_ms))
    garbage = garbage_of(before, after, catalog.storage) if deletes_files else Garbage()
    return _report(before, after, garbage, ())


def check_deletable(metadata: TableMetadata, what: str, *, reads_files: bool = True) -> None:
    """Refuse where files may belong to other tables, or where nobody can tell which are needed."""
    if not property_value(metadata.properties, GC_ENABLED):
        raise InvalidInput(
            f"Cannot {what} of {metadata.location}: table property {GC_ENABLED.key} is false, so its files may belong "
            f"to other tables too. Set it to true if they do not."
        )
    if reads_files and any(s.key_id is not None for s in metadata.snapshots):
        raise Unsupported(
            f"Cannot {what} of {metadata.location}: its manifest lists are encrypted, so this version cannot tell "
            f"which files are needed."
        )


def _report(before: TableMetadata, after: TableMetadata, garbage: Garbage, failures: tuple[str, ...]) -> ExpiryReport:
    return ExpiryReport(
        refs=tuple(name for name in before.refs if name not in after.refs),
        snapshot_ids=tuple(s.snapshot_id for s in before.snapshots if s.snapshot_id not in after.snapshots_by_id),
        files=garbage,
        failures=failures,
    )
