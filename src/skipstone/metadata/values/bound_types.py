"""The Arrow type that holds the typed bounds of a column.

Geometry bounds are points with optional z and m. Variant bounds stay serialized: their content differs from file to
file. An unknown column has no values, hence no bounds.

Spec: "Bound serialization".
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    PrimitiveType,
)

GEO_POINT: Final = pa.struct(
    [pa.field("x", pa.float64()), pa.field("y", pa.float64()), pa.field("z", pa.float64()), pa.field("m", pa.float64())]
)

# Types without parameters; a uuid as its bytes.
PLAIN_TYPES: Final[dict[PrimitiveType, pa.DataType]] = {
    UNKNOWN: pa.null(),
    BOOLEAN: pa.bool_(),
    INT: pa.int32(),
    LONG: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    DATE: pa.date32(),
    TIME: pa.time64("us"),
    TIMESTAMP: pa.timestamp("us"),
    TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    TIMESTAMP_NS: pa.timestamp("ns"),
    TIMESTAMPTZ_NS: pa.timestamp("ns", tz="UTC"),
    STRING: pa.string(),
    UUID: pa.binary(16),
    BINARY: pa.binary(),
    VARIANT: pa.binary(),
}


# By class: values without parameters all have the same hash, so that a dictionary of them is a list to search.
_PLAIN_BY_CLASS: Final = {type(plain): arrow for plain, arrow in PLAIN_TYPES.items()}


def bound_type(type_: PrimitiveType) -> pa.DataType:
    """The Arrow type of a column of bounds."""
    plain = _PLAIN_BY_CLASS.get(type(type_))
    if plain is not None:
        return plain
    match type_:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case FixedType(length=length):
            return pa.binary(length)
        case GeometryType() | GeographyType():
            return GEO_POINT
    raise InvalidInput(f"Cannot hold bounds of {type_}: expected a primitive type.")
