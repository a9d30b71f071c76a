"""Arrow types, schemas and values of Iceberg types, both ways.

Law: `from_arrow_schema(to_arrow_schema(s))` gives back every column of `s` with its id, type, need and doc. Ids travel
in the field metadata that Parquet readers and writers use, at all levels. What Arrow has no type for (variant,
geometry, geography) is stored as plain bytes or a struct, with the Iceberg type named in the field metadata.

Spec: "Schemas and Data Types", "Appendix A: Format-specific Requirements".
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_intake import (
    COMMENT_KEY,
    FIELD_ID_KEY,
    TYPE_KEY,
    ArrowRules,
    from_arrow_schema,
    from_arrow_type,
    struct_from_arrow,
)
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.types import (
    DECIMAL_PRECISION_MAX,
    UUID,
    VARIANT,
    DateType,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
    Value,
    VariantType,
)
from skipstone.metadata.values.bound_types import PLAIN_TYPES, bound_type

__all__ = [
    "COMMENT_KEY",
    "FIELD_ID_KEY",
    "TYPE_KEY",
    "VARIANT_STORAGE",
    "ArrowRules",
    "arrow_to_value",
    "bound_type",
    "constant_array",
    "from_arrow_schema",
    "from_arrow_type",
    "struct_from_arrow",
    "to_arrow_field",
    "to_arrow_schema",
    "to_arrow_type",
    "value_to_arrow",
    "values_to_array",
]

VARIANT_STORAGE: Final = pa.struct(
    [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
)

_TO_ARROW: Final[dict[Any, pa.DataType]] = {
    **PLAIN_TYPES,
    # The canonical extension, not fixed_size_binary(16): it is what makes a Parquet file say UUID.
    UUID: pa.uuid(),
    VARIANT: VARIANT_STORAGE,
}


# Wide enough that no decimal of the format is ever rounded.
_EXACT: Final = Context(prec=DECIMAL_PRECISION_MAX + 1)


def to_arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type that holds a column of this type, with field ids on everything below."""
    match type_:
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case FixedType(length):
            return pa.binary(length)
        case GeometryType() | GeographyType():
            return pa.binary()
        case StructType(fields):
            return pa.struct([to_arrow_field(f) for f in fields])
        case ListType():
            return pa.list_(to_arrow_field(type_.element_field))
        case MapType():
            key: Any = to_arrow_field(type_.key_field)
            value: Any = to_arrow_field(type_.value_field)
            return pa.map_(key, value)
        case _:
            return _TO_ARROW[type_]


def to_arrow_field(f: Field) -> pa.Field[Any]:
    metadata: dict[bytes | str, bytes | str] = {}
    if f.id != NO_ID:
        metadata[FIELD_ID_KEY] = str(f.id).encode()
    if f.doc is not None:
        metadata[COMMENT_KEY] = f.doc.encode()
    if isinstance(f.type, VariantType | GeometryType | GeographyType):
        metadata[TYPE_KEY] = str(f.type).encode()
    return pa.field(f.name, to_arrow_type(f.type), nullable=f.optional, metadata=metadata or None)


def to_arrow_schema(schema: Schema | StructType) -> pa.Schema:
    """The Arrow schema of a table, ids in the field metadata."""
    return pa.schema([to_arrow_field(f) for f in schema.fields])


def empty_table(schema: pa.Schema) -> pa.Table:
    """A table without rows, a chunk a column. Arrow's own fails for UUIDs inside structs, lists and maps."""
    nothing: Any = pa.nulls
    return pa.Table.from_arrays([nothing(0, f.type) for f in schema], schema=schema)


def value_to_arrow(type_: Type, value: Value) -> pa.Scalar[Any]:
    """One value as an Arrow scalar of `to_arrow_type(type_)`."""
    scalar: pa.Scalar[Any] = values_to_array(type_, [value])[0]
    return scalar


