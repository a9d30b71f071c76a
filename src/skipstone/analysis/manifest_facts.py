"""Files of which manifests prove all that is wanted, so that an analysis opens none of them.

Law: only what is certain. A bound counts as the value itself for whole numbers, decimals, dates and times, and for
floats that are known to have no NaN and no zero, whose sign writers do not keep; counts must add up to the rows of the
file. Text is left out, because its lengths are wanted, booleans, because of how many are true, and timestamps, because
some writers round them. Rows that deletes remove are in all counts, so files with deletes are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow
import pyarrow.compute

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    DateType,
    DecimalType,
    DoubleType,
    Field,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    TimeType,
)
from skipstone.plan.column_facts import zones_of
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.nodes import Column
from skipstone.stats.summary import ColumnSummary, FileSummary

pa: Any = pyarrow
pc: Any = pyarrow.compute

_FLOATS: Final = (FloatType, DoubleType)
_TOLD: Final = (IntType, LongType, DateType, TimeType, DecimalType, *_FLOATS)


def may_be_told(schema: Schema, field_ids: Sequence[int]) -> bool:
    """Whether manifests can prove all about these columns."""
    fields = [schema.find(i) for i in field_ids]
    is_inside = any(i in schema.parents_by_id for i in field_ids)
    return bool(fields) and not is_inside and all(f is not None and isinstance(f.type, _TOLD) for f in fields)


def told_files(plan: ScanPlan, rows: Sequence[int], field_ids: Sequence[int]) -> dict[int, FileSummary]:
    """The summaries of those files, by row, of which all is told. The plan must have the facts of the columns."""
    has_deletes = pc.fill_null(pc.list_value_length(plan.files.column("deletes")), 0).to_numpy() > 0
    chosen = [row for row in rows if not has_deletes[row]]
    columns = [_Told(plan, plan.schema.fields_by_id[i]) for i in field_ids]
    paths = plan.files.column("file_path")
    found: dict[int, FileSummary] = {}
    for row in chosen:
        told = [s for c in columns if (s := c.summary(row)) is not None]
        if len(told) == len(columns):
            count = told[0].value_count
            found[row] = FileSummary(file_path=paths[row].as_py(), row_count=count, deletes_key="", columns=tuple(told))
    return found


class _Told:
    """One column: what the manifests say of each file."""

    def __init__(self, plan: ScanPlan, field: Field) -> None:
        assert isinstance(field.type, PrimitiveType)
        self._id, self._type = field.id, field.type
        zones = zones_of(plan, Column(field_id=field.id, type=field.type, name=field.name))
        facts = zones.columns[field.id]
        self._rows = _numbers(zones.row_count, len(plan))
        self._values = _numbers(facts.value_count, len(plan))
        self._nulls = _numbers(facts.null_count, len(plan))
        self._nans = _numbers(facts.nan_count, len(plan)) if isinstance(field.type, _FLOATS) else [0] * len(plan)
        self._bounds = (facts.lower, facts.upper)

    def summary(self, row: int) -> ColumnSummary | None:
        rows, values, nulls, nans = (c[row] for c in (self._rows, self._values, self._nulls, self._nans))
        if rows is None or values != rows or nulls is None or nans != 0 or not 0 <= nulls <= rows:
            return None
        lower, upper = (self._bound(bound, row) for bound in self._bounds) if nulls < rows else (None, None)
        if nulls < rows and not self._is_certain(lower, upper):
            return None
        return ColumnSummary(
            field_id=self._id, type=self._type, value_count=rows, null_count=nulls, lower=lower, upper=upper
        )

    def _bound(self, bounds: Any, row: int) -> Any:
        return None if bounds is None or not bounds[row].is_valid else arrow_to_value(self._type, bounds[row])

    def _is_certain(self, lower: Any, upper: Any) -> bool:
        if lower is None or upper is None or not lower <= upper:
            return False
        return not isinstance(self._type, _FLOATS) or (lower != 0 and upper != 0)


def _numbers(counts: Any, length: int) -> list[int | None]:
    return [None] * length if counts is None else counts.to_pylist()
