"""What an audit found wrong about data files in manifests, as the entries should have it.

Laws: only facts that are wrong are changed. A right value goes in where there is one to store; else the fact goes,
because an unknown fact is never wrong. A file that cannot be read is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from skipstone.analysis.audit import PARTITION_VALUE, Finding
from skipstone.analysis.file_analysis import analysed_leaves
from skipstone.metadata.manifests.manifest import METRIC_COLUMNS
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.write.metrics import bound_bytes
from skipstone.write.metrics_modes import metrics_modes

# Facts of an entry by column; those about columns of the file by field id, None for one that goes.
EntryFacts = dict[str, Any]
# A file by its path; a deletion vector by its offset as well, because several share a file.
EntryKey = str | tuple[str, int]

_COUNTS: Final = {"value_count": "value_counts", "null_count": "null_value_counts", "nan_count": "nan_value_counts"}
_BOUNDS: Final = {"lower_bound": "lower_bounds", "upper_bound": "upper_bounds"}
_OF_FILE: Final = ("record_count", "file_size_in_bytes", "split_offsets")
# The two differ by what writers count, not by what is there; without one of them nothing can be concluded.
_OF_STRUCT: Final = "value_count - null_count"
_ROW_IDS_VERSION: Final = 3


def right_entries(findings: Iterable[Finding], metadata: TableMetadata) -> dict[EntryKey, EntryFacts]:
    """The facts to change, by file."""
    right: dict[EntryKey, EntryFacts] = {}
    for finding in findings:
        if finding.file_path is None:
            continue
        key: EntryKey = finding.file_path
        if finding.content_offset is not None:
            key = (finding.file_path, finding.content_offset)
        facts = right.setdefault(key, {})
        if finding.fact in _OF_FILE:
            facts[finding.fact] = finding.actual
        elif finding.field_id is not None:
            for name, value in _of_column(finding, metadata).items():
                facts.setdefault(name, {})[finding.field_id] = value
    return {key: facts for key, facts in right.items() if facts}


def beyond_repair(
    findings: Iterable[Finding], metadata: TableMetadata, snapshot: Snapshot
) -> tuple[tuple[Finding, str], ...]:
    """The findings that nothing but other files, or nothing at all, can put right, each with the reason."""
    reasons = ((finding, _reason(finding, metadata, snapshot)) for finding in findings)
    return tuple((finding, reason) for finding, reason in reasons if reason is not None)


def _reason(finding: Finding, metadata: TableMetadata, snapshot: Snapshot) -> str | None:
    if finding.fact == "file":
        return "the file cannot be read. Restore it, or remove it from the table."
    if finding.fact == PARTITION_VALUE:
        return (
            "rows lie in a file of another partition. Write them again: read the file's rows, delete and append them."
        )
    is_past = snapshot.snapshot_id != metadata.current_snapshot_id
    if is_past and (finding.fact.startswith("total-") or finding.manifest_path is not None):
        return "a snapshot never changes. What is still wrong in the current one is repaired there."
    has_row_ids = metadata.format_version >= _ROW_IDS_VERSION and not finding.is_about_deletes
    if finding.fact == "record_count" and has_row_ids and finding.actual > finding.stored:
        return "a greater count would reach into the row ids of other files. Write the rows again."
    return None


def _of_column(finding: Finding, metadata: TableMetadata) -> Mapping[str, Any]:
    if finding.fact in _COUNTS:
        return {_COUNTS[finding.fact]: finding.actual}
    if finding.fact == _OF_STRUCT:
        return {"value_counts": None, "null_value_counts": None}
    assert finding.field_id is not None
    name = _BOUNDS[finding.fact]
    assert name in METRIC_COLUMNS
    schema = metadata.current_schema
    mode = metrics_modes(schema, metadata.properties, metadata.default_sort_order).get(finding.field_id)
    if mode is None or mode.kind in ("none", "counts"):
        return {name: None}
    type_: Any = analysed_leaves(schema)[finding.field_id].type
    return {name: bound_bytes(type_, finding.actual, mode, is_upper=name == "upper_bounds")}
