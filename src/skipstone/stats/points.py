"""Points that stand for equal shares of a column, and a filter tried on them.

Law: quantiles are doubles, which tell whole numbers and decimals apart only up to some digits. A point that may stand
for values on both sides of a literal counts as one that may match.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Final

from skipstone.metadata.types import DecimalType, DoubleType, FloatType, PrimitiveType, Value
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Compare, In, NotIn, Predicate, leaves
from skipstone.predicate.one_term import matches_value
from skipstone.stats.column_statistics import ColumnStatistics

_POINTS: Final = 512
# Up to here every whole number is a double, and a decimal of so many digits has one of its own.
_EXACT_INTEGER: Final = 2.0**53
_EXACT_UNSCALED: Final = 1e15
# A decimal becomes a double in steps, each of which may round.
_DECIMAL_ULPS: Final = 4
_WIDE: Final = Context(prec=80)


def quantile_points(column: ColumnStatistics) -> list[float]:
    """Values that stand for equal shares of the column; none where it has no quantiles."""
    if column.quantiles is None or not column.quantiles.count:
        return []
    return column.quantiles.quantiles([(i + 0.5) / _POINTS for i in range(_POINTS)])


def tried(
    predicate: Predicate, points: Sequence[float], type_: PrimitiveType, float_order: FloatOrder
) -> tuple[int, int]:
    """How many points match for sure, and how many can match."""
    literals = sorted(_literals(predicate))
    least = most = 0
    for point in points:
        value: Any = _typed(type_, point)
        width = _width(type_, point)
        if width and any(value - width <= literal <= value + width for literal in literals):
            most += 1
        elif matches_value(predicate, value, float_order):
            least, most = least + 1, most + 1
    return least, most


def _literals(predicate: Predicate) -> list[Any]:
    found: list[Any] = []
    for leaf in leaves(predicate):
        if isinstance(leaf, In | NotIn):
            found += leaf.values
        elif isinstance(leaf, Compare):
            found.append(leaf.value)
    return found


def _typed(type_: PrimitiveType, point: float) -> Value:
    if isinstance(type_, FloatType | DoubleType):
        return point
    if isinstance(type_, DecimalType):
        return Decimal(repr(point)).quantize(Decimal(1).scaleb(-type_.scale), context=_WIDE)
    return round(point)


def _width(type_: PrimitiveType, point: float) -> int | Decimal:
    """How far the values that a point stands for can lie from it."""
    if isinstance(type_, FloatType | DoubleType):
        return 0
    if isinstance(type_, DecimalType):
        if abs(point) * 10.0**type_.scale < _EXACT_UNSCALED:
            return 0
        return Decimal(_DECIMAL_ULPS * math.ulp(point)) + Decimal(1).scaleb(-type_.scale)
    return 0 if abs(point) < _EXACT_INTEGER else math.ceil(math.ulp(point))
