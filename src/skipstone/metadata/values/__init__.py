"""Single values: bytes, bounds, JSON, text, and conversion from what users write.

Spec: "Single-value serialization".
"""

from __future__ import annotations

from skipstone.metadata.values.binary import parse_value, serialize_value
from skipstone.metadata.values.bound_types import bound_type
from skipstone.metadata.values.bounds import parse_bound, serialize_bound
from skipstone.metadata.values.bounds_array import parse_bounds_array
from skipstone.metadata.values.bounds_array_write import serialize_bounds_array
from skipstone.metadata.values.checks import check_value
from skipstone.metadata.values.conversion import from_python
from skipstone.metadata.values.display import display
from skipstone.metadata.values.json_values import value_from_json, value_to_json
from skipstone.metadata.values.truncation import truncate_lower, truncate_upper

__all__ = [
    "serialize_value",
    "parse_value",
    "serialize_bound",
    "parse_bound",
    "bound_type",
    "parse_bounds_array",
    "serialize_bounds_array",
    "value_to_json",
    "value_from_json",
    "truncate_lower",
    "truncate_upper",
    "display",
    "from_python",
    "check_value",
]
