"""The statistics of a snapshot as they are known: from analyses, or else from manifests and registered sketches.

Laws: every value has its label. What an analysis of an ancestor says is said of that ancestor, and `freshness` tells
what has happened since; nothing of it is passed off as being about the snapshot itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.analysis.file_analysis import analysed_leaves
from skipstone.analysis.freshness import freshness
from skipstone.analysis.merged import KnownFiles, live_rows
from skipstone.analysis.partition_groups import PartitionNaming, partitions_of, rows_by_name
from skipstone.analysis.sketches import StoredSketch, find_sketches
from skipstone.analysis.store import AnalysisRecord, AnalysisStore
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field, PrimitiveType, Value
from skipstone.plan.entries import FILE_COLUMNS, read_live_entries
from skipstone.plan.scan import plan_scan
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.stats.column_statistics import ColumnStatistics, TableStatistics, column_statistics
from skipstone.stats.labels import Accuracy, Labelled
from skipstone.stats.registered import of_known_snapshots
from skipstone.storage.protocol import Storage
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.merge import merge_zones
from skipstone.zones.zone_map import ColumnFacts

pa: Any = pyarrow
pc: Any = pyarrow.compute


def table_statistics(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, *, partitions: Predicate = TRUE
) -> TableStatistics:
    """What is known about a snapshot, or about the partitions of it that a filter chooses."""
    store = AnalysisStore(metadata, storage)
    record = store.find(snapshot)
    if record is None:
        return from_metadata(metadata, storage, snapshot, partitions=partitions)
    of_known_snapshots(metadata.statistics, metadata)  # the analysis is better than any of them, but some are amiss
    if partitions != TRUE:
        analysed = metadata.snapshot(record.snapshot_id)
        schema = metadata.current_schema
        plan = plan_scan(metadata, storage, snapshot=analysed, schema=schema, predicate=partitions)
        return _of_files(KnownFiles(plan, store.known(record)), range(len(plan)), record, metadata, snapshot)
    return _from_record(store, record, metadata, snapshot) or from_metadata(metadata, storage, snapshot)


def analysed_statistics(metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> TableStatistics | None:
    """What the last analysis says, and nothing where there is none: a few small files are read at most."""
    store = AnalysisStore(metadata, storage)
    record = store.find(snapshot)
    return None if record is None else _from_record(store, record, metadata, snapshot)


def _from_record(
    store: AnalysisStore, record: AnalysisRecord, metadata: TableMetadata, snapshot: Snapshot
) -> TableStatistics | None:
    merged = store.merged(record)
    if merged is None:
        return None
    names = _names(metadata.current_schema)
    columns = {
        s.field_id: column_statistics(names[s.field_id][1], s, is_after_deletes=s.field_id in record.after_deletes)
        for s in merged
        if s.field_id in names and names[s.field_id][0] == s.type
    }
    return TableStatistics(
        freshness=freshness(metadata, snapshot, record.snapshot_id, record.analysed_at_ms),
        row_count=Labelled(record.row_count, Accuracy.EXACT if record.row_count_is_exact else Accuracy.BOUND),
        size_in_bytes=record.size_in_bytes,
        columns=columns,
    )


def statistics_by_partition(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot
) -> Iterator[tuple[int, Mapping[str, Value], TableStatistics]]:
    """Spec id, partition values by name, and statistics, of every partition of the snapshot that was analysed."""
    store = AnalysisStore(metadata, storage)
    record = store.find(snapshot)
    if record is None:
        return
    analysed = metadata.snapshot(record.snapshot_id)
    plan = plan_scan(metadata, storage, snapshot=analysed, schema=metadata.current_schema)
    files = KnownFiles(plan, store.known(record))
    for spec_id, values, rows in partitions_of(plan, metadata):
        yield spec_id, values, _of_files(files, rows, record, metadata, snapshot)


def statistics_by_name(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, name_of: PartitionNaming
) -> Iterator[tuple[str, TableStatistics]]:
    """Statistics of the analysed partitions that get a name, those of one name together."""
    store = AnalysisStore(metadata, storage)
    record = store.find(snapshot)
    if record is None:
        return
    analysed = metadata.snapshot(record.snapshot_id)
    plan = plan_scan(metadata, storage, snapshot=analysed, schema=metadata.current_schema)
    files = KnownFiles(plan, store.known(record))
    for name, rows in rows_by_name(plan, metadata, name_of).items():
        yield name, _of_files(files, rows, record, metadata, snapshot)


def _of_files(
    files: KnownFiles, rows: Sequence[int], record: AnalysisRecord, metadata: TableMetadata, snapshot: Snapshot
) -> TableStatistics:
    chosen = pa.array(np.array(list(rows), np.int64))
    part = replace(files.plan, files=files.plan.files.take(chosen))
    merged = [m for i in record.field_ids if (m := files.merged(i, rows)) is not None]
    names = {m.summary.field_id: metadata.current_schema.name_of(m.summary.field_id) for m in merged}
    count, is_exact = live_rows(part, merged)
    return TableStatistics(
        freshness=freshness(metadata, snapshot, record.snapshot_id, record.analysed_at_ms),
        row_count=Labelled(count, Accuracy.EXACT if is_exact else Accuracy.BOUND),
        size_in_bytes=pc.sum(part.files.column("file_size_in_bytes")).as_py() or 0,
        columns={
            field_id: column_statistics(name, m.summary, is_after_deletes=m.is_after_deletes)
            for (field_id, name), m in zip(names.items(), merged)
        },
    )


def _names(schema: Schema) -> dict[int, tuple[PrimitiveType, str]]:
    return {i: (f.type, schema.name_of(i)) for i, f in analysed_leaves(schema).items()}  # type: ignore[misc]


# -- without an analysis


def from_metadata(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, *, partitions: Predicate = TRUE
) -> TableStatistics:
    """What manifests say about the columns, and registered sketches about distinct values."""
    schema = metadata.current_schema
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=schema, predicate=partitions)
    leaves = analysed_leaves(schema)
    manifests = [m for m in manifests_of(snapshot, metadata, storage) if m.content == ManifestContent.DATA]
    entries = read_live_entries(manifests, metadata, storage, columns=FILE_COLUMNS, metrics=tuple(leaves))
    entries = entries.filter(pc.is_in(entries.column("file_path"), value_set=_whole(plan.files.column("file_path"))))
    zones = merge_zones(from_manifest_table(entries, schema), pa.array(np.zeros(entries.num_rows, np.int64)), 1)
    has_deletes = bool(pc.any(pc.greater(pc.list_value_length(plan.files.column("deletes")), 0)).as_py())
    exact = plan.count()
    total = pc.sum(plan.files.column("record_count")).as_py() or 0
    sketches = find_sketches(metadata, storage, snapshot) if partitions == TRUE else {}
    columns: dict[int, ColumnStatistics] = {}
    for field_id, field in leaves.items():
        facts = zones.columns.get(field_id)
        stored = sketches.get(field_id)
        if facts is None:
            continue
        ndv = None if stored is None else _registered_ndv(stored, metadata, snapshot)
        columns[field_id] = _from_facts(schema, field, facts, total, has_deletes, ndv)
    return TableStatistics(
        freshness=freshness(metadata, snapshot, snapshot.snapshot_id, snapshot.timestamp_ms),
        row_count=Labelled(total, Accuracy.BOUND) if exact is None else Labelled(exact),
        size_in_bytes=pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0,
        columns=columns,
    )


def _registered_ndv(stored: StoredSketch, metadata: TableMetadata, snapshot: Snapshot) -> Labelled[int] | None:
    """What a sketch of this snapshot or of an ancestor says; None where nobody knows what has happened since.

    Each row that came can have brought a value, each that went can have taken one, which the error says.
    """
    since = freshness(metadata, snapshot, stored.snapshot_id, 0)
    added, removed = since.rows_added_since, since.rows_removed_since
    if added is None or removed is None:
        return None
    ndv, error = stored.sketch.ndv, stored.sketch.error
    if added == 0 and (removed or stored.is_upper):
        return Labelled(ndv, Accuracy.UPPER_ESTIMATE, error)
    return Labelled(ndv, Accuracy.ESTIMATE, error + (added + removed) / max(ndv, 1))


def _whole(column: Any) -> Any:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _from_facts(
    schema: Schema, field: Field, facts: ColumnFacts, total: int, has_deletes: bool, ndv: Labelled[int] | None
) -> ColumnStatistics:
    label = Accuracy.BOUND if has_deletes else Accuracy.EXACT
    nulls = _count(facts.null_count)
    if schema.parents_by_id.get(field.id) is not None:
        # Writers differ on whether a row without the struct has a null in it, not on the values that are there.
        values = _count(facts.value_count)
        nulls = None if nulls is None or values is None else total - (values - nulls)
    nans = _count(facts.nan_count)
    lower, upper = (_bound(field, bound) for bound in (facts.lower, facts.upper))
    return ColumnStatistics(
        field_id=field.id,
        name=schema.name_of(field.id),
        type=facts.type,
        value_count=Labelled(total, label),
        null_count=Labelled(total, Accuracy.BOUND) if nulls is None else Labelled(nulls, label),
        nan_count=None if nans is None else Labelled(nans, label),
        ndv=ndv,
        low=None if lower is None else Labelled(lower, Accuracy.BOUND),
        high=None if upper is None else Labelled(upper, Accuracy.BOUND),
        is_after_deletes=has_deletes,
    )


def _count(counts: Any) -> int | None:
    return None if counts is None else counts[0].as_py()


def _bound(field: Field, bound: Any) -> Value:
    return None if bound is None else arrow_to_value(field.type, bound[0])
