"""Bounds made comparable: one plain Arrow type a column, odd bounds forgotten.

NaN bounds, and a lower bound above its upper one, are odd: both of the pair become unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from skipstone.metadata.types import PrimitiveType, Value
from skipstone.predicate.arrow_values import comparable, literal_array, literal_scalar
from skipstone.zones.arrow import Array, Bits, Scalar, certain, has_any, pa, pc
from skipstone.zones.zone_map import ColumnFacts


@dataclass(frozen=True, slots=True)
class Between:
    """Comparable bounds of a column; None where no zone has any."""

    type: PrimitiveType
    lower: Array | None
    upper: Array | None

    @staticmethod
    def of(facts: ColumnFacts) -> Between:
        lower, upper = (None if b is None else comparable(facts.type, b) for b in (facts.lower, facts.upper))
        return Between(facts.type, *without_odd(lower, upper))

    def scalar(self, value: Value) -> Scalar:
        return literal_scalar(self.type, value)

    def array(self, values: tuple[Value, ...]) -> Array:
        return literal_array(self.type, values)


def without_odd(lower: Array | None, upper: Array | None) -> tuple[Array | None, Array | None]:
    """The bounds of one column, comparable or not, with odd pairs made unknown. Boxes are for `boxes` to look at."""
    odd = [_nan(bound) for bound in (lower, upper) if bound is not None and pa.types.is_floating(bound.type)]
    if lower is not None and upper is not None and not pa.types.is_struct(lower.type):
        odd.append(certain(pc.greater(lower, upper)))
    for found in odd:
        if has_any(found):
            lower, upper = _forgotten(found, lower), _forgotten(found, upper)
    return lower, upper


def _nan(bound: Array) -> Bits:
    return certain(pc.is_nan(bound))


def _forgotten(where: Bits, bound: Array | None) -> Array | None:
    return None if bound is None else pc.if_else(where, pa.scalar(None, bound.type), bound)
