"""The end of ANALYZE: what was found is put together with what was known, stored, and made ready to be registered.

Law: what is merged upon an earlier whole is the same as merged from all files anew.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute

from skipstone.analysis.analyze import AnalysisPlan
from skipstone.analysis.file_analysis import files_key
from skipstone.analysis.hands import Hands
from skipstone.analysis.known import Known, KnownColumn
from skipstone.analysis.merged import KnownFiles, MergedColumn, live_rows
from skipstone.analysis.sketches import store_sketches
from skipstone.analysis.store import AnalysisRecord, AnalysisStore
from skipstone.metadata.tables.statistics_files import StatisticsFile
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.stats.summary import ColumnSummary, FileSummary, merge_summaries

pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAnalysis:
    """An analysis that is stored; `file` is to be registered."""

    record: AnalysisRecord
    file: StatisticsFile | None
    files_read: int
    files_known: int


def finish_analysis(work: AnalysisPlan, summaries: Sequence[FileSummary], *, now_ms: int) -> FinishedAnalysis:
    """Put what was found together with what was known, store it, and write the sketches to be registered.

    Of these steps none waits for another that it does not need: an analysis of one more file is made of little else.
    """
    plan = work.plan if work.is_whole_table else _whole_plan(work)
    everything = sorted({*work.field_ids, *(work.previous.field_ids if work.previous else ())})
    store = AnalysisStore(work.metadata, work.storage)
    found = [*work.told, *summaries]
    with Hands(os.cpu_count() or 1) as hands:
        new = hands.begin(lambda: store.keep(found))
        merged = _merged(work, found, everything, plan, hands)
        file = hands.begin(lambda: _sketches(work, merged))
        record = _record(work, merged, everything, plan, now_ms)
        paths = plan.files.column("file_path").to_pylist()
        stored = store.save(record, new=new(), merged=[m.summary for m in merged], live=paths)
        return FinishedAnalysis(
            record=stored, file=file(), files_read=len(summaries), files_known=len(work.plan) - len(summaries)
        )


def _merged(
    work: AnalysisPlan, summaries: Sequence[FileSummary], field_ids: Sequence[int], plan: ScanPlan, hands: Hands
) -> list[MergedColumn]:
    if work.carried is not None:
        return _continued(work, summaries, hands)
    files = KnownFiles(plan, _with_new(work.known, summaries))
    return [m for m in hands.each(files.merged, field_ids) if m is not None]


def _record(
    work: AnalysisPlan, merged: Sequence[MergedColumn], field_ids: Sequence[int], plan: ScanPlan, now_ms: int
) -> AnalysisRecord:
    rows, is_exact = live_rows(plan, merged)
    return AnalysisRecord(
        snapshot_id=work.snapshot.snapshot_id,
        analysed_at_ms=now_ms,
        field_ids=tuple(field_ids),
        row_count=rows,
        row_count_is_exact=is_exact,
        size_in_bytes=pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0,
        table="",
        summaries=() if work.previous is None else work.previous.summaries,
        after_deletes=tuple(m.summary.field_id for m in merged if m.is_after_deletes),
        covers=files_key(plan),
    )


def _with_new(known: Known, summaries: Sequence[FileSummary]) -> Known:
    found: Known = {path: dict(columns) for path, columns in known.items()}
    for summary in summaries:
        columns = found.setdefault(summary.file_path, {})
        columns.update({c.field_id: KnownColumn(c, summary.deletes_key) for c in summary.columns})
    return found


def _continued(work: AnalysisPlan, summaries: Sequence[FileSummary], hands: Hands) -> list[MergedColumn]:
    """What was carried on, with what was found in further files."""
    assert work.carried is not None and work.previous is not None
    schema, after_deletes = work.metadata.current_schema, set(work.previous.after_deletes)

    def merged(column: ColumnSummary) -> MergedColumn | None:
        field = schema.find(column.field_id)
        found = [c for s in summaries for c in s.columns if c.field_id == column.field_id]
        if field is None or field.type != column.type or len(found) != len(summaries):
            return None
        is_after_deletes = column.field_id in after_deletes
        return MergedColumn(summary=merge_summaries([column, *found]), is_after_deletes=is_after_deletes)

    return [m for m in hands.each(merged, work.carried) if m is not None]


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
