"""ANALYZE: which files must be read, what is known of the others, and what it all says about the table.

    plan_analysis -> files to read -> FileAnalysis on each, here or in tasks of a cluster -> finish_analysis

Laws: a file is read at most once for its columns, and never again while it stays as it is. Rows deleted since a file
was read make what is known of it bounds and upper estimates, until a full analysis reads it again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.analysis.collect import Wishes
from skipstone.analysis.file_analysis import FileAnalysis, analysed_leaves, deletes_keys, files_key
from skipstone.analysis.known import Known, KnownColumn
from skipstone.analysis.partition_groups import PartitionNaming, rows_by_name
from skipstone.analysis.sketches import store_sketches
from skipstone.analysis.store import AnalysisRecord, AnalysisStore
from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.statistics_files import StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.stats.summary import ColumnSummary, FileSummary, merge_summaries
from skipstone.storage.protocol import Storage
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPlan:
    """What is to be done. `rows` are the files of `plan` that must be read; `known` is about the others.

    Where the others are just those that the previous analysis was about, `carried` is what it said about all of them
    together, and nothing more is looked at.
    """

    metadata: TableMetadata
    storage: Storage
    snapshot: Snapshot
    plan: ScanPlan
    field_ids: tuple[int, ...]
    rows: tuple[int, ...]
    known: Known
    carried: tuple[ColumnSummary, ...] | None
    previous: AnalysisRecord | None
    is_whole_table: bool
    wishes: Wishes

    def work(self) -> FileAnalysis:
        """What each task needs; it pickles."""
        return FileAnalysis(plan=self.plan, storage=self.storage, field_ids=self.field_ids, wishes=self.wishes)

    def analysed_here(self, threads: int | None = None) -> list[FileSummary]:
        """The work done in threads of this process; where there are more of them than files, they share each file."""
        shared = max(1, (threads or os.cpu_count() or 1) // max(1, len(self.rows)))
        return in_parallel(replace(self.work(), threads=shared).analyse, self.rows, threads)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnalysis:
    """An analysis that is stored; `file` is to be registered."""

    record: AnalysisRecord
    file: StatisticsFile | None
    files_read: int
    files_known: int


def analysed_ids(schema: Schema, columns: Sequence[str] | None, *, table: str) -> tuple[int, ...]:
    """The columns to analyse; a struct stands for all that can be analysed in it."""
    leaves = analysed_leaves(schema)
    if columns is None:
        return tuple(leaves)
    found: dict[int, None] = {}
    for name in columns:
        field = schema.field(name)
        inside = [i for i in leaves if i == field.id or field.id in {a.id for a in schema.ancestors(i)}]
        if not inside:
            raise InvalidInput(
                f"Cannot analyse column {name!r} of {table}: expected a column of a primitive type, or a struct with "
                f"one, got {field.type}."
            )
        found.update(dict.fromkeys(inside))
    return tuple(found)


def plan_analysis(
    metadata: TableMetadata,
    storage: Storage,
    snapshot: Snapshot,
    *,
    field_ids: Sequence[int],
    partitions: Predicate = TRUE,
    name_of: PartitionNaming | None = None,
    full: bool = False,
    wishes: Wishes | None = None,
) -> AnalysisPlan:
    """Decide what to read. `partitions` must choose whole partitions; `full` reads every file again.

    With `name_of` only partitions that it gives a name are analysed.
    """
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=metadata.current_schema, predicate=partitions)
    verdicts = plan.files.column("verdict").to_numpy()
    if partitions != TRUE and (verdicts != Verdict.EVERY_ROW_MATCHES).any():
        raise InvalidInput(
            f"Cannot analyse the partitions where {partitions}: expected a filter that partitions match whole or not "
            "at all, got one that only some rows of a file match. Filter by partition columns."
        )
    if name_of is not None:
        named = rows_by_name(plan, metadata, name_of).values()
        plan = plan.taking(sorted(row for rows in named for row in rows))
    store = AnalysisStore(metadata, storage)
    previous = store.find(snapshot)
    schema, wanted = metadata.current_schema, wishes or Wishes()
    is_whole_table = partitions == TRUE and name_of is None
    if full and is_whole_table and _covers(field_ids, previous, schema):
        previous = None
    carried = _carried(store, previous, plan, field_ids, wanted) if is_whole_table and not full else None
    known: Known = {}
    if carried is not None:
        rows = _files_since(previous, plan)
    else:
        known = store.known(previous)
        rows = list(range(len(plan))) if full else _unknown_rows(plan, known, field_ids, wanted)
    return AnalysisPlan(
        metadata=metadata,
        storage=storage,
        snapshot=snapshot,
        plan=plan,
        field_ids=tuple(field_ids),
        rows=tuple(rows),
        known=known,
        carried=None if carried is None else tuple(carried),
        previous=previous,
        is_whole_table=is_whole_table,
        wishes=wanted,
    )


def _covers(field_ids: Sequence[int], previous: AnalysisRecord | None, schema: Schema) -> bool:
    """Whether an analysis of these columns leaves nothing of the previous one that is still of use."""
    return previous is None or set(previous.field_ids) & set(analysed_leaves(schema)) <= set(field_ids)


def _unknown_rows(plan: ScanPlan, known: Known, field_ids: Sequence[int], wishes: Wishes) -> list[int]:
    def is_known(path: str) -> bool:
        columns = known.get(path, {})
        return all(i in columns and _is_enough(columns[i].summary, plan.schema, wishes) for i in field_ids)

    return [row for row, path in enumerate(plan.files.column("file_path").to_pylist()) if not is_known(path)]


def _is_enough(summary: ColumnSummary, schema: Schema, wishes: Wishes) -> bool:
    """A promotion changes the bytes that sketches hash, so what was known of the old type is not enough."""
    field = schema.find(summary.field_id)
    return field is not None and field.type == summary.type and wishes.held(summary.type) in summary.held


def _carried(
    store: AnalysisStore, previous: AnalysisRecord | None, plan: ScanPlan, field_ids: Sequence[int], wishes: Wishes
) -> list[ColumnSummary] | None:
    """What the previous analysis says about all files but those that came since; None where that is not enough, or
    where it is about other files."""
    if previous is None or previous.covers != files_key(plan, without=_files_since(previous, plan)):
        return None
    found = store.merged(previous) or []
    enough = {s.field_id for s in found if _is_enough(s, plan.schema, wishes)}
    return found if enough.issuperset(field_ids) else None


def _files_since(previous: AnalysisRecord | None, plan: ScanPlan) -> list[int]:
    """The files that were added after the previous analysis, by their sequence numbers; v1 has none."""
    assert previous is not None
    analysed = plan.metadata.snapshot(previous.snapshot_id).sequence_number
    added = pc.fill_null(plan.files.column("file_sequence_number"), 0).to_numpy()
    return np.flatnonzero(added > analysed).tolist()


def finish_analysis(work: AnalysisPlan, summaries: Sequence[FileSummary], *, now_ms: int) -> FinishedAnalysis:
    """Put what was found together with what was known, store it, and write the sketches to be registered."""
    plan = work.plan if work.is_whole_table else _whole_plan(work)
    everything = sorted({*work.field_ids, *(work.previous.field_ids if work.previous else ())})
    if work.carried is None:
        files = KnownFiles(plan, _with_new(work.known, summaries))
        merged = [m for i in everything if (m := files.merged(i)) is not None]
    else:
        merged = _continued(work, summaries)
    rows, is_exact = live_rows(plan, merged)
    record = AnalysisRecord(
        snapshot_id=work.snapshot.snapshot_id,
        analysed_at_ms=now_ms,
        field_ids=tuple(everything),
        row_count=rows,
        row_count_is_exact=is_exact,
        size_in_bytes=pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0,
        table="",
        summaries=() if work.previous is None else work.previous.summaries,
        after_deletes=tuple(m.summary.field_id for m in merged if m.is_after_deletes),
        covers=files_key(plan),
    )
    stored = AnalysisStore(work.metadata, work.storage).save(
        record,
        new=summaries,
        merged=[m.summary for m in merged],
        live=plan.files.column("file_path").to_pylist(),
    )
    return FinishedAnalysis(
        record=stored,
        file=_sketches(work, merged),
        files_read=len(summaries),
        files_known=len(work.plan) - len(summaries),
    )


def _with_new(known: Known, summaries: Sequence[FileSummary]) -> Known:
    found: Known = {path: dict(columns) for path, columns in known.items()}
    for summary in summaries:
        columns = found.setdefault(summary.file_path, {})
        columns.update({c.field_id: KnownColumn(c, summary.deletes_key) for c in summary.columns})
    return found


def _continued(work: AnalysisPlan, summaries: Sequence[FileSummary]) -> list[MergedColumn]:
    """What was carried on, with what was found in further files."""
    assert work.carried is not None and work.previous is not None
    schema, merged = work.metadata.current_schema, []
    for column in work.carried:
        field = schema.find(column.field_id)
        found = [c for s in summaries for c in s.columns if c.field_id == column.field_id]
        if field is not None and field.type == column.type and len(found) == len(summaries):
            is_after_deletes = column.field_id in work.previous.after_deletes
            merged.append(MergedColumn(summary=merge_summaries([column, *found]), is_after_deletes=is_after_deletes))
    return merged


def live_rows(plan: ScanPlan, merged: Sequence[MergedColumn]) -> tuple[int, bool]:
    """The rows that deletes have left, and whether that is exact: where metadata cannot tell, a scan may have seen."""
    exact = plan.count()
    if exact is None:
        exact = next((m.summary.value_count for m in merged if not m.is_after_deletes), None)
    if exact is not None:
        return exact, True
    return pc.sum(plan.files.column("record_count")).as_py() or 0, False


def _sketches(work: AnalysisPlan, merged: Sequence[MergedColumn]) -> StatisticsFile | None:
    schema = work.metadata.current_schema
    found = {
        m.summary.field_id: m.summary.theta
        for m in merged
        if m.summary.theta is not None and schema.find(m.summary.field_id) is not None
    }
    upper = {m.summary.field_id for m in merged if m.is_after_deletes}
    return store_sketches(found, work.metadata, work.storage, work.snapshot, upper=upper) if found else None


def _whole_plan(work: AnalysisPlan) -> ScanPlan:
    schema = work.metadata.current_schema
    return plan_scan(work.metadata, work.storage, snapshot=work.snapshot, schema=schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedColumn:
    """One column over several files, and whether rows of some were deleted after it was read."""

    summary: ColumnSummary
    is_after_deletes: bool


class KnownFiles:
    """The files of a plan, and what is known of each."""

    def __init__(self, plan: ScanPlan, known: Known) -> None:
        self.plan = plan
        self._known = known
        self._paths = plan.files.column("file_path").to_pylist()
        self._keys = deletes_keys(plan)

    def merged(self, field_id: int, rows: Sequence[int] | None = None) -> MergedColumn | None:
        """A column over files, all by default; None unless it is known of every one of them."""
        field = self.plan.schema.find(field_id)
        parts: list[ColumnSummary] = []
        is_after_deletes = False
        for row in range(len(self._paths)) if rows is None else rows:
            column = self._known.get(self._paths[row], {}).get(field_id)
            if field is None or column is None or column.summary.type != field.type:
                return None
            parts.append(column.summary)
            is_after_deletes = is_after_deletes or column.deletes_key != self._keys[row]
        if not parts:
            return None
        return MergedColumn(summary=merge_summaries(parts), is_after_deletes=is_after_deletes)
