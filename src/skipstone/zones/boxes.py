"""Bounding boxes of geometry and geography columns.

A bound is a point: the lower one holds the smallest coordinates of all objects in the zone, the upper one the largest.
Spec: "Bounds for Variant, Geometry, and Geography".
"""

from __future__ import annotations

from skipstone.predicate.nodes import Box
from skipstone.zones.arrow import Bits, certain, pc
from skipstone.zones.bounds import Between
from skipstone.zones.verdict import bits


def disjoint(between: Between, box: Box, num_zones: int) -> Bits:
    """True where no object of the zone can meet the box."""
    if between.lower is None or between.upper is None:
        return bits(num_zones, False)
    return pc.or_(_apart(between, "x", box.xmin, box.xmax), _apart(between, "y", box.ymin, box.ymax))


def _apart(between: Between, axis: str, low: float, high: float) -> Bits:
    lower, upper = pc.struct_field(between.lower, axis), pc.struct_field(between.upper, axis)
    # A geography's box may run across the antimeridian, x from lower to 180 and on from -180 to upper. Rows are
    # filtered by plain boxes, and one that lies on both sides has a box over the whole middle, so x proves nothing.
    # For the other axes crossed bounds are odd, and so are NaNs.
    plain = pc.less_equal(lower, upper)
    return certain(pc.and_(plain, pc.or_(pc.greater(lower, high), pc.less(upper, low))))
