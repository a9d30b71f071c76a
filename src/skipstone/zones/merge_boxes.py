"""Bounding boxes merged: the box around boxes.

A geography's box may run across the antimeridian, lower x above upper x. The box around such a one and others spans
the whole circle. For a planar geometry such a box is odd, and nothing follows from it.

Spec: "Bounds for Variant, Geometry, and Geography".
"""

from __future__ import annotations

from typing import Any, Final

from skipstone.metadata.values.bound_types import GEO_POINT
from skipstone.zones.arrow import Array, Bits, pa, pc

_WEST: Final = -180.0
_EAST: Final = 180.0


def merge_boxes(lower: Array, upper: Array, groups: Any, needed: Bits, *, wraps: bool) -> tuple[Array, Array]:
    """`groups` is what folds over the members of each group; `needed` says which members hold any object."""
    low, high = ({axis: _known(pc.struct_field(b, axis)) for axis in "xyzm"} for b in (lower, upper))
    crossed = pc.fill_null(pc.greater(low["x"], high["x"]), False)
    if wraps:
        low["x"] = pc.if_else(crossed, pa.scalar(_WEST), low["x"])
        high["x"] = pc.if_else(crossed, pa.scalar(_EAST), high["x"])
    else:
        low["x"], high["x"] = (pc.if_else(crossed, _NOTHING, side["x"]) for side in (low, high))
    upside_down = pc.fill_null(pc.greater(low["y"], high["y"]), False)
    low["y"], high["y"] = (pc.if_else(upside_down, _NOTHING, side["y"]) for side in (low, high))
    return _points(low, "min", groups, needed), _points(high, "max", groups, needed)


_NOTHING: Final = pa.scalar(None, pa.float64())


def _known(coordinate: Array) -> Array:
    return pc.if_else(pc.is_nan(coordinate), _NOTHING, coordinate)


def _points(side: dict[str, Array], how: str, groups: Any, needed: Bits) -> Array:
    merged = {}
    for axis, values in side.items():
        folded = groups.fold(pc.if_else(needed, values, _NOTHING), how)
        merged[axis] = pc.if_else(groups.any(pc.and_(needed, values.is_null())), _NOTHING, folded)
    unknown = pc.or_(merged["x"].is_null(), merged["y"].is_null())
    return pa.StructArray.from_arrays([merged[a] for a in "xyzm"], fields=list(GEO_POINT), mask=unknown)
