"""What a Parquet footer proves about a column: how many nulls, and the least and greatest value.

Law: only what is certain. Statistics of a footer may be looser than the values, so bounds count where the writer is
known to store values of fixed width as they are, for whole numbers and times in the table's own type and unit. Floats
are left out, for no footer counts NaNs, and so is text, which writers cut.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    DateType,
    DecimalType,
    Field,
    IntType,
    LongType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Value,
)
from skipstone.write.parquet_metrics import statistic_value

_WRITERS: Final = ("parquet-cpp-arrow", "parquet-mr")
_UNITS: Final[dict[type[PrimitiveType], str | None]] = {
    IntType: None,
    LongType: None,
    DateType: None,
    DecimalType: None,
    TimeType: "microseconds",
    TimestampType: "microseconds",
    TimestamptzType: "microseconds",
    TimestampNsType: "nanoseconds",
    TimestamptzNsType: "nanoseconds",
}
_WHOLE: Final = ("INT32", "INT64")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldColumn:
    """Exact for all rows of a file; both bounds are None where all values are null."""

    value_count: int
    null_count: int
    lower: Value
    upper: Value


def told_columns(
    footer: Any, schema: Schema, field_ids: Sequence[int], stored: Mapping[int, Field]
) -> dict[int, ToldColumn]:
    """The top-level columns, by field id, that a footer (pyarrow's `FileMetaData`) tells all of this about.

    `stored` are the columns that it has.
    """
    if not str(footer.created_by).startswith(_WRITERS):
        return {}
    leaves = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
    found: dict[int, ToldColumn] = {}
    for field_id in field_ids:
        wanted, there = schema.find(field_id), stored.get(field_id)
        if wanted is None or there is None or there.type != wanted.type or type(there.type) not in _UNITS:
            continue
        index = leaves.get(there.name)
        assert isinstance(there.type, PrimitiveType)
        if index is not None and _is_as_read(footer.schema.column(index), there.type):
            told = _told(footer, index, there.type)
            found |= {} if told is None else {field_id: told}
    return found


def _is_as_read(column: Any, type_: PrimitiveType) -> bool:
    """Whether stored numbers are the table's own: in its unit, and not bytes."""
    unit = _UNITS[type(type_)]
    is_in_unit = unit is None or json.loads(column.logical_type.to_json()).get("timeUnit") == unit
    return is_in_unit and column.physical_type in _WHOLE and column.max_repetition_level == 0


def _told(footer: Any, index: int, type_: PrimitiveType) -> ToldColumn | None:
    nulls = 0
    lower: list[Any] = []
    upper: list[Any] = []
    for group in range(footer.num_row_groups):
        chunk = footer.row_group(group).column(index)
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        nulls += statistics.null_count
        if statistics.null_count == chunk.num_values:
            continue
        if not statistics.has_min_max:
            return None
        lower.append(statistic_value(type_, statistics.min_raw))
        upper.append(statistic_value(type_, statistics.max_raw))
    return ToldColumn(
        value_count=footer.num_rows, null_count=nulls, lower=min(lower, default=None), upper=max(upper, default=None)
    )
