"""A table as a stream: its rows when the stream begins, then the rows of each append.

The stream is a sequence of files: those of the first snapshot, if it is read whole, then those that each later append
added, in the order of time and within a snapshot in the order of their paths. An offset is a place in it. Positions
count all files of a snapshot, whatever a filter skips, so that better statistics never move them.

Laws: the files between two offsets are always the same; no file is in two batches, none is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.tables.history import ancestors_of, snapshots_between
from skipstone.metadata.tables.refs import MAIN
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.plan import ScanPlan, plan_scan
from skipstone.plan.incremental import plan_added
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.scan import Scan
from skipstone.table import Table

pa: Any = pyarrow
pc: Any = pyarrow.compute

_REMEMBERED_MAX: Final = 64
_NO_SNAPSHOT: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """A place in the stream: so many files of a snapshot are done, and all of those before it.

    `is_whole` says that the snapshot is read as a whole, not only what it added. None is before the first snapshot.
    """

    snapshot_id: int | None = None
    position: int = 0
    is_whole: bool = False

    def to_json(self) -> dict[str, Any]:
        known = _NO_SNAPSHOT if self.snapshot_id is None else self.snapshot_id
        return {"snapshot-id": known, "position": self.position, "whole": self.is_whole}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Offset:
        try:
            known, position, is_whole = int(given["snapshot-id"]), int(given["position"]), bool(given["whole"])
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(
                f"Invalid offset {given}: expected snapshot-id, position and whole. Use a checkpoint of this source."
            ) from None
        return cls(snapshot_id=None if known == _NO_SNAPSHOT else known, position=position, is_whole=is_whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """Where a stream begins, what it passes over, and how much it takes at once."""

    branch: str = MAIN
    after_snapshot_id: int | None = None
    from_timestamp_ms: int | None = None
    skip_deletes: bool = False
    skip_overwrites: bool = False
    max_files: int | None = None
    max_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStream:
    """The stream of a table's rows."""

    table: Table
    settings: StreamSettings
    _remembered: dict[tuple[int, bool], Any] = field(default_factory=dict, repr=False)

    def initial(self) -> Offset:
        """Where a new stream begins: at the table as it is, unless the settings say otherwise."""
        head = self._head()
        wanted = self.settings
        if wanted.after_snapshot_id is not None:
            start = self.table.metadata.snapshot(wanted.after_snapshot_id)
            return Offset(snapshot_id=start.snapshot_id, position=len(self._files(start, is_whole=False)))
        if head is None:
            return Offset()
        if wanted.from_timestamp_ms is None:
            return Offset(snapshot_id=head.snapshot_id, is_whole=True)
        later = [s for s in self._ancestors(head) if s.timestamp_ms >= wanted.from_timestamp_ms]
        if not later:
            return Offset(snapshot_id=head.snapshot_id, position=len(self._files(head, is_whole=False)))
        first = later[-1]
        self._check(first)
        return Offset(snapshot_id=first.snapshot_id)

    def latest(self, at: Offset) -> Offset:
        """Where the batch after an offset ends."""
        head = self._head()
        if head is None:
            return at
        end, files, rows = at, 0, 0
        for snapshot, is_whole, begin in self._steps(at, head):
            counts = np.maximum(self._files(snapshot, is_whole=is_whole).column("record_count").to_numpy()[begin:], 0)
            fits = self._fitting(counts, files, rows)
            if fits or len(counts) == 0:
                end = Offset(snapshot_id=snapshot.snapshot_id, position=begin + fits, is_whole=is_whole)
            if fits < len(counts):
                return end
            files, rows = files + fits, rows + int(counts.sum())
        return end

    def plans(self, start: Offset, end: Offset, scan: Scan) -> Iterator[ScanPlan]:
        """What to read between two offsets: one plan a snapshot, pruned by the scan's filter."""
        if start == end or end.snapshot_id is None:
            return
        if end.is_whole and (start.snapshot_id, start.is_whole) != (end.snapshot_id, True):
            raise InvalidInput(
                f"Cannot stream {self.table.name} from {start} to {end}: a snapshot is read whole at the beginning of "
                "a stream only. Begin a new one with another checkpoint."
            )
        if end.snapshot_id not in self.table.metadata.snapshots_by_id:
            self.table.refresh()
        last = self.table.metadata.snapshot(end.snapshot_id)
        for snapshot, is_whole, begin in self._steps(start, last):
            files = self._files(snapshot, is_whole=is_whole)
            is_last = snapshot.snapshot_id == end.snapshot_id and is_whole == end.is_whole
            paths = files.column("file_path").slice(begin, (end.position if is_last else len(files)) - begin)
            if len(paths) == 0:
                continue
            plan = self._plan(snapshot, is_whole, scan.predicate, scan)
            kept = np.flatnonzero(pc.is_in(plan.files.column("file_path"), value_set=paths.combine_chunks()))
            if len(kept):
                yield plan.taking(kept)

    def _head(self) -> Snapshot | None:
        self.table.refresh()
        branch = self.settings.branch
        if branch == MAIN:
            return self.table.current_snapshot
        if not self.table.metadata.ref(branch).is_branch:
            raise InvalidInput(f"Cannot follow tag {branch!r} of {self.table.name}: tags never move. Name a branch.")
        return self.table.metadata.ref_snapshot(branch)

    def _ancestors(self, head: Snapshot) -> list[Snapshot]:
        return list(ancestors_of(self.table.metadata, head.snapshot_id))

    def _steps(self, start: Offset, last: Snapshot) -> Iterator[tuple[Snapshot, bool, int]]:
        """Each snapshot from an offset on, how it is read, and its first file that is not done."""
        metadata = self.table.metadata
        if start.snapshot_id is not None:
            known = metadata.snapshots_by_id.get(start.snapshot_id)
            if known is None:
                raise NotFound(
                    f"Cannot go on with the stream of {self.table.name}: snapshot {start.snapshot_id}, up to which it "
                    "was read, has expired. Begin a new stream with another checkpoint, and keep snapshots longer."
                )
            yield known, start.is_whole, start.position
        between = snapshots_between(metadata, after_id=start.snapshot_id, up_to_id=last.snapshot_id)
        for snapshot in between:
            self._check(snapshot)
            yield snapshot, False, 0

    def _check(self, snapshot: Snapshot) -> None:
        match snapshot.operation:
            case Operation.DELETE if not self.settings.skip_deletes:
                option = "streaming-skip-delete-snapshots"
            case Operation.OVERWRITE if not self.settings.skip_overwrites:
                option = "streaming-skip-overwrite-snapshots"
            case _:
                return
        raise InvalidInput(
            f"Cannot stream {self.table.name} past snapshot {snapshot.snapshot_id}: it is {snapshot.operation}, and a "
            f"stream has only rows that are added. Set {option} to true to pass over it, or read table.changes()."
        )

    def _fitting(self, counts: Any, files: int, rows: int) -> int:
        """How many more files go into a batch that has so many files and rows; the first one always does."""
        fits = len(counts)
        if self.settings.max_files is not None:
            fits = min(fits, self.settings.max_files - files)
        if self.settings.max_rows is not None:
            fits = min(fits, int(np.searchsorted(np.cumsum(counts), self.settings.max_rows - rows, "right")))
        return max(fits, 1) if files == 0 and len(counts) else max(fits, 0)

    def _files(self, snapshot: Snapshot, *, is_whole: bool) -> Any:
        """The paths and counts of a snapshot's part of the stream, in its order."""
        key = (snapshot.snapshot_id, is_whole)
        if key not in self._remembered:
            if len(self._remembered) >= _REMEMBERED_MAX:
                self._remembered.pop(next(iter(self._remembered)))
            plan = self._plan(snapshot, is_whole, TRUE, self.table.scan())
            self._remembered[key] = plan.files.select(["file_path", "record_count"]).sort_by("file_path")
        return self._remembered[key]

    def _plan(self, snapshot: Snapshot, is_whole: bool, predicate: Predicate, scan: Scan) -> ScanPlan:
        asked: dict[str, Any] = {"schema": scan.schema, "predicate": predicate, "float_order": scan.float_order}
        metadata, storage = self.table.metadata, self.table.storage
        if is_whole:
            return plan_scan(metadata, storage, snapshot=snapshot, **asked)
        adding = [snapshot] if snapshot.operation == Operation.APPEND else []
        return plan_added(metadata, storage, snapshots=adding, up_to=snapshot, **asked)
