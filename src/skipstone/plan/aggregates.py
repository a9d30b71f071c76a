"""count, min and max: what is asked, and what the metadata of each planned file answers exactly.

The law: an answer is given only where it is exact. A file is counted where every row of it matches and its deletes say
how many rows they take; its least and greatest values are known where nothing is deleted, every row matches, and the
bounds are the values themselves. Everything else is read.

A bound is the value itself where the zone map says so, where both bounds are equal, and for types that writers do not
shorten: numbers, dates, times and booleans. Texts and binaries are cut by most writers, and some round timestamps to
milliseconds, so a bound on a whole millisecond proves nothing about the value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)
from skipstone.plan.column_facts import column_named, zones_of
from skipstone.plan.live_rows import UNKNOWN_ROWS, deleted_from, live_rows
from skipstone.plan.order import check_sortable
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.arrow_values import comparable_type
from skipstone.predicate.nodes import Column
from skipstone.zones.bounds import Between
from skipstone.zones.kinds import Kinds
from skipstone.zones.verdict import Verdict
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_WHOLE: Final = IntType | LongType | DateType | TimeType | DecimalType | FloatType | DoubleType | BooleanType
_MILLISECOND: Final = {TimestampType: 1_000, TimestamptzType: 1_000, TimestampNsType: 10**6, TimestamptzNsType: 10**6}
_CALL: Final = re.compile(r"\s*(count|min|max)\s*\(\s*(.+?)\s*\)\s*", re.IGNORECASE)


class AggregateKind(Enum):
    COUNT_ALL = "count(*)"
    COUNT = "count"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One number or value asked for. `count(*)` has no column."""

    kind: AggregateKind
    name: str
    column: Column | None = None

    @property
    def is_end(self) -> bool:
        return self.kind in (AggregateKind.MIN, AggregateKind.MAX)


COUNT_ALL: Final = Aggregate(kind=AggregateKind.COUNT_ALL, name="count(*)")


def parse_aggregate(text: str, schema: Schema, *, table: str, case_sensitive: bool = True) -> Aggregate:
    """`count(*)`, `count(price)`, `min(price)`, `max(price)`."""
    call = _CALL.fullmatch(text)
    if call is None:
        raise InvalidInput(
            f"Invalid aggregate {text!r}: expected count(*), count(column), min(column) or max(column). "
            "Read the rows and compute others from them."
        )
    kind = AggregateKind(call[1].lower())
    if call[2] == "*":
        if kind is not AggregateKind.COUNT:
            raise InvalidInput(f"Invalid aggregate {text!r}: expected a column, got *. Only count takes *.")
        return Aggregate(kind=AggregateKind.COUNT_ALL, name=text)
    column = column_named(call[2], schema, what=f"compute {text} of", table=table, case_sensitive=case_sensitive)
    if kind is not AggregateKind.COUNT:
        check_sortable(column.type, f"compute {text}")
    return Aggregate(kind=kind, name=text, column=column)


def told_count(plan: ScanPlan, aggregate: Aggregate) -> Longs:
    """How many rows, or values, each file adds to a count; `UNKNOWN_ROWS` where only reading tells."""
    live = live_rows(plan.files, plan.deletes)
    every = plan.files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES
    if aggregate.column is None:
        return np.where(every, live, UNKNOWN_ROWS)
    zones = zones_of(plan, aggregate.column)
    facts = zones.columns[aggregate.column.field_id]
    kinds = Kinds(facts, zones, is_nested=aggregate.column.is_nested)
    has_no_nulls = kinds.no_null.to_numpy(zero_copy_only=False)
    there = _non_null(zones, aggregate.column)
    # Which rows a vector deletes is not known, only how many: enough if all of them, or none, have a value.
    after_deletes = np.where(there == 0, 0, UNKNOWN_ROWS)
    told = np.where(deleted_from(plan.files), after_deletes, there)
    told = np.where(has_no_nulls & (live != UNKNOWN_ROWS), live, told)
    return np.where(every, told, UNKNOWN_ROWS)


