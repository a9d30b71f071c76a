"""Partition zone maps held against the rows: the bounds of each partition enclose the values of its data files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow

from skipstone.analysis.audit import AuditedFile, Finding, outside
from skipstone.analysis.partition_counts import places_in
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DoubleType, FloatType, Value
from skipstone.stats.partition_layout import PARTITION, SPEC_ID
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.stats.summary import ColumnSummary, merge_summaries
from skipstone.zones.zone_map import ColumnFacts

pa: Any = pyarrow


def audit_zones(
    path: str, stored: PartitionStatistics, schema: Schema, files: Any, audited: Sequence[AuditedFile]
) -> list[Finding]:
    """`files` are the data files of the snapshot, `audited` what each of them holds."""
    by_place: dict[int, list[AuditedFile]] = {}
    places = places_in(stored.rows, files).tolist()
    for file in audited:
        by_place.setdefault(places[file.row], []).append(file)
    found: list[Finding] = []
    for place, members in by_place.items():
        # A file that cannot be read is found elsewhere; nothing can be said about a partition with it.
        if place < 0 or any(m.summary is None for m in members):
            continue
        for field_id, facts in stored.zones.columns.items():
            parts = _parts(members, field_id)
            if len(parts) == len(members) and parts[0].type == facts.type:
                about = f"column {schema.name_of(field_id)!r} of {_partition(stored.rows, place)}"
                is_inside = schema.parents_by_id.get(field_id) is not None
                for fact, was, is_ in _wrong(facts, place, merge_summaries(parts), is_inside=is_inside):
                    found.append(Finding(stored_in=path, about=about, fact=f"partition {fact}", stored=was, actual=is_))
    return found


def _parts(members: Iterable[AuditedFile], field_id: int) -> list[ColumnSummary]:
    return [c for m in members if m.summary is not None for c in m.summary.columns if c.field_id == field_id]


def _wrong(facts: ColumnFacts, place: int, true: ColumnSummary, *, is_inside: bool) -> list[tuple[str, Any, Any]]:
    lower, upper = (_value(true, bound, place) for bound in (facts.lower, facts.upper))
    found = outside(lower, upper, true)
    counts: dict[str, int] = {}
    if not is_inside:  # writers differ on what a row without the struct counts as
        counts |= {"null_count": true.null_count, "value_count": true.value_count}
    if isinstance(true.type, FloatType | DoubleType):
        counts["nan_count"] = true.nan_count
    for name, actual in counts.items():
        array = getattr(facts, name)
        was = None if array is None else array[place].as_py()
        if was is not None and was != actual:
            found.append((name, was, actual))
    return found


def _value(true: ColumnSummary, bound: Any, place: int) -> Value:
    return None if bound is None else arrow_to_value(true.type, bound[place])


def _partition(rows: Any, row: int) -> str:
    return f"partition {rows.column(PARTITION)[row].as_py()} of spec {rows.column(SPEC_ID)[row].as_py()}"
