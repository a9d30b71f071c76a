"""What became of a commit, as a value: committed, rejected, or unknown.

Law: only a rejection is a proof that nothing was published. After an unknown outcome every file that the commit wrote
may be part of the table, so nothing is deleted.

Spec: "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from skipstone.catalog.protocol import LoadedTable
from skipstone.errors import CommitOutcomeUnknown, CommitRejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The table as this commit left it. `snapshot_ids` are those the commit added, in order."""

    table: LoadedTable
    snapshot_ids: tuple[int, ...] = ()
    attempts: int = 1

    def unwrap(self) -> LoadedTable:
        return self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Nothing was published.

    `is_conflict` tells why: what others committed contradicts the change, so the same change will be rejected again and
    the work must be done anew on the current table; otherwise others were faster each time, and the same change may win
    the next time.
    """

    message: str
    is_conflict: bool
    attempts: int = 1

    def unwrap(self) -> LoadedTable:
        raise CommitRejected(self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The catalog did not answer, and the table does not show the commit, yet. Nothing was deleted."""

    message: str
    snapshot_ids: tuple[int, ...] = ()
    attempts: int = 1

    def unwrap(self) -> LoadedTable:
        raise CommitOutcomeUnknown(self.message)


Outcome: TypeAlias = Committed | Rejected | Unknown
