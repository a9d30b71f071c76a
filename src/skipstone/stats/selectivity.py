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
from functools import reduce
from typing import TypeAlias

from skipstone.metadata.types import DoubleType, FloatType, Value
from skipstone.metadata.values import parse_value
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Compare,
    In,
    IsNan,
    IsNull,
    NotIn,
    NotNan,
    NotNull,
    Op,
    Or,
    Predicate,
    Unknown,
    leaves,
)
from skipstone.predicate.one_term import joined_by_term, matches_value, only_term
from skipstone.stats.column_statistics import ColumnStatistics
from skipstone.stats.heavy_values import sampling_slack
from skipstone.stats.labels import Labelled
from skipstone.stats.points import quantile_points, tried
from skipstone.stats.quantiles import RANK_ERROR
from skipstone.stats.text_share import PATTERN_SHARE, RANGE_SHARE, of_text

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


NOTHING_KNOWN = Share(0.0, RANGE_SHARE, 1.0)


def selectivity(
    predicate: Predicate, columns: Mapping[int, ColumnStatistics], float_order: FloatOrder = FloatOrder.SPARK
) -> Share:
    """The share of rows that match a bound, normalised predicate."""
    term = only_term(predicate)
    if term is not None:
        known = columns.get(term.field_id) if isinstance(term, Column) else None
        return NOTHING_KNOWN if known is None else _of_column(predicate, known, float_order)
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
    nulls = _between(column.null_count, column, total)
    nans = _nans(column, total - nulls[0])
    sure, possible = 0, 0
    for value, (least, most) in ((None, nulls), (math.nan, nans)):
        if most and matches_value(predicate, value, float_order):
            sure, possible = sure + least, possible + most
    fewest, most_ordinary = max(total - nulls[1] - nans[1], 0), total - nulls[0] - nans[0]
    low, _, _ = _ordinary(predicate, column, fewest, float_order)
    _, share, high = _ordinary(predicate, column, most_ordinary, float_order)
    return Share.of((sure + low) / total, (sure + share) / total, (possible + high) / total)


def _between(count: Labelled[int], column: ColumnStatistics, total: int) -> tuple[int, int]:
    """From where to where a count lies, among the rows that were seen.

    After deletes a count is a bound of what is left, but it was exact of what was seen; as many as there are rows is
    also how a count is told that nobody knows.
    """
    is_exact = count.is_exact or (column.is_after_deletes and count.value < total)
    return count.value if is_exact else 0, min(count.value, total)


def _nans(column: ColumnStatistics, rest: int) -> tuple[int, int]:
    if not isinstance(column.type, FloatType | DoubleType):
        return 0, 0
    return (0, rest) if column.nan_count is None else _between(column.nan_count, column, rest)


def _ordinary(predicate: Predicate, column: ColumnStatistics, count: int, float_order: FloatOrder) -> _Count:
    """How many of the values that are neither null nor NaN match."""
    if column.true_count is not None and column.false_count is not None:
        found = column.true_count.value * matches_value(predicate, True, float_order)
        found += column.false_count.value * matches_value(predicate, False, float_order)
        return found, found, found
    if all(isinstance(leaf, IsNull | NotNull | IsNan | NotNan) for leaf in leaves(predicate)):
        found = count * matches_value(predicate, _ANY_ORDINARY, float_order)
        return found, found, found
    heavy = _heavy(column)
    if all(isinstance(leaf, In | NotIn) or _is_equality(leaf) for leaf in leaves(predicate)):
        return _of_listed(predicate, column, heavy, count, float_order)
    points = quantile_points(column)
    if points:
        least, most = tried(predicate, points, column.type, float_order)
        # Each end of a range may be off by the error of a rank and by one point.
        slack = max(2, _ends(predicate)) * (RANK_ERROR * count + count / len(points))
        low, high = (count * matched / len(points) for matched in (least, most))
        return low - slack, (low + high) / 2, high + slack
    return of_text(predicate, column, heavy, count, float_order)


# Neither null nor NaN, which is all that matters where it is used.
_ANY_ORDINARY = 1.0


def _heavy(column: ColumnStatistics) -> dict[Value, int]:
    """The frequent values with their counts. Both zeros are one to a filter; NaNs are counted elsewhere."""
    found: dict[Value, int] = {}
    for data, count in () if column.heavy is None else column.heavy.counts.items():
        value = parse_value(column.type, data)
        if value == value:
            found[value] = found.get(value, 0) + count
    return found


def _ends(predicate: Predicate) -> int:
    """How many ends the ranges have that a predicate is true of, at most."""
    ends = 0
    for leaf in leaves(predicate):
        match leaf:
            case Compare(op, _, _):
                ends += 1 if op in (Op.LT, Op.LE, Op.GT, Op.GE) else 2
            case In(_, values) | NotIn(_, values):
                ends += 2 * len(values)
            case _:
                ends += 2
    return ends


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
    if value == 0 and isinstance(column.type, FloatType | DoubleType):
        error *= 2  # -0.0 and 0.0 are counted apart
    is_sampled = column.heavy is None or column.heavy.is_sampled
    found = heavy.get(value)
    if found is None:
        rest = max(count - sum(heavy.values()), 0)
        ndv = None if column.ndv is None else max(column.ndv.value - len(heavy), 1)
        each = rest / ndv if ndv else rest * PATTERN_SHARE
        unseen = max(error, *(heavy.values() or (0,))) if is_sampled else error
        most = min(rest, unseen + sampling_slack(unseen) if is_sampled else unseen)
        return 0.0, min(each, most), float(most)
    slack = sampling_slack(found) if is_sampled else 0.0
    return found - slack, float(found), found + error + slack


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