def _non_null(zones: ZoneMap, column: Column) -> Longs:
    """The number of values that are not null; `UNKNOWN_ROWS` where the counts do not say, or are odd."""
    facts = zones.columns[column.field_id]
    values = facts.value_count if facts.value_count is not None or column.is_nested else zones.row_count
    if values is None or facts.null_count is None:
        return np.full(zones.num_zones, UNKNOWN_ROWS, np.int64)
    there = pc.subtract(values, facts.null_count)
    if zones.row_count is not None:
        fits = pc.less_equal(values, zones.row_count)
        there = pc.if_else(fits, there, pa.scalar(None, pa.int64()))
    told: Longs = pc.fill_null(there, UNKNOWN_ROWS).to_numpy(zero_copy_only=False).astype(np.int64)
    told[pc.fill_null(pc.less(facts.null_count, 0), True).to_numpy(zero_copy_only=False)] = UNKNOWN_ROWS
    return np.maximum(told, UNKNOWN_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldEnds:
    """For each file a (comparable) bound on its least or greatest value, null where unknown.

    Where `is_exact` is set, the bound is the value itself, or null because there is no value at all.
    """

    values: Any
    is_exact: Mask


def told_ends(plan: ScanPlan, aggregate: Aggregate) -> ToldEnds:
    """What is known about the least (or greatest) matching value of each file. NaN is never told, always read."""
    column = aggregate.column
    assert column is not None
    zones = zones_of(plan, column)
    facts = zones.columns[column.field_id]
    kinds = Kinds(facts, zones, is_nested=column.is_nested)
    between = Between.of(facts)
    bound = between.lower if aggregate.kind is AggregateKind.MIN else between.upper
    if bound is None:
        bound = pa.nulls(zones.num_zones, comparable_type(column.type))
    every = plan.files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES
    no_nan = kinds.no_nan.to_numpy(zero_copy_only=False)
    has_values = _non_null(zones, column) > 0
    is_value = has_values & every & ~deleted_from(plan.files) & bound.is_valid().to_numpy(zero_copy_only=False)
    is_value &= _is_exact(column.type, between, bound, _flag(facts, aggregate))
    nothing = kinds.no_ordinary.to_numpy(zero_copy_only=False) & no_nan
    values = pc.if_else(pa.array(nothing), pa.scalar(None, bound.type), bound)
    # A NaN is outside the bounds: where there may be one, the bound limits nothing.
    values = pc.if_else(pa.array(no_nan), values, pa.scalar(None, bound.type))
    return ToldEnds(values=values, is_exact=(is_value & no_nan) | nothing)


def _flag(facts: Any, aggregate: Aggregate) -> Any | None:
    return facts.lower_exact if aggregate.kind is AggregateKind.MIN else facts.upper_exact


def _is_exact(type_: PrimitiveType, between: Between, bound: Any, flag: Any | None) -> Mask:
    exact = np.zeros(len(bound), bool) if flag is None else _sure(flag)
    if between.lower is not None and between.upper is not None:
        exact = exact | _sure(pc.equal(between.lower, between.upper))
    if isinstance(type_, _WHOLE):
        return np.ones(len(bound), bool)
    unit = _MILLISECOND.get(type(type_))
    if unit is not None:
        exact = exact | (pc.fill_null(bound, 0).to_numpy(zero_copy_only=False) % unit != 0)
    return exact


def _sure(bits: Any) -> Mask:
    known: Mask = pc.fill_null(bits, False).to_numpy(zero_copy_only=False)
    return known


def check_aggregates(aggregates: Sequence[Aggregate]) -> None:
    names = [a.name for a in aggregates]
    if not names:
        raise InvalidInput("Cannot aggregate: expected at least one of count(*), count, min and max, got none.")
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise InvalidInput(f"Cannot aggregate: {twice[0]!r} was asked for twice. Name each aggregate once.")
