"""The first k rows by some columns, read from as few files as the bounds allow.

Files are read in batches, the best first. Once there are k rows, what is read further is filtered by the k-th of them,
so that row groups and pages that cannot improve on it are skipped as well, and reading stops when no file can.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow

from skipstone.metadata.formats.arrow_types import empty_table, to_arrow_schema
from skipstone.metadata.types import Field, StructType, UuidType, Value
from skipstone.plan.order import Places, SortKey, row_places, sorted_by
from skipstone.plan.scan import ScanPlan
from skipstone.plan.topk import TopPlan
from skipstone.predicate.arrow_columns import TermValues, column_paths
from skipstone.predicate.arrow_values import comparable
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Compare, IsNan, IsNull, Op, Predicate, and_, or_
from skipstone.read.rows import read_plan
from skipstone.storage.protocol import Storage
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow

# Rows kept beyond k before they are sorted and cut: sorting for every batch would cost more than holding them.
_HELD_MIN: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRows:
    """The first rows in their order, and what it took to find them."""

    rows: Any
    files_read: int
    files_planned: int
    files_skipped_by_bounds: int


def read_top(top: TopPlan, storage: Storage, *, wanted: StructType, threads: int | None = None) -> TopRows:
    """The first `top.k` rows with the wanted columns."""
    search = _Search(top=top, struct=with_keys(wanted, top.plan, top.keys))
    position, batch_size = 0, max(1, threads or 1)
    while position < len(top.plan) and search.is_open(position):
        rows = search.next_files(position, batch_size)
        search.take(read_plan(search.plan_of(rows), storage, wanted=search.struct, threads=threads))
        search.files_read += len(rows)
        position += batch_size
        batch_size *= 2
    planned = next(level.zones_in for level in reversed(top.plan.levels) if level.name == "top-k")
    return TopRows(
        rows=_only(search.finish(), wanted),
        files_read=search.files_read,
        files_planned=planned,
        files_skipped_by_bounds=planned - search.files_read,
    )


@dataclass(slots=True, kw_only=True)
class _Search:
    """The best rows so far. `last` is the place of the k-th of them, once there are k."""

    top: TopPlan
    struct: StructType
    held: list[Any] = field(default_factory=list)
    num_held: int = 0
    last: tuple[int, Any] | None = None
    files_read: int = 0

    def is_open(self, position: int) -> bool:
        return self.top.k > 0 and (self.last is None or self.top.still_open(position, *self.last))

    def next_files(self, position: int, count: int) -> Any:
        """The next files in order, without those that the k-th row so far rules out."""
        rows = np.arange(position, min(position + count, len(self.top.plan)))
        if self.last is None:
            return rows
        return rows[self.top.mask_open(position, *self.last)[: len(rows)]]

    def plan_of(self, rows: Any) -> ScanPlan:
        plan = self.top.plan.taking(rows)
        if self.last is None:
            return plan
        better = before(self.top.keys, self.last, plan.float_order)
        if better == TRUE:
            return plan
        verdicts = pa.array(np.full(len(plan), int(Verdict.UNKNOWN), np.int8))
        place = plan.files.schema.get_field_index("verdict")
        return replace(
            plan,
            predicate=and_(plan.predicate, better),
            files=plan.files.set_column(place, "verdict", verdicts),
            _residuals={},
        )

    def take(self, batches: Iterator[Any]) -> None:
        schema: Any = to_arrow_schema(self.struct)
        for batch in batches:
            self.held.append(batch if batch.schema.equals(schema, check_metadata=True) else batch.cast(schema))
            self.num_held += batch.num_rows
            if self.num_held > max(_HELD_MIN, 4 * self.top.k):
                self._cut()
        self._cut()

    def _cut(self) -> None:
        if not self.held:
            return
        rows = pa.Table.from_batches(self.held).combine_chunks()
        if not rows.num_rows:
            self.held = []
            return
        (batch,) = rows.to_batches()
        places = places_of(batch, self.top.keys, self.top.plan.float_order)
        order = sorted_by(places)[: self.top.k]
        self.held, self.num_held = [batch.take(pa.array(order))], len(order)
        if len(order) == self.top.k:
            at, first = int(order[-1]), places[0]
            self.last = (int(first.ranks[at]), first.values[at])

    def finish(self) -> Any:
        self._cut()
        schema: Any = to_arrow_schema(self.struct)
        return pa.Table.from_batches(self.held) if self.held else empty_table(schema)


def places_of(batch: Any, keys: Sequence[SortKey], float_order: FloatOrder) -> list[Places]:
    """The places of the rows of a batch, key by key."""
    values = TermValues(batch, column_paths(batch.schema))
    return [row_places(k, comparable(k.column.type, values.array(k.column)), float_order) for k in keys]


def before(keys: Sequence[SortKey], last: tuple[int, Any], float_order: FloatOrder) -> Predicate:
    """True for every row that can come before a place by the first key; TRUE where that cannot be told in a filter."""
    key, (rank, value) = keys[0], last
    kinds = key.kinds(float_order)
    if kinds[rank] != "ordinary":
        return TRUE
    is_only = len(keys) == 1
    op = (Op.GT if is_only else Op.GE) if key.descending else (Op.LT if is_only else Op.LE)
    parts: list[Predicate] = [Compare(op, key.column, _literal(key, value))]
    if "null" in kinds[:rank]:
        parts.append(IsNull(key.column))
    if "nan" in kinds[:rank] and str(key.column.type) in ("float", "double"):
        parts.append(IsNan(key.column))
    return or_(*parts)


def _literal(key: SortKey, value: Any) -> Value:
    plain = value.as_py()
    return uuid.UUID(bytes=plain) if isinstance(key.column.type, UuidType) else plain


def with_keys(wanted: StructType, plan: ScanPlan, keys: Sequence[SortKey]) -> StructType:
    """The wanted fields and, whole, those the keys lie in."""
    fields: dict[int, Field] = {f.id: f for f in wanted.fields}
    for key in keys:
        field_id = key.column.field_id
        top = next(iter(reversed([*plan.schema.ancestors(field_id)])), plan.schema.field(field_id))
        fields[top.id] = top
    return StructType(tuple(fields.values()))


def _only(rows: Any, wanted: StructType) -> Any:
    """The wanted columns of rows that may have more, or larger structs."""
    schema: Any = to_arrow_schema(wanted)
    columns = []
    for place, column in enumerate(schema):
        found = rows.column(place)
        columns.append(found if found.type == column.type else pa.array(found.to_pylist(), column.type))
    return pa.table(columns, schema=schema) if columns else rows.select([])
