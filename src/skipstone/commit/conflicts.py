"""Checks between what a change assumed and what others have committed since.

Each function raises CommitRejected, or returns because there is no contradiction. With serializable isolation a change
also assumes that no rows came that it would have looked at; with snapshot isolation it does not.

Spec: "Commit Conflict Resolution and Retry", "Deletion Vectors", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa

from skipstone.commit.added import FileGroup
from skipstone.commit.context import CommitContext
from skipstone.commit.history import History
from skipstone.commit.manifests import integers
from skipstone.commit.matching import in_partitions, partition_keys
from skipstone.commit.metrics import verdicts_of_entries
from skipstone.commit.removal import RemovedFiles, referenced_files
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import FileContent, ManifestContent, ManifestFile
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate
from skipstone.zones.verdict import Verdict


class Isolation(StrEnum):
    """What a change may assume about rows that others add meanwhile."""

    SERIALIZABLE = "serializable"  # there are none that it would have looked at
    SNAPSHOT = "snapshot"  # nothing: it saw the table as of its start


class Conflicts:
    """The checks of one change in one attempt."""

    def __init__(self, history: History, context: CommitContext, operation: str, float_order: FloatOrder) -> None:
        self._history = history
        self._context = context
        self._operation = operation
        self._float_order = float_order

    def _reject(self, why: str) -> Exception:
        return self._context.conflict(self._operation, why)

    def absent(self, what: str, *, others: int) -> Exception:
        """The error of a file to remove that is not in the table."""
        more = f", and {others} more" if others else ""
        if self._history.is_unchanged:
            return InvalidInput(
                f"Cannot commit {self._operation} to {self._context.table}: {what}{more}: expected a file of the "
                f"table, got one that it does not hold."
            )
        return self._reject(f"{what}{more} was removed meanwhile")

    def partly_matching(self, path: str, predicate: Predicate | None) -> Exception:
        """The error of a file that a filter over whole files would have to split."""
        if self._history.is_unchanged:
            return InvalidInput(
                f"Cannot remove file {path} by filter {predicate}: expected a file of which all rows or none match, "
                f"got one that may hold both. Delete its rows instead."
            )
        return self._reject(f"some, but not all, rows of data file {path} may match the filter {predicate}")

    def no_new_data(self, predicate: Predicate) -> None:
        """Nobody added a data file that may hold a row the predicate is about."""
        with self._history.unseen_by(("no new data", predicate, self._float_order)) as history:
            for group in history.added_data():
                path = self._first_match(group, predicate)
                if path is not None:
                    raise self._reject(f"data file {path} was added meanwhile and may hold rows where {predicate}")

    def no_new_deletes(self, predicate: Predicate) -> None:
        """Nobody deleted rows, one by one or in whole files, that the predicate may be about."""
        with self._history.unseen_by(("no new deletes", predicate, self._float_order)) as history:
            for group in history.added_deletes():
                path = self._first_match(group, predicate)
                if path is not None:
                    raise self._reject(f"delete file {path} was added meanwhile and may delete rows where {predicate}")
            for group in history.removed_data():
                path = self._first_match(group, predicate)
                if path is not None:
                    raise self._reject(
                        f"data file {path}, which may hold rows where {predicate}, was removed meanwhile"
                    )

    def no_new_data_in(self, partitions: Mapping[int, Collection[Hashable]]) -> None:
        """Nobody added data to the partitions."""
        path = self._first_in(partitions, self._history.added_data())
        if path is not None:
            raise self._reject(f"data file {path} was added meanwhile to a partition that the change replaces")

    def no_new_deletes_in(self, partitions: Mapping[int, Collection[Hashable]]) -> None:
        """Nobody deleted rows of the partitions, one by one or in whole files: the new rows may be copies of them."""
        path = self._first_in(partitions, self._history.added_deletes())
        if path is not None:
            raise self._reject(f"delete file {path} was added meanwhile to a partition that the change replaces")
        path = self._first_in(partitions, self._history.removed_data())
        if path is not None:
            raise self._reject(f"data file {path} of a partition that the change replaces was removed meanwhile")

    def _first_in(self, partitions: Mapping[int, Collection[Hashable]], groups: Iterable[FileGroup]) -> str | None:
        for group in groups:
            wanted = partitions.get(group.spec.spec_id, ())
            hits = np.flatnonzero(in_partitions(group.entries, self._history.metadata, group.spec, wanted))
            if len(hits):
                return _path(group.entries, hits[0])
        return None

    def data_files_exist(self, paths: Collection[str]) -> None:
        """Nobody removed a data file that the change's deletes point to.

        Not even a delete, which Java lets pass: the rows are gone, but the new delete file would name one that is not
        there for as long as the table lives.
        """
        if not paths:
            return
        with self._history.unseen_by(("data files exist", frozenset(paths))) as history:
            for group in history.removed_data():
                column: Any = group.entries.column("file_path")
                gone = next((path for path in column.to_pylist() if path in paths), None)
                if gone is not None:
                    raise self._reject(f"data file {gone}, which new deletes point to, was removed meanwhile")

    def no_data_of_other_specs(self, spec_id: int, manifests: Iterable[ManifestFile]) -> None:
        """No data file has another partition spec than the new equality deletes, which would not reach it."""
        for m in manifests:
            if m.content == ManifestContent.DATA and m.partition_spec_id != spec_id and not m.has_no_live_files:
                raise self._reject(
                    f"data files were added meanwhile under partition spec {m.partition_spec_id}, where equality "
                    f"deletes under spec {spec_id} do not reach"
                )

    def no_new_deletes_for(self, removed: Iterable[RemovedFiles], *, ignore_equality: bool = False) -> None:
        """Nobody deleted rows of data files that the change replaces: the deletes would be lost."""
        added = self._history.added_deletes()
        if not added:
            return
        targets = _Targets(removed, self._history)
        for group in added:
            row = targets.first_applying(group, ignore_equality=ignore_equality)
            if row is not None:
                raise self._reject(
                    f"delete file {_path(group.entries, row)} was added meanwhile and may delete rows of replaced files"
                )

    def no_new_vectors_for(self, paths: Collection[str]) -> None:
        """Nobody gave a deletion vector to a data file that the change gives one to."""
        if not paths:
            return
        with self._history.unseen_by(("no new vectors", frozenset(paths))) as history:
            for group in history.added_deletes():
                offsets: Any = group.entries.column("content_offset")
                named: Any = group.entries.column("referenced_data_file")
                for offset, path in zip(offsets.to_pylist(), named.to_pylist(), strict=True):
                    if offset is not None and path in paths:
                        raise self._reject(f"data file {path} was given another deletion vector meanwhile")

    def _first_match(self, group: FileGroup, predicate: Predicate) -> str | None:
        verdicts = verdicts_of_entries(
            predicate, group.entries, self._history.metadata, group.spec, self._float_order, content=group.content
        )
        hits = np.flatnonzero(verdicts != Verdict.NO_ROW_MATCHES)
        return _path(group.entries, hits[0]) if len(hits) else None


class _Targets:
    """Data files by path and by partition, to ask which deletes may apply to them."""

    def __init__(self, removed: Iterable[RemovedFiles], history: History) -> None:
        self._history = history
        self._paths: set[str] = set()
        self._partitions: dict[int, set[Hashable]] = {}
        for part in removed:
            column: Any = part.entries.column("file_path")
            self._paths.update(column.to_pylist())
            keys = partition_keys(part.entries, history.metadata, part.spec)
            self._partitions.setdefault(part.spec.spec_id, set()).update(keys)

    def first_applying(self, group: FileGroup, *, ignore_equality: bool) -> int | None:
        entries = group.entries
        content = integers(entries, "content")
        same_partition = in_partitions(
            entries, self._history.metadata, group.spec, self._partitions.get(group.spec.spec_id, ())
        )
        # Equality deletes of an unpartitioned spec apply everywhere.
        is_global = group.spec.is_unpartitioned
        for row, path in enumerate(referenced_files(entries)):
            if content[row] == FileContent.EQUALITY_DELETES:
                applies = not ignore_equality and bool(self._paths) and (is_global or bool(same_partition[row]))
            elif path is not None:
                applies = path in self._paths
            else:
                applies = bool(same_partition[row])
            if applies:
                return row
        return None


def _path(entries: pa.Table, row: int) -> str:
    return str(entries.column("file_path")[int(row)].as_py())
