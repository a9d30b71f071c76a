"""Reading a primitive out of a variant value.

A value of another type than asked for reads as null, as Spark's try_variant_get does, except where nothing is lost:
any integer that fits as a wider or narrower integer, integers and decimals as decimal, float as double.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Final

from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
    Value,
)
from skipstone.metadata.values.variant import VariantKind, VariantObject, VariantPrimitive, VariantValue
from skipstone.metadata.values.variant_paths import parse_path

# Python rounds to 28 digits unless told otherwise; decimals have 38, and scaling adds as many.
_WIDE: Final = Context(prec=100)
_INTEGERS: Final = (VariantKind.INT8, VariantKind.INT16, VariantKind.INT32, VariantKind.INT64)
_DECIMALS: Final = (VariantKind.DECIMAL4, VariantKind.DECIMAL8, VariantKind.DECIMAL16)
_SAME: Final[dict[type[PrimitiveType], tuple[VariantKind, ...]]] = {
    BooleanType: (VariantKind.TRUE, VariantKind.FALSE),
    FloatType: (VariantKind.FLOAT,),
    DoubleType: (VariantKind.DOUBLE, VariantKind.FLOAT),
    DateType: (VariantKind.DATE,),
    TimeType: (VariantKind.TIME,),
    TimestampType: (VariantKind.TIMESTAMP,),
    TimestamptzType: (VariantKind.TIMESTAMPTZ,),
    TimestampNsType: (VariantKind.TIMESTAMP_NS,),
    TimestamptzNsType: (VariantKind.TIMESTAMPTZ_NS,),
    StringType: (VariantKind.STRING,),
    BinaryType: (VariantKind.BINARY,),
    UuidType: (VariantKind.UUID,),
}


def get_path(value: VariantValue, path: str, type_: PrimitiveType) -> Value:
    """The primitive at a normalised path, or None where there is none of that type."""
    current: VariantValue | None = value
    for name in parse_path(path):
        if not isinstance(current, VariantObject):
            return None
        current = current.get(name)
    return as_primitive(current, type_) if isinstance(current, VariantPrimitive) else None


def as_primitive(primitive: VariantPrimitive, type_: PrimitiveType) -> Value:
    """A variant's primitive as a value of a type, or None where it is of another type."""
    kind, value = primitive.kind, primitive.value
    if kind in _SAME.get(type(type_), ()):
        return value
    match type_:
        case IntType() | LongType() if kind in _INTEGERS:
            bits = 32 if isinstance(type_, IntType) else 64
            return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None
        case DecimalType() if kind in _INTEGERS or kind in _DECIMALS:
            return _as_decimal(Decimal(value), type_)
        case _:
            return None


def _as_decimal(number: Decimal, type_: DecimalType) -> Decimal | None:
    unscaled = number.scaleb(type_.scale, _WIDE)
    if unscaled != unscaled.to_integral_value() or abs(int(unscaled)) >= 10**type_.precision:
        return None
    return Decimal(int(unscaled)).scaleb(-type_.scale, _WIDE)
