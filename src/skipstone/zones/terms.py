"""Facts of a term from the facts of its column.

For a transform that keeps the order of values, the transforms of the bounds are bounds of the transforms. A bucket is
known only where the column has a single value. For a field of a variant, the bounds lie inside the column's own.

A transform's result may leave its type (truncate just above the smallest integer, hours far from 1970): then the bound
is unknown.
"""

from __future__ import annotations

from decimal import Decimal

from skipstone.metadata.partitions.transforms import (
    HourTransform,
    IdentityTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    units_per_hour,
)
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.types import DecimalType, IntType, LongType, PrimitiveType, Value
from skipstone.metadata.values import bound_type
from skipstone.predicate.arrow_values import comparable, literal_scalar
from skipstone.predicate.nodes import Term, Transformed, VariantGet, term_type
from skipstone.zones.arrow import Array, certain, pa, pc
from skipstone.zones.bounds import without_odd
from skipstone.zones.variant_bounds import variant_bounds
from skipstone.zones.zone_map import ColumnFacts


def facts_of_term(term: Term, column: ColumnFacts) -> ColumnFacts:
    match term:
        case Transformed(IdentityTransform(), _):
            return column
        case Transformed(transform, _):
            return _transformed(transform, term_type(term), column)
        case VariantGet(_, path, type_):
            # A variant may be there without the field; that the field has no nulls is never known.
            return ColumnFacts(
                type=type_,
                lower=variant_bounds(column.lower, path, type_),
                upper=variant_bounds(column.upper, path, type_),
            )
        case _:
            return column


def _transformed(transform: Transform, result: PrimitiveType, column: ColumnFacts) -> ColumnFacts:
    if isinstance(transform, VoidTransform | UnknownTransform):
        return ColumnFacts(type=result)  # null whatever the column holds, or nobody knows what
    # A transform can bring bounds that contradict each other into order, so they have to go before.
    lower, upper = without_odd(column.lower, column.upper)
    if not transform.preserves_order:
        lower = upper = _single(lower, upper)
    return ColumnFacts(
        type=result,
        lower=_applied(transform, column.type, result, lower),
        upper=_applied(transform, column.type, result, upper),
        null_count=column.null_count,
        value_count=column.value_count,
    )


def _single(lower: Array | None, upper: Array | None) -> Array | None:
    """The only value of the zone, where there is but one."""
    if lower is None or upper is None:
        return None
    return pc.if_else(certain(pc.equal(lower, upper)), lower, pa.scalar(None, lower.type))


def _applied(transform: Transform, type_: PrimitiveType, result: PrimitiveType, bound: Array | None) -> Array | None:
    if bound is None:
        return None
    limits = _limits(transform, type_)
    if limits is not None:
        lowest, highest = (literal_scalar(type_, limit) for limit in limits)
        numbers = comparable(type_, bound)
        stays = pc.and_(pc.greater_equal(numbers, lowest), pc.less_equal(numbers, highest))
        bound = pc.if_else(stays, bound, pa.scalar(None, bound.type))
    transformed = apply_arrow(transform, type_, bound)
    expected = bound_type(result)
    return transformed if transformed.type == expected else transformed.cast(expected)


def _limits(transform: Transform, type_: PrimitiveType) -> tuple[Value, Value] | None:
    """The range of values whose results stay in their type; None if all do."""
    match transform, type_:
        case TruncateTransform(width), IntType() | LongType():
            top = 2**31 if isinstance(type_, IntType) else 2**63
            return -(top // width * width), top - 1
        case TruncateTransform(width), DecimalType(precision=precision, scale=scale):
            top = 10**precision
            return Decimal(f"{-((top - 1) // width * width)}E-{scale}"), Decimal(f"{top - 1}E-{scale}")
        case HourTransform(), _:
            hours = units_per_hour(type_) * 2**31
            return max(-hours, -(2**63)), min(hours, 2**63) - 1
        case _:
            return None
