"""Several changes, one commit: applied in order, published by one check-and-put, tried again when others were faster.

Laws: a reader sees all changes or none. Nothing is published twice: after an answer was lost, the table is looked at
before anything else happens, and if it does not show the commit the outcome is unknown and nothing is deleted.

Spec: "Commit Conflict Resolution and Retry", "Metastore Tables".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from skipstone.catalog.identifiers import Identifier, display
from skipstone.catalog.protocol import Catalog, LoadedTable
from skipstone.commit.context import Change, CommitContext
from skipstone.commit.old_metadata import delete_forgotten_metadata
from skipstone.commit.outcome import Committed, Outcome, Rejected, Unknown
from skipstone.commit.retry import Retries, Timing, commit_policy, now_ms, status_check_policy
from skipstone.commit.staging import Staging
from skipstone.errors import CommitOutcomeUnknown, CommitRejected, InvalidInput, SkipstoneError
from skipstone.metadata.tables.metadata_changes import next_metadata
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata


class Transaction:
    """Changes to one table that are published together.

    Each change is applied when it is added, to what the changes before it made of the table, so `metadata` always shows
    the state to come. Use `create` for a table that is made by the same commit.
    """

    def __init__(self, catalog: Catalog, base: LoadedTable, *, timing: Timing | None = None) -> None:
        self._begin(catalog, base.identifier, base, base.metadata, timing)

    @classmethod
    def create(
        cls, catalog: Catalog, identifier: Identifier, metadata: TableMetadata, *, timing: Timing | None = None
    ) -> Transaction:
        """A transaction that creates the table it fills."""
        transaction = cls.__new__(cls)
        transaction._begin(catalog, identifier, None, metadata, timing)
        return transaction

    def _begin(
        self,
        catalog: Catalog,
        identifier: Identifier,
        base: LoadedTable | None,
        start: TableMetadata,
        timing: Timing | None,
    ) -> None:
        self._catalog = catalog
        self._identifier = identifier
        self._base = base
        self._base_metadata = start
        self._timing = timing or Timing()
        self._staging = Staging(catalog.storage)
        self._changes: list[Change] = []
        self._is_open = True
        self._current = base
        self._context = self._new_context(start)
        self._metadata = start

    @property
    def metadata(self) -> TableMetadata:
        """The table with the changes so far."""
        return self._metadata

    @property
    def base(self) -> LoadedTable | None:
        return self._base

    @property
    def changes(self) -> Sequence[Change]:
        return tuple(self._changes)

    def add(self, change: Change) -> TableMetadata:
        """Apply one more change; a change that raises is not part of the transaction."""
        self._require_open()
        self._metadata = change.apply(self._base_metadata, self._metadata, self._context)
        self._changes.append(change)
        return self._metadata

    def discard(self) -> None:
        """Give the transaction up, with the files it staged."""
        if self._is_open:
            self._is_open = False
            self._staging.discard()

    def commit(self) -> Outcome:
        """Publish the changes."""
        self._require_open()
        self._is_open = False
        try:
            return self._publish()
        except CommitOutcomeUnknown:
            raise
        except (SkipstoneError, OSError):
            # Nothing was sent, or the catalog said no: nobody knows the staged files. An interrupt, on the other hand,
            # may have come after the answer.
            self._staging.discard()
            raise

    def _publish(self) -> Outcome:
        retries = Retries(commit_policy(self._metadata.properties), self._timing)
        attempts = 0
        while True:
            attempts += 1
            if self._base is not None and self._metadata is self._context.start:
                return self._committed(self._loaded(), attempts)
            sealed = self._sealed()
            try:
                return self._committed(self._catalog.publish(self._identifier, self._current, sealed), attempts)
            except CommitOutcomeUnknown as error:
                return self._look_for(sealed, error, attempts)
            except CommitRejected as error:
                if self._base is None or not retries.wait():
                    self._staging.discard()
                    return Rejected(message=self._lost_message(error), is_conflict=False, attempts=attempts)
            try:
                self._apply_anew()
            except CommitRejected as error:
                self._staging.discard()
                return Rejected(message=str(error), is_conflict=True, attempts=attempts)

    def _apply_anew(self) -> None:
        """The changes once more, on what others have published."""
        self._current = self._catalog.load(self._identifier)
        start = self._current.metadata
        if start.table_uuid != self._base_metadata.table_uuid and self._base_metadata.table_uuid is not None:
            raise CommitRejected(
                f"Cannot commit {self._words()} to {display(self._identifier)}: the table was replaced by another one, "
                f"{start.table_uuid}. Nothing was published. Load the table again."
            )
        self._context = self._new_context(start)
        self._metadata = start
        for change in self._changes:
            self._metadata = change.apply(self._base_metadata, self._metadata, self._context)

    def _sealed(self) -> TableMetadata:
        location = None if self._current is None else self._current.metadata_location
        return next_metadata(
            self._context.start, self._metadata, now_ms=self._context.now_ms, base_metadata_file=location
        )

    def _committed(self, table: LoadedTable, attempts: int) -> Committed:
        self._staging.discard(keep=self._context.staged_files())
        delete_forgotten_metadata(self._context.start, table.metadata, self._catalog.storage)
        return Committed(table=table, snapshot_ids=tuple(self._context.snapshots), attempts=attempts)

    def _look_for(self, sealed: TableMetadata, error: CommitOutcomeUnknown, attempts: int) -> Outcome:
        """What the table says about a commit that the catalog did not answer."""
        checks = Retries(status_check_policy(self._base_metadata.properties), self._timing)
        while True:
            try:
                loaded = self._catalog.load(self._identifier)
                if self._is_in(loaded, sealed):
                    return self._committed(loaded, attempts)
            except (SkipstoneError, OSError):
                # The catalog is still not to be reached, or the table is not there yet.
                pass
            if not checks.wait():
                return Unknown(
                    message=f"Cannot tell whether {self._words()} to {display(self._identifier)} was committed: "
                    f"{error} No file was deleted. Load the table and look for it before trying again.",
                    snapshot_ids=tuple(self._context.snapshots),
                    attempts=attempts,
                )

    def _is_in(self, loaded: LoadedTable, sealed: TableMetadata) -> bool:
        """Whether the table shows the commit: by its snapshots, or else by its metadata, now or in the log."""
        if self._context.snapshots:
            return self._context.snapshots.keys() <= loaded.metadata.snapshots_by_id.keys()
        if loaded.metadata == sealed:
            return True
        for entry in reversed(loaded.metadata.metadata_log):
            if self._current is not None and entry.metadata_file == self._current.metadata_location:
                return False
            data = self._catalog.storage.read(entry.metadata_file)
            if parse_table_metadata(data, source=entry.metadata_file) == sealed:
                return True
        return False

    def _loaded(self) -> LoadedTable:
        assert self._current is not None
        return self._current

    def _new_context(self, start: TableMetadata) -> CommitContext:
        return CommitContext(
            table=display(self._identifier), staging=self._staging, now_ms=self._timing.clock(), start=start
        )

    def _words(self) -> str:
        return " and ".join(dict.fromkeys(change.operation for change in self._changes)) or "nothing"

    def _lost_message(self, error: CommitRejected) -> str:
        """Who won, if it can be told."""
        before = self._context.start.current_snapshot_id
        try:
            after = self._catalog.load(self._identifier).metadata.current_snapshot_id
        except (SkipstoneError, OSError):
            after = before
        if after == before:
            return str(error)
        return (
            f"Cannot commit {self._words()} to {display(self._identifier)}: snapshot {after} replaced "
            f"{'no snapshot' if before is None else before} while staging. Nothing was published. Retry is safe."
        )

    def _require_open(self) -> None:
        if not self._is_open:
            raise InvalidInput("Cannot change a transaction that has ended. Begin another one.")


def commit(
    catalog: Catalog,
    base: LoadedTable,
    changes: Sequence[Change],
    *,
    clock: Callable[[], int] = now_ms,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Apply changes to a table and publish them together. `base` is the table as the caller saw it."""
    transaction = Transaction(catalog, base, timing=Timing(clock=clock, sleep=sleep))
    try:
        for change in changes:
            transaction.add(change)
    except CommitRejected as error:
        transaction.discard()
        return Rejected(message=str(error), is_conflict=True)
    except BaseException:
        transaction.discard()
        raise
    return transaction.commit()
