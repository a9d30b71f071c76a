"""The share of rows that match a predicate, from column statistics.

A predicate about one column is tried on what is known of its values: the frequent ones, each with its count, and for
the others points that stand for equal shares of them. Several columns are taken as independent, but the bounds are not:
they hold however the columns hang together (Fréchet's inequalities).

Law: `low <= share <= high`. The bounds rest on the errors that the sketches state, at 99 % confidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import TypeAlias

from skipstone.metadata.types import DecimalType, DoubleType, FloatType, PrimitiveType, Value
from skipstone.metadata.values import parse_value
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Compare,
    In,
    NotIn,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    leaves,
)
from skipstone.predicate.one_term import joined_by_term, matches_value, only_term
from skipstone.stats.column_statistics import ColumnStatistics
from skipstone.stats.heavy_values import SAMPLE_STRIDE
from skipstone.stats.quantiles import RANK_ERROR

_POINTS = 512
# Without anything to go by: the share that a range, and that a pattern, is taken to match.
_RANGE_SHARE = 1 / 3
_PATTERN_SHARE = 0.05

_Count: TypeAlias = tuple[float, float, float]  # at least, about, at most


@dataclass(frozen=True, slots=True)
class Share:
    """A share of rows between two others."""

    low: float
    share: float
    high: float

    @staticmethod
    def of(low: float, share: float, high: float) -> Share:
        low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
        return Share(low, min(max(share, low), high), high)


NOTHING_KNOWN = Share(0.0, _RANGE_SHARE, 1.0)


def selectivity(
    predicate: Predicate, columns: Mapping[int, ColumnStatistics], float_order: FloatOrder = FloatOrder.SPARK
) -> Share:
    """The share of rows that match a bound, normalised predicate."""
    term = only_term(predicate)
    if isinstance(term, Column) and term.field_id in columns:
        return _of_column(predicate, columns[term.field_id], float_order)
    match predicate:
        case AlwaysTrue():
            return Share(1.0, 1.0, 1.0)
        case AlwaysFalse() | Unknown():
            return Share(0.0, 0.0, 0.0)
        case And():
            return reduce(_both, (selectivity(p, columns, float_order) for p in joined_by_term(predicate)))
        case Or():
            return reduce(_either, (selectivity(p, columns, float_order) for p in joined_by_term(predicate)))
        case _:
            return NOTHING_KNOWN


def _both(a: Share, b: Share) -> Share:
    return Share.of(a.low + b.low - 1, a.share * b.share, min(a.high, b.high))


def _either(a: Share, b: Share) -> Share:
    return Share.of(max(a.low, b.low), a.share + b.share - a.share * b.share, a.high + b.high)


def _of_column(predicate: Predicate, column: ColumnStatistics, float_order: FloatOrder) -> Share:
    total = column.value_count.value
    if not total:
        return Share(0.0, 0.0, 0.0)
    nulls = column.null_count.value
    nans = 0 if column.nan_count is None else column.nan_count.value
    known = nulls * matches_value(predicate, None, float_order)
    if nans and matches_value(predicate, math.nan, float_order):
        known += nans
    low, share, high = _ordinary(predicate, column, max(total - nulls - nans, 0), float_order)
    return Share.of((known + low) / total, (known + share) / total, (known + high) / total)


def _ordinary(predicate: Predicate, column: ColumnStatistics, count: int, float_order: FloatOrder) -> _Count:
    """How many of the values that are neither null nor NaN match."""
    if column.true_count is not None and column.false_count is not None:
        found = column.true_count.value * matches_value(predicate, True, float_order)
        found += column.false_count.value * matches_value(predicate, False, float_order)
        return found, found, found
    heavy = {} if column.heavy is None else {parse_value(column.type, v): n for v, n in column.heavy.counts.items()}
    if all(isinstance(leaf, In | NotIn) or _is_equality(leaf) for leaf in leaves(predicate)):
        return _of_listed(predicate, column, heavy, count, float_order)
    points = _points(column)
    if points:
        about = sum(matches_value(predicate, v, float_order) for v in points) / len(points) * count
        # Each end of a range may be off by the error of a rank and by one point.
        slack = 2 * (RANK_ERROR * count + count / len(points))
        return about - slack, about, about + slack
    return _of_text(predicate, column, heavy, count, float_order)


def _is_equality(leaf: Predicate) -> bool:
    return isinstance(leaf, Compare) and leaf.op in (Op.EQ, Op.NE)


def _of_listed(
    predicate: Predicate, column: ColumnStatistics, heavy: Mapping[Value, int], count: int, float_order: FloatOrder
) -> _Count:
    """Predicates that list values: each of them is frequent, with a count, or one of the others."""
    others_match = _others_match(predicate)
    low = share = high = 0.0
    for value in _literals(predicate):
        if matches_value(predicate, value, float_order) != others_match and _is_possible(column, value):
            one = _occurrences(column, heavy, value, count)
            low, share, high = low + one[0], share + one[1], high + one[2]
    return (count - high, count - share, count - low) if others_match else (low, share, high)


def _occurrences(column: ColumnStatistics, heavy: Mapping[Value, int], value: Value, count: int) -> _Count:
    error = count if column.heavy is None else column.heavy.error
    is_sampled = column.heavy is None or column.heavy.is_sampled
    found = heavy.get(value)
    if found is None:
        rest = max(count - sum(heavy.values()), 0)
        ndv = None if column.ndv is None else max(column.ndv.value - len(heavy), 1)
        each = rest / ndv if ndv else rest * _PATTERN_SHARE
        unseen = max(error, *(heavy.values() or (0,))) if is_sampled else error
        most = min(rest, unseen + _sampling_slack(unseen) if is_sampled else unseen)
        return 0.0, min(each, most), float(most)
    slack = _sampling_slack(found) if is_sampled else 0.0
    return found - slack, float(found), found + error + slack


def _sampling_slack(count: int) -> float:
    """Three standard deviations of a count that was scaled up from a sample."""
    return 3 * math.sqrt(count * SAMPLE_STRIDE) + SAMPLE_STRIDE


def _others_match(predicate: Predicate) -> bool:
    """Whether a value that the predicate does not list matches."""
    match predicate:
        case And(children):
            return all(_others_match(c) for c in children)
        case Or(children):
            return any(_others_match(c) for c in children)
        case NotIn():
            return True
        case Compare(op, _, _):
            return op is Op.NE
        case _:
            return False


def _literals(predicate: Predicate) -> list[Value]:
    found: dict[Value, None] = {}
    for leaf in leaves(predicate):
        if isinstance(leaf, In | NotIn):
            found.update(dict.fromkeys(leaf.values))
        elif isinstance(leaf, Compare):
            found[leaf.value] = None
    return list(found)


def _is_possible(column: ColumnStatistics, value: Value) -> bool:
    return column.low is None or column.high is None or bool(column.low.value <= value <= column.high.value)


def _points(column: ColumnStatistics) -> list[Value]:
    """Values that stand for equal shares of the column."""
    if column.quantiles is None or not column.quantiles.count:
        return []
    ranks = [(i + 0.5) / _POINTS for i in range(_POINTS)]
    return [_typed(column.type, v) for v in column.quantiles.quantiles(ranks)]


def _typed(type_: PrimitiveType, value: float) -> Value:
    if isinstance(type_, FloatType | DoubleType):
        return value
    if isinstance(type_, DecimalType):
        return Decimal(repr(value)).quantize(Decimal(1).scaleb(-type_.scale))
    return round(value)


def _of_text(
    predicate: Predicate, column: ColumnStatistics, heavy: Mapping[Value, int], count: int, float_order: FloatOrder
) -> _Count:
    """Text and bytes: frequent values are tried; others lie between the extremes, by their first bytes."""
    matched = sum(n for v, n in heavy.items() if matches_value(predicate, v, float_order))
    unmatched = sum(heavy.values()) - matched
    rest = max(count - matched - unmatched, 0)
    slack = 0.0 if column.heavy is None or not column.heavy.is_sampled else _sampling_slack(matched + unmatched)
    share = matched + rest * _share_of_others(predicate, column, matched, matched + unmatched)
    return matched - slack, share, count - unmatched + slack


def _share_of_others(predicate: Predicate, column: ColumnStatistics, matched: int, listed: int) -> float:
    low, high = (None if b is None else _place(b.value) for b in (column.low, column.high))
    is_range = all(isinstance(leaf, Compare | StartsWith) for leaf in leaves(predicate))
    if not is_range:
        return matched / listed if listed else _PATTERN_SHARE
    if low is None or high is None or high <= low:
        return _RANGE_SHARE
    points = [low + (high - low) * (i + 0.5) / _POINTS for i in range(_POINTS)]
    return sum(_matches_place(predicate, p) for p in points) / _POINTS


_PLACE_BYTES = 6


def _place(value: Value) -> float | None:
    if not isinstance(value, str | bytes):
        return None
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return float(int.from_bytes(data[:_PLACE_BYTES].ljust(_PLACE_BYTES, b"\0"), "big"))


def _matches_place(predicate: Predicate, place: float) -> bool:
    match predicate:
        case And(children):
            return all(_matches_place(c, place) for c in children)
        case Or(children):
            return any(_matches_place(c, place) for c in children)
        case StartsWith(_, prefix):
            start = _place(prefix) or 0.0
            size = len(prefix.encode() if isinstance(prefix, str) else prefix)
            return start <= place < start + 256.0 ** max(_PLACE_BYTES - size, 0)
        case Compare(op, _, value):
            literal = _place(value)
            return literal is not None and _compared(op, place, literal)
        case _:
            return False


def _compared(op: Op, a: float, b: float) -> bool:
    match op:
        case Op.LT | Op.LE:
            return a < b
        case Op.GT | Op.GE:
            return a > b
        case Op.EQ:
            return False
        case Op.NE:
            return True