def values_to_array(type_: Type, values: Sequence[Value]) -> pa.Array[Any]:
    """Values as an Arrow array of `to_arrow_type(type_)`.

    Built level by level, because Arrow's own conversion knows neither structs by field id nor nested extensions.
    """
    arrow_type = to_arrow_type(type_)
    try:
        match type_:
            case StructType(fields):
                return _struct_array(fields, arrow_type, values)
            case ListType():
                elements = [e for v in values if v is not None for e in v]
                return nested_array(
                    arrow_type, _offsets(values), [values_to_array(type_.element, elements)], _nulls(values)
                )
            case MapType():
                pairs = [pair for v in values if v is not None for pair in v]
                keys = values_to_array(type_.key, [k for k, _ in pairs])
                items = values_to_array(type_.value, [v for _, v in pairs])
                return nested_array(arrow_type, _offsets(values), [keys, items], _nulls(values))
            case UuidType():
                return pa.array([None if v is None else _uuid_bytes(v) for v in values], arrow_type)
            case _:
                return pa.array(list(values), arrow_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as e:
        raise InvalidInput(
            f"Cannot convert values to Arrow: expected values of {type_}, got one that is not: {e}."
        ) from e


def constant_array(type_: Type, value: Value, length: int) -> pa.Array[Any]:
    """The same value `length` times."""
    return values_to_array(type_, [value]).take(np.zeros(length, dtype=np.int64))


def arrow_to_value(type_: Type, scalar: pa.Scalar[Any]) -> Value:
    """The value of an Arrow scalar: the inverse of `value_to_arrow`."""
    s: Any = scalar
    if not s.is_valid:
        return None
    match type_:
        case DateType() | TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return s.value
        case UuidType():
            raw = s.as_py()
            return raw if isinstance(raw, uuid.UUID) else uuid.UUID(bytes=raw)
        case DecimalType(_, scale):
            return Decimal(s.as_py()).quantize(Decimal(1).scaleb(-scale), context=_EXACT)
        case StructType(fields):
            return {f.id: arrow_to_value(f.type, s[i]) for i, f in enumerate(fields)}
        case ListType():
            return [arrow_to_value(type_.element, e) for e in s.values]
        case MapType():
            keys, items = s.values.field(0), s.values.field(1)
            return [
                (arrow_to_value(type_.key, k), arrow_to_value(type_.value, v)) for k, v in zip(keys, items, strict=True)
            ]
        case _:
            return s.as_py()


def nested_array(
    arrow_type: pa.DataType, offsets: pa.Array[Any], children: Sequence[pa.Array[Any]], nulls: pa.Array[Any]
) -> pa.Array[Any]:
    """A list (one child) or map (key and value children) array."""
    made: Any = pa.MapArray if pa.types.is_map(arrow_type) else pa.ListArray
    array: pa.Array[Any] = made.from_arrays(offsets, *children, type=arrow_type, mask=nulls)
    return array


def struct_array(arrow_type: pa.DataType, children: Sequence[pa.Array[Any]], nulls: pa.Array[Any]) -> pa.Array[Any]:
    """A struct array; `nulls` also carries the length when there are no children."""
    struct_type: Any = arrow_type
    if not children:
        return pa.array([None if n else {} for n in nulls.to_pylist()], arrow_type)
    fields = [struct_type.field(i) for i in range(struct_type.num_fields)]
    return pa.StructArray.from_arrays(list(children), fields=fields, mask=nulls)


def _struct_array(fields: Sequence[Field], arrow_type: pa.DataType, values: Sequence[Value]) -> pa.Array[Any]:
    children = [values_to_array(f.type, [None if v is None else v.get(f.id) for v in values]) for f in fields]
    return struct_array(arrow_type, children, _nulls(values))


def _nulls(values: Sequence[Value]) -> pa.Array[Any]:
    return pa.array([v is None for v in values], pa.bool_())


def _offsets(values: Sequence[Value]) -> pa.Array[Any]:
    lengths = np.array([0, *(0 if v is None else len(v) for v in values)], dtype=np.int64)
    return pa.array(np.cumsum(lengths).astype(np.int32))


def _uuid_bytes(value: Value) -> bytes:
    return value.bytes if isinstance(value, uuid.UUID) else bytes(value)
