"""Facts of a term from the facts of its column.

For a transform that keeps the order of values, the transforms of the bounds are bounds of the transforms. A bucket is
known only where the column has a single value. For a field of a variant, the bounds lie inside the column's own.
"""

from __future__ import annotations

from dataclasses import replace

from skipstone.metadata.transforms import Transform
from skipstone.metadata.transforms_arrow import apply_arrow
from skipstone.metadata.types import IntType, LongType, PrimitiveType
from skipstone.metadata.values import bound_type
from skipstone.predicate.nodes import Term, Transformed, VariantGet, term_type
from skipstone.zones.arrow import pa, pc
from skipstone.zones.variant_bounds import variant_bounds
from skipstone.zones.zone_map import ColumnFacts


def facts_of_term(term: Term, column: ColumnFacts) -> ColumnFacts:
    match term:
        case Transformed(transform, _):
            return _transformed(transform, term_type(term), column)
        case VariantGet(_, path, type_):
            return ColumnFacts(
                type=type_,
                lower=variant_bounds(column.lower, path, type_),
                upper=variant_bounds(column.upper, path, type_),
                # A variant may be there without the field; that the field has no nulls is never known.
                null_count=None,
                value_count=None,
            )
        case _:
            return column


def _transformed(transform: Transform, result: PrimitiveType, column: ColumnFacts) -> ColumnFacts:
    lower, upper = column.lower, column.upper
    if lower is None or upper is None:
        # One bound alone would do for an ordered transform, but no source of facts has only one.
        return replace(column, type=result, lower=None, upper=None, lower_exact=None, upper_exact=None)
    if not transform.preserves_order:
        single = pc.fill_null(pc.equal(lower, upper), False)
        lower = upper = pc.if_else(single, lower, pa.scalar(None, lower.type))
    low, high = apply_arrow(transform, column.type, lower), apply_arrow(transform, column.type, upper)
    if isinstance(column.type, IntType | LongType) and transform.preserves_order:
        # Fixed-width arithmetic wraps around at the very bottom of the range.
        low = pc.if_else(pc.fill_null(pc.greater(low, lower), False), pa.scalar(None, low.type), low)
    return replace(
        column,
        type=result,
        lower=low.cast(bound_type(result)),
        upper=high.cast(bound_type(result)),
        nan_count=None,
        lower_exact=None,
        upper_exact=None,
    )
