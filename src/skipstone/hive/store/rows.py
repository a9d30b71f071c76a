"""A row of statistics, from and to the value, in every lay-out.

The original lay-out keeps a low or a high as bytes: the text of the number, so that any tool can read it and no kind
of number loses a digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import sqlalchemy as sa

from skipstone.errors import FormatViolation
from skipstone.hive.statistics import BOUNDED, Bound, ColumnStatistics, parse_bound
from skipstone.hive.store.layout import Layout
from skipstone.hive.types import Kind, kind_of

_PREFIXES: Final[Mapping[Kind, str]] = {
    Kind.LONG: "LONG",
    Kind.DATE: "LONG",
    Kind.TIMESTAMP: "LONG",
    Kind.DOUBLE: "DOUBLE",
    Kind.DECIMAL: "BIG_DECIMAL",
}
_BOUNDS: Final = tuple(f"{p}_{end}_VALUE" for p in ("LONG", "DOUBLE", "BIG_DECIMAL") for end in ("LOW", "HIGH"))


def row_of(statistics: ColumnStatistics, layout: Layout) -> dict[str, Any]:
    """The columns of a row that come from the value."""
    row: dict[str, Any] = {
        "COLUMN_NAME": statistics.column,
        "COLUMN_TYPE": statistics.type,
        "NUM_NULLS": statistics.num_nulls,
        "NUM_DISTINCTS": statistics.num_distincts,
        "BIT_VECTOR": statistics.bit_vector,
        "AVG_COL_LEN": statistics.avg_length,
        "MAX_COL_LEN": statistics.max_length,
        "NUM_TRUES": statistics.num_trues,
        "NUM_FALSES": statistics.num_falses,
    }
    if not layout.has_typed_bounds:
        return row | {"LOW_VALUE": _bytes(statistics.low), "HIGH_VALUE": _bytes(statistics.high)}
    row |= dict.fromkeys(_BOUNDS)
    row["HISTOGRAM"] = statistics.histogram
    if statistics.kind in BOUNDED:
        prefix = _PREFIXES[statistics.kind]
        row[f"{prefix}_LOW_VALUE"] = _column_value(statistics.kind, statistics.low)
        row[f"{prefix}_HIGH_VALUE"] = _column_value(statistics.kind, statistics.high)
    return row


def statistics_in(row: Mapping[Any, Any], layout: Layout) -> ColumnStatistics:
    """The value in a row."""
    kind = kind_of(row["COLUMN_TYPE"])
    if kind is None:
        raise FormatViolation(
            f"Invalid statistics row of column {row['COLUMN_NAME']!r}: expected a type that has statistics, "
            f"got {row['COLUMN_TYPE']!r}."
        )
    low, high = (_bound(row, kind, end, layout) for end in ("LOW", "HIGH"))
    return ColumnStatistics(
        column=row["COLUMN_NAME"],
        type=row["COLUMN_TYPE"],
        kind=kind,
        num_nulls=row["NUM_NULLS"],
        num_distincts=row["NUM_DISTINCTS"],
        low=low,
        high=high,
        avg_length=row["AVG_COL_LEN"],
        max_length=row["MAX_COL_LEN"],
        num_trues=row["NUM_TRUES"],
        num_falses=row["NUM_FALSES"],
        bit_vector=row["BIT_VECTOR"] or None,
        histogram=(row["HISTOGRAM"] or None) if layout.has_typed_bounds else None,
    )


def value_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns that `statistics_in` reads."""
    skipped = {"CS_ID", "CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME", "PART_NAME", "TBL_ID", "PART_ID"}
    return [column for column in table.columns if column.name not in skipped | {"LAST_ANALYZED", "ENGINE"}]


def _bound(row: Mapping[Any, Any], kind: Kind, end: str, layout: Layout) -> Bound | None:
    if kind not in BOUNDED:
        return None
    stored = row[f"{_PREFIXES[kind]}_{end}_VALUE"] if layout.has_typed_bounds else row[f"{end}_VALUE"]
    if stored is None:
        return None
    if isinstance(stored, bytes):
        return parse_bound(kind, stored.decode("utf-8"))
    return Decimal(stored) if kind is Kind.DECIMAL else stored


def _column_value(kind: Kind, value: Bound | None) -> Any:
    if value is None:
        return None
    match kind:
        case Kind.DECIMAL:
            return str(value)  # as Java's BigDecimal writes itself: with an exponent if many zeros would lead
        case Kind.DOUBLE:
            return float(value)
        case _:
            return int(value)


def _bytes(value: Bound | None) -> bytes | None:
    if value is None:
        return None
    return (format(value, "f") if isinstance(value, Decimal) else repr(value)).encode("utf-8")
