"""The audit: every stored fact held against the data files themselves.

    plan_audit -> FileAudit on each file, here or in tasks of a cluster -> finish_audit -> AuditReport

Laws: a bound is right if it encloses the values, a count if it equals theirs, a number of distinct values if it is
within its error. A fact that is not there is never wrong. A finding names the exact place; what cannot be read is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.parquet

from skipstone.analysis.audit_partitions import wrong_partition
from skipstone.analysis.collect import Wishes
from skipstone.analysis.file_analysis import FileAnalysis, analysed_leaves
from skipstone.errors import SkipstoneError
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import DoubleType, FloatType, Value
from skipstone.plan.delete_entries import no_deletes
from skipstone.plan.entries import FILE_COLUMNS, read_live_entries
from skipstone.plan.remapped import remapped_ids
from skipstone.plan.scan import ScanPlan
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE
from skipstone.stats.summary import ColumnSummary, FileSummary, widest
from skipstone.storage.protocol import Storage
from skipstone.write.parquet import first_page
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.verdict import Verdict
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow
pq: Any = pyarrow.parquet

# Sketches of a snapshot are computed by the same rows, but at other times; so many standard deviations are allowed.
NDV_STD_DEVS: Final = 4.0
PARTITION_VALUE: Final = "partition value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A stored fact that is wrong: where it is stored, about what, and what the data says.

    `file_path` and `field_id` name the file, and its column, that a manifest is wrong about, `content_offset` the
    deletion vector in it; `manifest_path` is the manifest that a manifest list is wrong about.
    """

    stored_in: str
    about: str
    fact: str
    stored: Any
    actual: Any
    file_path: str | None = None
    field_id: int | None = None
    content_offset: int | None = None
    manifest_path: str | None = None
    is_about_deletes: bool = False

    def __str__(self) -> str:
        return f"{self.stored_in}: {self.fact} of {self.about}: stored {self.stored!r}, actual {self.actual!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAudit:
    """Audits the data files of a snapshot, each by its row. Pickles; share one among tasks."""

    analysis: FileAnalysis
    zones: ZoneMap
    manifests: tuple[str, ...]  # by place
    places: tuple[int, ...]  # the manifest of each file

    def audit(self, row: int) -> AuditedFile:
        """Read one file and compare all that its manifest entry says."""
        path = self.analysis.plan.files.column("file_path")[row].as_py()
        stored_in = self.manifests[self.places[row]]
        try:
            summary = self.analysis.analyse(row)
            size = self.analysis.storage.size(path)
            offsets = self._split_offsets(row, path)
            misplaced = wrong_partition(self.analysis.plan, row, self.analysis.storage)
        except (SkipstoneError, OSError) as error:
            unread = Finding(stored_in=stored_in, about=path, fact="file", stored="readable", actual=str(error))
            return AuditedFile(row=row, path=path, summary=None, findings=(unread,))
        findings = [*self._of_file(row, path, stored_in, summary, size)]
        for wrong in misplaced:
            place: Any = {"stored_in": stored_in, "about": f"partition field {wrong.name!r} of {path}"}
            actual = wrong.actual[0] if len(wrong.actual) == 1 else wrong.actual
            findings.append(Finding(fact=PARTITION_VALUE, stored=wrong.stored, actual=actual, file_path=path, **place))
        stored = self.analysis.plan.files.column("split_offsets")[row].as_py()
        if offsets is not None and not _are_row_groups(stored, offsets):
            about: Any = {"stored_in": stored_in, "about": path, "file_path": path}
            findings.append(Finding(fact="split_offsets", stored=stored, actual=offsets, **about))
        for column in summary.columns:
            findings += self._of_column(row, path, stored_in, column)
        return AuditedFile(row=row, path=path, summary=summary, findings=tuple(findings))

    def _split_offsets(self, row: int, path: str) -> list[int] | None:
        """Where the row groups of a Parquet file begin; None where nothing is stored that could be wrong."""
        files = self.analysis.plan.files
        is_parquet = files.column("file_format")[row].as_py().lower() == "parquet"
        if (
            not is_parquet
            or files.column("key_metadata")[row].is_valid
            or not files.column("split_offsets")[row].as_py()
        ):
            return None
        with self.analysis.storage.open(path) as source:
            footer = pq.read_metadata(source)
        return [first_page(footer.row_group(i)) for i in range(footer.num_row_groups)]

    def _of_file(self, row: int, path: str, stored_in: str, summary: FileSummary, size: int) -> list[Finding]:
        files = self.analysis.plan.files
        actual = {"record_count": summary.row_count, "file_size_in_bytes": size}
        return [
            Finding(stored_in=stored_in, about=path, fact=fact, stored=stored, actual=value, file_path=path)
            for fact, value in actual.items()
            if (stored := files.column(fact)[row].as_py()) != value
        ]

    def _of_column(self, row: int, path: str, stored_in: str, column: ColumnSummary) -> list[Finding]:
        facts = self.zones.columns.get(column.field_id)
        if facts is None or facts.type != column.type:
            return []
        schema = self.analysis.plan.schema
        about = f"column {schema.name_of(column.field_id)!r} of {path}"
        stored = {n: _at(getattr(facts, n), row) for n in ("null_count", "nan_count", "value_count")}
        lower, upper = (_bound(column, _scalar(b, row)) for b in (facts.lower, facts.upper))
        found: list[tuple[str, Any, Any]] = []
        if schema.parents_by_id.get(column.field_id) is None:
            actual = {"null_count": column.null_count, "value_count": column.value_count}
            found += [(n, stored[n], v) for n, v in actual.items() if stored[n] is not None and stored[n] != v]
        elif stored["null_count"] is not None and stored["value_count"] is not None:
            # Writers differ on whether a row without the struct has a null in it, not on the values that are there.
            there = stored["value_count"] - stored["null_count"]
            actual_there = column.value_count - column.null_count
            found += [("value_count - null_count", there, actual_there)] if there != actual_there else []
        if isinstance(column.type, FloatType | DoubleType) and stored["nan_count"] not in (None, column.nan_count):
            found.append(("nan_count", stored["nan_count"], column.nan_count))
        found += outside(lower, upper, column)
        place: Any = {"stored_in": stored_in, "about": about, "file_path": path, "field_id": column.field_id}
        return [Finding(fact=f, stored=s, actual=a, **place) for f, s, a in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedFile:
    row: int
    path: str
    summary: FileSummary | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What was looked at, and all that is wrong. `metrics` are right values for files whose entries are wrong.

    `beyond_repair` are findings that a repair leaves as they are, each with the reason.
    """

    snapshot_id: int
    files: int
    facts: int
    findings: tuple[Finding, ...]
    metrics: Mapping[str, FileSummary] = field(default_factory=dict)
    recompute_partition_statistics: bool = False
    recompute_table_statistics: bool = False
    rebuild_index: bool = False
    beyond_repair: tuple[tuple[Finding, str], ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.findings


def plan_audit(metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> FileAudit:
    """All data files of a snapshot, with all that manifests say about their columns."""
    schema = metadata.current_schema
    hidden = remapped_ids(metadata)
    leaves = tuple(i for i in analysed_leaves(schema) if i not in hidden)
    listed = [m for m in manifests_of(snapshot, metadata, storage) if m.content == ManifestContent.DATA]
    entries = read_live_entries(listed, metadata, storage, columns=FILE_COLUMNS, metrics=leaves)
    count = entries.num_rows
    plain = entries.select([n for n in entries.column_names if "." not in n and n not in ("status", "manifest")])
    verdicts = pa.array(np.full(count, int(Verdict.EVERY_ROW_MATCHES), np.int8))
    none = pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), pa.array([], pa.int32()))
    plan = ScanPlan(
        metadata=metadata,
        snapshot=snapshot,
        schema=schema,
        predicate=TRUE,
        float_order=FloatOrder.IEEE,
        files=plain.append_column("verdict", verdicts).append_column("deletes", none).combine_chunks(),
        deletes=no_deletes(metadata),
        levels=(),
    )
    # Sketches are compared as well; quantiles and frequent values are estimates that nothing is held to.
    wishes = Wishes(ndv=True, quantiles=False, heavy_values=False)
    return FileAudit(
        analysis=FileAnalysis(plan=plan, storage=storage, field_ids=leaves, wishes=wishes, trusts_footers=False),
        # Without the number of rows, counts that contradict it are not passed over.
        zones=from_manifest_table(entries.drop_columns(["record_count"]), schema),
        manifests=tuple(m.manifest_path for m in listed),
        places=tuple(entries.column("manifest").to_pylist()),
    )


def finish_audit(audit: FileAudit, audited: Sequence[AuditedFile], others: Sequence[Finding]) -> AuditReport:
    """The report over all files, with findings about registered statistics."""
    snapshot = audit.analysis.plan.snapshot
    assert snapshot is not None
    facts = sum(_known(f) for f in audit.zones.columns.values()) + 2 * len(audit.analysis.plan)
    return AuditReport(
        snapshot_id=snapshot.snapshot_id,
        files=len(audited),
        facts=facts,
        findings=(*(f for a in audited for f in a.findings), *others),
        metrics={a.path: a.summary for a in audited if a.findings and a.summary is not None},
        recompute_partition_statistics=any(f.fact.startswith("partition") for f in others),
        recompute_table_statistics=any(f.fact.startswith(("ndv", "analysed")) for f in others),
        rebuild_index=any(f.fact.startswith("index") for f in others),
    )


def _known(facts: Any) -> int:
    arrays = (facts.lower, facts.upper, facts.null_count, facts.nan_count, facts.value_count)
    return sum(len(a) - a.null_count for a in arrays if a is not None)


def _are_row_groups(stored: Sequence[int], starts: Sequence[int]) -> bool:
    """Whether all stored offsets are beginnings of row groups, in order; a writer may leave some out."""
    return list(stored) == sorted(set(stored)) and set(stored) <= set(starts)


def _at(counts: Any, row: int) -> int | None:
    return None if counts is None else counts[row].as_py()


def _scalar(bound: Any, row: int) -> Any:
    return None if bound is None else bound[row]


def _bound(column: ColumnSummary, scalar: Any) -> Value:
    return None if scalar is None else arrow_to_value(column.type, scalar)


def outside(lower: Value, upper: Value, column: ColumnSummary) -> list[tuple[str, Any, Any]]:
    """Bounds that do not enclose the values of a column, in the order of bounds."""
    return outside_of(lower, upper, column.lower, column.upper)


def outside_of(lower: Value, upper: Value, least: Value, most: Value) -> list[tuple[str, Any, Any]]:
    """Bounds that do not enclose the least and the greatest value."""
    found: list[tuple[str, Any, Any]] = []
    for name, bound, value, is_upper in (("lower_bound", lower, least, False), ("upper_bound", upper, most, True)):
        if bound is None or value is None:
            continue
        outer = widest([bound, value], is_upper=is_upper)
        if outer != bound or str(outer) != str(bound):  # -0.0 equals 0.0, but is not the same bound
            found.append((name, bound, value))
    return found
