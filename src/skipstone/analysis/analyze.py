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
from skipstone.analysis.file_analysis import FileAnalysis, analysed_leaves, files_key
from skipstone.analysis.known import Known
from skipstone.analysis.manifest_facts import may_be_told, told_files
from skipstone.analysis.partition_groups import PartitionNaming, rows_by_name
from skipstone.analysis.store import AnalysisRecord, AnalysisStore
from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.stats.summary import ColumnSummary, FileSummary
from skipstone.storage.protocol import Storage
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPlan:
    """What is to be done. `rows` are the files of `plan` that must be read; manifests have `told` all that is wanted of
    some more, and `known` is about the others.

    Where the others are just those that the previous analysis was about, `carried` is what it said about all of them
    together, and nothing more is looked at.
    """

    metadata: TableMetadata
    storage: Storage
    snapshot: Snapshot
    plan: ScanPlan
    field_ids: tuple[int, ...]
    rows: tuple[int, ...]
    told: tuple[FileSummary, ...]
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
    """Decide what to read. `partitions` must choose whole partitions; `full` reads every file again, and believes
    no manifest.

    With `name_of` only partitions that it gives a name are analysed.
    """
    store = AnalysisStore(metadata, storage)
    is_whole_table = partitions == TRUE and name_of is None
    schema, wanted = metadata.current_schema, wishes or Wishes()
    facts_of = tuple(field_ids) if not full and _may_be_told(schema, field_ids, wanted) else ()
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=schema, predicate=partitions, facts_of=facts_of)
    verdicts = plan.files.column("verdict").to_numpy()
    if partitions != TRUE and (verdicts != Verdict.EVERY_ROW_MATCHES).any():
        raise InvalidInput(
            f"Cannot analyse the partitions where {partitions}: expected a filter that partitions match whole or not "
            "at all, got one that only some rows of a file match. Filter by partition columns."
        )
    if name_of is not None:
        named = rows_by_name(plan, metadata, name_of).values()
        plan = plan.taking(sorted(row for rows in named for row in rows))
    previous = store.find(snapshot)
    if full and is_whole_table and _covers(field_ids, previous, schema):
        previous = None
    carried = _carried(store, previous, plan, field_ids, wanted) if is_whole_table and not full else None
    known: Known = {}
    if carried is not None:
        rows = _files_since(previous, plan)
    else:
        known = store.known(previous)
        rows = list(range(len(plan))) if full else _unknown_rows(plan, known, field_ids, wanted)
    told = told_files(plan, rows, field_ids) if facts_of else {}
    return AnalysisPlan(
        metadata=metadata,
        storage=storage,
        snapshot=snapshot,
        plan=plan,
        field_ids=tuple(field_ids),
        rows=tuple(row for row in rows if row not in told),
        told=tuple(told.values()),
        known=known,
        carried=None if carried is None else tuple(carried),
        previous=previous,
        is_whole_table=is_whole_table,
        wishes=wanted,
    )


def _may_be_told(schema: Schema, field_ids: Sequence[int], wishes: Wishes) -> bool:
    """Whether no more is wanted than what manifests can prove."""
    return may_be_told(schema, field_ids) and not any(wishes.held(schema.fields_by_id[i].type) for i in field_ids)  # type: ignore[arg-type]


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
