"""Aggregates: from metadata for the files that metadata answers exactly, by reading for the others.

Counts are read from every file that does not tell them. For least and greatest values a file is read only while its
bound can still improve on what its group has, the best bound of each group first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.formats.arrow_types import to_arrow_type, values_to_array
from skipstone.metadata.types import Field, PrimitiveType, StructType
from skipstone.plan.aggregates import (
    COUNT_ALL,
    Aggregate,
    AggregateKind,
    ToldEnds,
    check_aggregates,
    told_count,
    told_ends,
)
from skipstone.plan.codes import NAN_FIRST, NAN_LAST, decoded_values, encoded, encoded_type, group_codes
from skipstone.plan.column_facts import fixed_by_partition
from skipstone.plan.live_rows import UNKNOWN_ROWS
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.arrow_columns import TermValues, column_paths
from skipstone.predicate.arrow_values import comparable, comparable_type
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Column
from skipstone.read.rows import read_plan
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

Mask = npt.NDArray[np.bool_]

_MERGED_AFTER: Final = 64  # partial results


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregated:
    """One row a group, sorted by group, and how many files had to be read for it."""

    table: Any
    files_read: int
    files_planned: int

    def to_pylist(self) -> list[dict[str, Any]]:
        return list(self.table.to_pylist())


def aggregate_plan(
    plan: ScanPlan,
    storage: Storage,
    *,
    aggregates: Sequence[Aggregate],
    group_by: Sequence[Column] = (),
    threads: int | None = None,
) -> Aggregated:
    """The aggregates of the rows of a plan. It needs facts of the aggregated columns, and no limit."""
    check_aggregates(aggregates)
    # A group is there if it has rows: someone has to count them.
    hidden = (COUNT_ALL,) if group_by and all(a.column is not None for a in aggregates) else ()
    work = _Work(plan=plan, storage=storage, wanted=(*aggregates, *hidden), group_by=tuple(group_by), threads=threads)
    files_read = work.run()
    return Aggregated(table=work.result(len(aggregates)), files_read=files_read, files_planned=len(plan))


@dataclass(slots=True, kw_only=True)
class _Work:
    plan: ScanPlan
    storage: Storage
    wanted: tuple[Aggregate, ...]
    group_by: tuple[Column, ...]
    threads: int | None
    partials: list[Any] = field(default_factory=list)

    def run(self) -> int:
        """Fill the partial results; returns how many files were read."""
        groups, is_known = self._groups_of_files()
        counts = {i: told_count(self.plan, a) for i, a in enumerate(self.wanted) if not a.is_end}
        ends = {i: told_ends(self.plan, a) for i, a in enumerate(self.wanted) if a.is_end}
        must_read = ~is_known
        for told in counts.values():
            must_read |= told == UNKNOWN_ROWS
        self._add(self._told(groups, counts, ends, ~must_read))
        self._read(np.flatnonzero(must_read), self.wanted)
        return int(must_read.sum()) + self._read_ends(groups, ends, ~must_read)

    def _groups_of_files(self) -> tuple[list[Any], Mask]:
        """The group of each file by its partition, and for which files it is one group at all."""
        is_known = np.ones(len(self.plan), bool)
        groups = []
        for column in self.group_by:
            fixed = None if column.is_nested else fixed_by_partition(self.plan, column)
            if fixed is None:
                is_known[:] = False
                groups.append(pa.nulls(len(self.plan), encoded_type(comparable_type(column.type))))
            else:
                is_known &= fixed[0]
                groups.append(encoded(comparable(column.type, fixed[1])))
        return groups, is_known

    def _told(self, groups: list[Any], counts: dict[int, Any], ends: dict[int, ToldEnds], use: Mask) -> Any:
        columns = {f"g{i}": g for i, g in enumerate(groups)}
        for i, aggregate in enumerate(self.wanted):
            if i in counts:
                columns[f"a{i}"] = pa.array(counts[i])
            else:
                values = self._encode(aggregate, ends[i].values)
                columns[f"a{i}"] = pc.if_else(pa.array(ends[i].is_exact), values, pa.scalar(None, values.type))
        return pa.table(columns).filter(pa.array(use))

    def _read_ends(self, groups: list[Any], ends: dict[int, ToldEnds], is_open: Mask) -> int:
        """Read files whose bounds can improve on their group's value, more of them a group each time."""
        files_read, per_group = 0, 1
        only = tuple(a for a in self.wanted if a.is_end)
        while ends:
            chosen = np.zeros(len(self.plan), bool)
            for i, told in ends.items():
                chosen |= self._most_promising(i, told, groups, is_open & ~told.is_exact, per_group)
            if not chosen.any():
                break
            self._read(np.flatnonzero(chosen), only)
            is_open = is_open & ~chosen
            files_read += int(chosen.sum())
            per_group *= 4
        return files_read

    def _most_promising(self, i: int, told: ToldEnds, groups: list[Any], candidates: Mask, per_group: int) -> Mask:
        aggregate = self.wanted[i]
        merged = self._merged()
        bounds = self._encode(aggregate, told.values)
        joined = [pa.chunked_array([g, *merged.column(f"g{n}").chunks]) for n, g in enumerate(groups)]
        codes = group_codes(joined, len(self.plan) + merged.num_rows)
        of_files, of_groups = codes[: len(self.plan)], codes[len(self.plan) :]
        place = np.full(int(codes.max(initial=0)) + 1, merged.num_rows, np.int64)
        place[of_groups] = np.arange(merged.num_rows)
        best = merged.column(f"a{i}").combine_chunks()
        best = pa.concat_arrays([best, pa.nulls(1, best.type)]).take(pa.array(place[of_files]))
        is_min = aggregate.kind is AggregateKind.MIN
        better = pc.fill_null((pc.less if is_min else pc.greater)(bounds, best), True)
        rows = np.flatnonzero(candidates & better.to_numpy(zero_copy_only=False))
        order = pc.sort_indices(
            pa.table(
                {
                    "group": pa.array(of_files[rows]),
                    "known": bounds.take(pa.array(rows)).is_valid().cast(pa.int8()),
                    "bound": bounds.take(pa.array(rows)),
                }
            ),
            sort_keys=[
                ("group", "ascending"),
                ("known", "ascending"),
                ("bound", "ascending" if is_min else "descending"),
            ],
        ).to_numpy()
        rows = rows[order]
        starts = np.searchsorted(of_files[rows], of_files[rows])
        chosen = np.zeros(len(self.plan), bool)
        chosen[rows[np.arange(len(rows)) - starts < per_group]] = True
        return chosen

    def _read(self, rows: Any, wanted: tuple[Aggregate, ...]) -> None:
        if len(rows) == 0:
            return
        columns = [*self.group_by, *(a.column for a in wanted if a.column is not None)]
        struct = _struct_of(self.plan, columns)
        for batch in read_plan(self.plan.taking(rows), self.storage, wanted=struct, threads=self.threads):
            self._add(self._grouped(self._rows(batch, wanted)))

    def _rows(self, batch: Any, wanted: tuple[Aggregate, ...]) -> Any:
        """The rows of a batch in the shape of partial results; what is not wanted adds nothing."""
        values: Any = TermValues(batch, column_paths(batch.schema))
        columns: dict[str, Any] = {}
        for n, column in enumerate(self.group_by):
            columns[f"g{n}"] = encoded(comparable(column.type, values.array(column)))
        for i, aggregate in enumerate(self.wanted):
            source = aggregate.column
            if source is None:
                columns[f"a{i}"] = pa.repeat(pa.scalar(int(aggregate in wanted), pa.int64()), batch.num_rows)
            elif aggregate not in wanted:
                columns[f"a{i}"] = pa.nulls(batch.num_rows, self._type_of(aggregate))
            elif aggregate.is_end:
                columns[f"a{i}"] = self._encode(aggregate, comparable(source.type, values.array(source)))
            else:
                columns[f"a{i}"] = values.array(source).is_valid().cast(pa.int64())
        return pa.table(columns)

    def _type_of(self, aggregate: Aggregate) -> Any:
        if not aggregate.is_end or aggregate.column is None:
            return pa.int64()
        return encoded_type(comparable_type(aggregate.column.type))

    def _encode(self, aggregate: Aggregate, values: Any) -> Any:
        """Spark has NaN above all numbers. Elsewhere it is a least or greatest value only if there is no other."""
        is_first = aggregate.kind is AggregateKind.MAX and self.plan.float_order is FloatOrder.IEEE
        return encoded(values, nan=NAN_FIRST if is_first else NAN_LAST)

    def _add(self, partial: Any) -> None:
        self.partials.append(partial)
        if len(self.partials) > _MERGED_AFTER:
            self.partials = [self._merged()]

    def _merged(self) -> Any:
        merged = self._grouped(pa.concat_tables(self.partials))
        self.partials = [merged]
        return merged

    def _grouped(self, rows: Any) -> Any:
        keys = [f"g{n}" for n in range(len(self.group_by))]
        how = {AggregateKind.MIN: "min", AggregateKind.MAX: "max"}
        calls = [(f"a{i}", how.get(a.kind, "sum")) for i, a in enumerate(self.wanted)]
        found = rows.group_by(keys, use_threads=False).aggregate(calls)
        return found.select([*keys, *(f"{name}_{call}" for name, call in calls)]).rename_columns(
            [*keys, *(name for name, _ in calls)]
        )

    def result(self, num_shown: int) -> Any:
        merged = self._merged()
        if self.group_by:
            count = next(i for i, a in enumerate(self.wanted) if a.column is None)
            merged = merged.filter(pc.greater(pc.fill_null(merged.column(f"a{count}"), 0), 0))
            merged = merged.sort_by([(f"g{n}", "ascending") for n in range(len(self.group_by))])
        columns = [_decoded(c, merged.column(f"g{n}")) for n, c in enumerate(self.group_by)]
        for i, aggregate in enumerate(self.wanted[:num_shown]):
            found = merged.column(f"a{i}")
            if aggregate.is_end and aggregate.column is not None:
                columns.append(_decoded(aggregate.column, found))
            else:
                columns.append(pc.fill_null(found, 0))
        return pa.table(columns, names=[*(c.name for c in self.group_by), *(a.name for a in self.wanted[:num_shown])])


def _decoded(column: Column, codes: Any) -> Any:
    type_: PrimitiveType = column.type
    values = decoded_values(type_, comparable_type(type_), codes)
    made: Any = values_to_array(type_, values)
    expected: Any = to_arrow_type(type_)
    return made if made.type == expected else made.cast(expected)


def _struct_of(plan: ScanPlan, columns: Sequence[Column]) -> StructType:
    """The top-level fields that columns lie in."""
    fields: dict[int, Field] = {}
    for column in columns:
        above = [*plan.schema.ancestors(column.field_id)]
        top = above[-1] if above else plan.schema.field(column.field_id)
        fields[top.id] = top
    return StructType(tuple(fields.values()))
