"""Commits: files and settings become table states, one check-and-put at a time."""

from skipstone.commit.append import Append
from skipstone.commit.conflicts import Isolation
from skipstone.commit.context import Change, CommitContext
from skipstone.commit.delete import Delete
from skipstone.commit.outcome import Committed, Outcome, Rejected, Unknown
from skipstone.commit.overwrite import Overwrite, ReplacePartitions
from skipstone.commit.refs import ChangeMetadata, RemoveRef, RemoveSnapshots, SetRef
from skipstone.commit.replace import Replace
from skipstone.commit.retry import Timing
from skipstone.commit.row_delta import RowDelta
from skipstone.commit.settings import SetLocation, UpdateProperties, UpdateStatistics, UpgradeFormat
from skipstone.commit.structure import UpdateSchema, UpdateSortOrder, UpdateSpec
from skipstone.commit.transaction import Transaction, commit

__all__ = [
    "Append",
    "Change",
    "ChangeMetadata",
    "CommitContext",
    "Committed",
    "Delete",
    "Isolation",
    "Outcome",
    "Overwrite",
    "Rejected",
    "RemoveRef",
    "RemoveSnapshots",
    "Replace",
    "ReplacePartitions",
    "RowDelta",
    "SetLocation",
    "SetRef",
    "Timing",
    "Transaction",
    "Unknown",
    "UpdateProperties",
    "UpdateSchema",
    "UpdateSortOrder",
    "UpdateSpec",
    "UpdateStatistics",
    "UpgradeFormat",
    "commit",
]
