"""Data files as zones: the metrics that manifests hold, one zone an entry.

Laws: a metric that is missing is unknown; a negative count, which some writers use for unknown, is unknown; a count
that contradicts the number of rows is unknown. Bounds are as loose as the writer made them, so they are exact nowhere.

Spec: "Data File Fields".
"""

from __future__ import annotations

import re
from typing import Final

from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    Type,
    UnknownType,
)
from skipstone.metadata.values import bound_type
from skipstone.predicate.nodes import WholeType
from skipstone.zones.arrow import Array, Counts, numbers, pa, pc
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

_METRIC: Final = re.compile(r"(\d+)\.(lower|upper|null_count|nan_count|value_count)")
_SECOND: Final = {
    TimestampType: 1_000_000,
    TimestamptzType: 1_000_000,
    TimestampNsType: 1_000_000_000,
    TimestamptzNsType: 1_000_000_000,
}


def from_manifest_table(table: pa.Table, schema: Schema) -> ZoneMap:
    """One zone for each row of a manifest's table, with the metric columns ("4.lower") that were asked for.

    Facts about columns that `schema` does not have, or that lie in lists and maps, are left out: no predicate reads
    them. A struct, list or map has counts at most: ORC writers tell how many of them are null. `record_count` and
    `file_format` are used where the table has them.
    """
    row_count = _column(table, "record_count")
    rows = None if row_count is None else known_count(row_count)
    wanted = [m for name in table.column_names if (m := _METRIC.fullmatch(name))]
    columns: dict[int, ColumnFacts] = {}
    for field_id in dict.fromkeys(int(m[1]) for m in wanted):
        field = schema.find(field_id)
        if field is None or schema.is_in_list_or_map(field_id):
            continue
        is_nested = schema.parents_by_id.get(field_id) is not None
        columns[field_id] = _facts(table, field_id, field.type, rows, is_nested=is_nested)
    return ZoneMap(num_zones=table.num_rows, row_count=rows, columns=columns)


def _facts(table: pa.Table, field_id: int, type_: Type, rows: Counts | None, *, is_nested: bool) -> ColumnFacts:
    values = _count(table, f"{field_id}.value_count")
    if rows is not None:
        values = _value_count(values, rows, is_nested=is_nested)
    if not isinstance(type_, PrimitiveType):
        nulls = _count(table, f"{field_id}.null_count")
        return ColumnFacts(type=WholeType(type_), null_count=nulls, value_count=values)
    lower, upper = (_bound(table, f"{field_id}.{kind}", type_) for kind in ("lower", "upper"))
    if upper is not None and type(type_) in _SECOND and "file_format" in table.column_names:
        upper = _with_late_second(upper, _SECOND[type(type_)], _column(table, "file_format"))
    return ColumnFacts(
        type=type_,
        lower=lower,
        upper=upper,
        null_count=_count(table, f"{field_id}.null_count"),
        nan_count=_count(table, f"{field_id}.nan_count"),
        value_count=values,
    )


def _value_count(values: Counts | None, rows: Counts, *, is_nested: bool) -> Counts:
    """A column outside any struct has one value a row, told or not; one inside has at most as many."""
    if not is_nested:
        odd = None if values is None else pc.not_equal(values, rows)
        return rows if odd is None else pc.if_else(pc.fill_null(odd, False), _UNKNOWN, pc.coalesce(values, rows))
    if values is None:
        return pa.nulls(len(rows), pa.int64())
    return pc.if_else(pc.fill_null(pc.greater(values, rows), False), _UNKNOWN, values)


_UNKNOWN: Final = pa.scalar(None, pa.int64())


def known_count(counts: Counts) -> Counts:
    """Counts with those below zero made unknown."""
    counts = counts if counts.type == pa.int64() else counts.cast(pa.int64())
    if not counts.null_count and numbers(counts).min(initial=0) >= 0:
        return counts
    return pc.if_else(pc.less(counts, 0), _UNKNOWN, counts)


def _count(table: pa.Table, name: str) -> Counts | None:
    column = _column(table, name)
    return None if column is None else known_count(column)


def _bound(table: pa.Table, name: str, type_: PrimitiveType) -> Array | None:
    column = _column(table, name)
    if column is None or isinstance(type_, UnknownType) or pa.types.is_null(column.type):
        return None
    return column if column.type == bound_type(type_) else None


def _column(table: pa.Table, name: str) -> Array | None:
    if name not in table.column_names:
        return None
    column = table.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _with_late_second(upper: Array, second: int, file_format: Array) -> Array:
    """Widen bounds in the last second before 1970 in ORC files.

    The ORC writer of Iceberg Java stores such moments one second late, and readers find them there, while the metrics
    speak of the moment that was meant.
    """
    stored = upper.view(pa.int64())
    late = pc.and_kleene(pc.less(stored, 0), pc.greater_equal(stored, -second))
    late = pc.and_kleene(late, pc.equal(pc.utf8_lower(file_format), "orc"))
    late = pc.fill_null(late, False)
    if not pc.any(late).as_py():
        return upper
    return pc.if_else(late, pc.add(stored, second), stored).view(upper.type)
