"""Column statistics that a write computes itself, of the files it adds, and registers with the same commit.

Laws: a write never reads files that were there before it. Statistics are carried on only where they are known of every
file, so a table that was never analysed has none until ANALYZE is run once, unless it was empty. Only columns that
were analysed before are carried on. Statistics never stop a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from skipstone.analysis.analyze import AnalysisPlan, analysed_ids, plan_analysis
from skipstone.analysis.collect import Wishes
from skipstone.analysis.file_analysis import analysed_leaves
from skipstone.analysis.finish import FinishedAnalysis, finish_analysis
from skipstone.analysis.store import AnalysisStore
from skipstone.commit.context import CommitContext
from skipstone.errors import SkipstoneError
from skipstone.metadata.tables.metadata_changes import set_statistics
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.scan import plan_scan
from skipstone.stats.labels import ignore_file
from skipstone.stats.places import record_path, stats_directory
from skipstone.stats.summary import FileSummary
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, kw_only=True, eq=False)
class GatherStatistics:
    """Analyse what the same commit adds. `analyse` reads the files that it is given, here or on a cluster."""

    analyse: Callable[[AnalysisPlan], Sequence[FileSummary]]

    @property
    def operation(self) -> str:
        return "column statistics"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        if not context.snapshots:
            return current
        snapshot = current.snapshot([*context.snapshots][-1])
        stale: list[str] = context.staging.once("column statistics", list)
        try:
            # Of earlier attempts, whose snapshots were never published; this one's may have the same id.
            context.storage.delete_many(stale)
            stale[:] = [record_path(stats_directory(current), snapshot.snapshot_id)]
            finished = self._gathered(current, snapshot, context)
        except (SkipstoneError, OSError) as error:
            ignore_file(f"of snapshot {snapshot.snapshot_id}", error)
            return current
        if finished is None or finished.file is None:
            return current
        stale.append(finished.file.statistics_path)
        return set_statistics(current, finished.file)

    def _gathered(self, current: TableMetadata, snapshot: Snapshot, context: CommitContext) -> FinishedAnalysis | None:
        work = _planned(current, context.storage, snapshot, _files_before(current, snapshot, context))
        if work is None:
            return None
        paths = work.plan.files.column("file_path").to_pylist()
        # What an earlier attempt has read is not read again.
        done: dict[str, FileSummary] = context.staging.once("column summaries", dict)
        todo = replace(work, rows=tuple(row for row in work.rows if paths[row] not in done))
        done.update({summary.file_path: summary for summary in self.analyse(todo)} if todo.rows else {})
        return finish_analysis(work, [done[paths[row]] for row in work.rows], now_ms=context.now_ms)


def _files_before(current: TableMetadata, snapshot: Snapshot, context: CommitContext) -> frozenset[str]:
    """The files that the table had before this commit."""
    at: Snapshot | None = snapshot
    while at is not None and at.snapshot_id in context.snapshots:
        parent = at.parent_snapshot_id
        at = None if parent is None else current.snapshots_by_id.get(parent)
    if at is None:
        return frozenset()
    plan = plan_scan(current, context.storage, snapshot=at, schema=current.current_schema)
    return frozenset(plan.files.column("file_path").to_pylist())


def _planned(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, before: frozenset[str]
) -> AnalysisPlan | None:
    """The analysis that needs none of the files from before; None where there is no such."""
    store = AnalysisStore(metadata, storage)
    previous = store.find(snapshot)
    leaves = analysed_leaves(metadata.current_schema)
    everything = analysed_ids(metadata.current_schema, None, table="")
    known = tuple(i for i in previous.field_ids if i in leaves) if previous is not None else ()
    tries = [(everything, True), *((known, has_vectors) for has_vectors in (True, False) if known)]
    for field_ids, has_vectors in tries:
        wishes = Wishes(bit_vectors=has_vectors)
        work = plan_analysis(metadata, storage, snapshot, field_ids=field_ids, wishes=wishes)
        paths = work.plan.files.column("file_path")
        if all(paths[row].as_py() not in before for row in work.rows):
            return work
    return None
