"""What only we store, held against the data: summaries of our analyses, and the skip index.

Laws: a summary of a file from which nothing was deleted equals what its rows say. Entries read through the index are
those of the manifests; an index file that cannot be used is found too, though it changes no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow

from skipstone.analysis.audit import AuditedFile, Finding
from skipstone.analysis.store import AnalysisStore
from skipstone.index.columns import indexed_ids, is_enabled
from skipstone.index.loading import forget_opened
from skipstone.index.places import index_directory, sidecar_path
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import read_live_entries
from skipstone.plan.indexed import read_entries
from skipstone.plan.question import Question
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE
from skipstone.stats.summary import ColumnSummary
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_COMPARED: Final = (
    "value_count", "null_count", "nan_count", "true_count", "lower", "upper", "length_total", "length_max",
)  # fmt: skip
_KEY: Final = "file_path"


def audit_analysis(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, audited: Sequence[AuditedFile]
) -> list[Finding]:
    """The summaries that statistics of this snapshot are made of."""
    store = AnalysisStore(metadata, storage)
    record = store.find(snapshot)
    if record is None:
        return []
    known = store.known(record)
    found: list[Finding] = []
    for file in audited:
        for true in () if file.summary is None else file.summary.columns:
            column = known.get(file.path, {}).get(true.field_id)
            if column is not None and not column.deletes_key and column.summary.type == true.type:
                about = f"column {metadata.current_schema.name_of(true.field_id)!r} of {file.path}"
                found += _different(store.directory, about, column.summary, true)
    return found


def _different(directory: str, about: str, stored: ColumnSummary, true: ColumnSummary) -> list[Finding]:
    facts = [(name, getattr(stored, name), getattr(true, name)) for name in _COMPARED]
    if stored.theta is not None and true.theta is not None and stored.theta != true.theta:
        facts.append(("ndv", stored.theta.ndv, true.theta.ndv))
    return [
        Finding(stored_in=directory, about=about, fact=f"analysed {name}", stored=was, actual=is_)
        for name, was, is_ in facts
        if repr(was) != repr(is_) or name == "ndv"  # -0.0 and 0.0 are equal, but not the same bound
    ]


def audit_index(metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> list[Finding]:
    """Entries by way of the skip index against those in the manifests."""
    directory = index_directory(metadata)
    if directory is None or not is_enabled(metadata):
        return []
    forget_opened()  # what is stored counts, not what was read before
    listed = [m for m in manifests_of(snapshot, metadata, storage) if m.content == ManifestContent.DATA]
    question = Question(
        metadata=metadata,
        storage=storage,
        snapshot=snapshot,
        schema=metadata.current_schema,
        predicate=TRUE,
        float_order=FloatOrder.IEEE,
        needed=indexed_ids(metadata),
    )
    indexed = read_entries(listed, question, use_index=True)
    found = [
        Finding(stored_in=directory, about="the skip index", fact="index file", stored="readable", actual=note)
        for note in indexed.notes
        if "does not cover" not in note
    ]
    true = read_live_entries(listed, metadata, storage, columns=question.columns, metrics=question.metrics)
    paths = [sidecar_path(directory, m.manifest_path) for m in listed]
    return [*found, *_entries_differ(indexed.files, true, directory, paths)]


def _entries_differ(stored: Any, true: Any, directory: str, sidecars: Sequence[str]) -> list[Finding]:
    stored, true = (t.sort_by(_KEY) for t in (stored, true))
    if stored.column(_KEY).to_pylist() != true.column(_KEY).to_pylist():
        counts: Any = {"stored": stored.num_rows, "actual": true.num_rows}
        return [Finding(stored_in=directory, about="the skip index", fact="index entries", **counts)]
    found: list[Finding] = []
    for name in true.column_names:
        if name not in stored.column_names or stored.column(name).equals(true.column(name)):
            continue
        pairs = zip(stored.column(name).to_pylist(), true.column(name).to_pylist())
        for row, (was, is_) in enumerate(pairs):
            if repr(was) != repr(is_):
                where = sidecars[true.column("manifest")[row].as_py()]
                about = true.column(_KEY)[row].as_py()
                found.append(Finding(stored_in=where, about=about, fact=f"index {name}", stored=was, actual=is_))
    return found
