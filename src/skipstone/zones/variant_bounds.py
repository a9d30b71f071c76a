"""Bounds of one field inside a variant column.

A variant's bound is an object whose keys are normalised paths. Bounds exist only where all values of the field have one
type; a bound of another type than asked for proves nothing, and neither does one that does not fit or is damaged.
Spec: "Bounds for Variant, Geometry, and Geography".
"""

from __future__ import annotations

from skipstone.errors import SkipstoneError
from skipstone.metadata.types import PrimitiveType
from skipstone.metadata.values import parse_bounds_array, serialize_bound
from skipstone.metadata.values.variant import VariantObject, VariantPrimitive, parse_concatenated
from skipstone.predicate.variant_terms import as_primitive
from skipstone.zones.arrow import Array, pa


def variant_bounds(bounds: Array | None, path: str, type_: PrimitiveType) -> Array | None:
    """The bounds of a field as an array of its type, null where unknown."""
    if bounds is None:
        return None
    packed = pa.array([None if raw is None else _bound_at(raw, path, type_) for raw in bounds.to_pylist()], pa.binary())
    return parse_bounds_array(type_, packed, source="variant bounds", on_bad="unknown")


def _bound_at(raw: bytes, path: str, type_: PrimitiveType) -> bytes | None:
    """The field's bound, serialized."""
    try:
        bound = parse_concatenated(raw)
        entry = bound.get(path) if isinstance(bound, VariantObject) else None
        value = as_primitive(entry, type_) if isinstance(entry, VariantPrimitive) else None
        return None if value is None else serialize_bound(type_, value)
    except SkipstoneError:
        return None  # damaged statistics never lose rows
