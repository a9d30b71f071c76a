"""Bounding boxes of geometry and geography columns.

A bound is a point: the lower one holds the smallest coordinates of all objects in the zone, the upper one the largest.
Spec: "Bounds for Variant, Geometry, and Geography".
"""

from __future__ import annotations

from skipstone.metadata.types import GeographyType
from skipstone.predicate.nodes import Box
from skipstone.zones.arrow import Bits, pa, pc
from skipstone.zones.bounds import Between
from skipstone.zones.verdict import bits


def disjoint(between: Between, box: Box, num_zones: int) -> Bits:
    """True where no object of the zone can meet the box."""
    if between.lower is None or between.upper is None:
        return bits(num_zones, False)
    apart_x = _apart(between, "x", box.xmin, box.xmax, wraps=isinstance(between.type, GeographyType))
    apart_y = _apart(between, "y", box.ymin, box.ymax, wraps=False)
    return pc.fill_null(pc.or_kleene(apart_x, apart_y), False)


def _apart(between: Between, axis: str, low: float, high: float, *, wraps: bool) -> Bits:
    lower, upper = pc.struct_field(between.lower, axis), pc.struct_field(between.upper, axis)
    plain = pc.or_kleene(pc.greater(lower, high), pc.less(upper, low))
    crossed = pc.greater(lower, upper)
    # A geography's box may run across the antimeridian; for a planar one crossed bounds are odd and prove nothing.
    across = pc.and_kleene(pc.less(high, lower), pc.greater(low, upper)) if wraps else pa.scalar(False)
    return pc.if_else(crossed, across, plain)
