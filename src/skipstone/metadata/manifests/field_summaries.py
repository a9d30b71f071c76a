"""Field summaries: what the partition tuples of a manifest hold, field by field.

Laws: bounds cover every non-null, non-NaN value and are values of the field themselves (never truncated); -0.0 comes
before +0.0, so a lower bound is not +0.0 when -0.0 occurs, nor an upper bound -0.0 when +0.0 occurs.

Spec: "Manifest Lists", `field_summary`.
"""

from __future__ import annotations

import struct
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import FieldSummary
from skipstone.metadata.types import DoubleType, FloatType, PrimitiveType, StructType, UnknownType, UuidType
from skipstone.metadata.values import serialize_value

_NOTHING: Final = (None, None)


def summarize(partition: pa.StructArray, partition_type: StructType) -> tuple[FieldSummary, ...]:
    """One summary per partition field, in the spec's order, over all partition tuples."""
    columns: list[Any] = list(partition.flatten()) if partition_type.fields else []
    if len(columns) != len(partition_type.fields):
        raise InvalidInput(
            f"Cannot summarize partitions: expected {len(partition_type.fields)} fields, got {len(columns)}."
        )
    return tuple(_summarize_field(column, f.type) for column, f in zip(columns, partition_type.fields, strict=True))


def _summarize_field(column: Any, type_: Any) -> FieldSummary:
    assert isinstance(type_, PrimitiveType), type_
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    contains_nan = False
    if isinstance(type_, UnknownType) or column.null_count == len(column):
        lower, upper = _NOTHING
    elif isinstance(type_, FloatType | DoubleType):
        lower, upper, contains_nan = _float_bounds(column, "<f" if isinstance(type_, FloatType) else "<d")
    else:
        lower, upper = _bounds(column, type_)
    return FieldSummary(
        contains_null=column.null_count > 0,
        contains_nan=contains_nan,
        lower_bound=lower,
        upper_bound=upper,
    )


def _float_bounds(column: Any, code: str) -> tuple[bytes | None, bytes | None, bool]:
    values = column.drop_null().to_numpy()
    is_nan = np.isnan(values)
    values = values[~is_nan]
    if len(values) == 0:
        return None, None, bool(is_nan.any())
    lower, upper = float(values.min()), float(values.max())
    negative_zeros = np.signbit(values[values == 0.0]) if 0.0 in (lower, upper) else np.zeros(0, dtype=np.bool_)
    if lower == 0.0:
        lower = -0.0 if negative_zeros.any() else 0.0
    if upper == 0.0:
        upper = -0.0 if negative_zeros.all() else 0.0
    return struct.pack(code, lower), struct.pack(code, upper), bool(is_nan.any())


def _bounds(column: Any, type_: PrimitiveType) -> tuple[bytes | None, bytes | None]:
    if pa.types.is_temporal(column.type):
        # As integers, so that values beyond Python's calendar work.
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    least_and_most: Any = pc.min_max(column)
    lower, upper = least_and_most["min"].as_py(), least_and_most["max"].as_py()
    if isinstance(type_, UuidType):
        lower, upper = UUID(bytes=lower), UUID(bytes=upper)
    return serialize_value(type_, lower), serialize_value(type_, upper)
