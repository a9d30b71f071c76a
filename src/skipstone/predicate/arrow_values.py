"""Arrow arrays and literals of a type made comparable: one plain Arrow type a column, without loss.

Dates and times become integers, float becomes double, fixed and uuid become binary, so that the literals of a bound
predicate compare with the values directly and Arrow's own kernels agree with the reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import pyarrow

from skipstone.metadata.types import (
    DateType,
    DecimalType,
    FixedType,
    FloatType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
    Value,
)
from skipstone.metadata.values.bound_types import bound_type

pa: Any = pyarrow

Array: TypeAlias = Any  # an Arrow array whose type is known only at run time
Scalar: TypeAlias = Any


def comparable(type_: PrimitiveType, array: Array) -> Array:
    """The values of a column of a type, in the form that literals take."""
    match type_:
        case DateType():
            return array.view(pa.int32())
        case TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return array.view(pa.int64())
        case FloatType():
            return array.cast(pa.float64())
        case FixedType() | UuidType():
            return array.cast(pa.binary())
        case _:
            return array


def comparable_type(type_: PrimitiveType) -> Any:
    """The Arrow type of comparable values."""
    match type_:
        case DateType():
            return pa.int32()
        case TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return pa.int64()
        case FloatType():
            return pa.float64()
        case FixedType() | UuidType():
            return pa.binary()
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case _:
            return bound_type(type_)


def literal_scalar(type_: PrimitiveType, value: Value) -> Scalar:
    return pa.scalar(_plain(type_, value), comparable_type(type_))


def literal_array(type_: PrimitiveType, values: Iterable[Value]) -> Array:
    return pa.array([_plain(type_, v) for v in values], comparable_type(type_))


def _plain(type_: PrimitiveType, value: Value) -> Any:
    return value.bytes if isinstance(type_, UuidType) else value
