"""The share of text and bytes that match: frequent values are tried, others lie between the extremes by their bytes."""

from __future__ import annotations

from collections.abc import Mapping

from skipstone.metadata.types import Value
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import And, Compare, Op, Or, Predicate, StartsWith, leaves
from skipstone.predicate.one_term import matches_value
from skipstone.stats.column_statistics import ColumnStatistics
from skipstone.stats.heavy_values import sampling_slack

_PLACES = 512
# Without anything to go by: the share that a range, and that a pattern, is taken to match.
RANGE_SHARE = 1 / 3
PATTERN_SHARE = 0.05


def of_text(
    predicate: Predicate, column: ColumnStatistics, heavy: Mapping[Value, int], count: int, float_order: FloatOrder
) -> tuple[float, float, float]:
    """At least, about and at most how many of `count` values match."""
    matched = sum(n for v, n in heavy.items() if matches_value(predicate, v, float_order))
    unmatched = sum(heavy.values()) - matched
    rest = max(count - matched - unmatched, 0)
    slack = 0.0 if column.heavy is None or not column.heavy.is_sampled else sampling_slack(matched + unmatched)
    share = matched + rest * _share_of_others(predicate, column, matched, matched + unmatched)
    return matched - slack, share, count - unmatched + slack


def _share_of_others(predicate: Predicate, column: ColumnStatistics, matched: int, listed: int) -> float:
    low, high = (None if b is None else _place(b.value) for b in (column.low, column.high))
    is_range = all(isinstance(leaf, Compare | StartsWith) for leaf in leaves(predicate))
    if not is_range:
        return matched / listed if listed else PATTERN_SHARE
    if low is None or high is None or high <= low:
        return RANGE_SHARE
    points = [low + (high - low) * (i + 0.5) / _PLACES for i in range(_PLACES)]
    return sum(_matches_place(predicate, p) for p in points) / _PLACES


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
