"""ORC types of Iceberg types, both ways.

Laws: every type but the root carries `iceberg.id` and `iceberg.required`; where ORC has one type for several of
Iceberg's, an attribute tells which. Reading takes pyarrow's view of an ORC file, where the attributes are the metadata
of the Arrow fields; a field without an id has NO_ID and is optional unless it says otherwise.

Spec: "Appendix A: Format-specific Requirements", ORC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.formats.arrow_intake import from_arrow_type
from skipstone.metadata.formats.arrow_types import to_arrow_type
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID
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
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    VariantType,
)

ID_KEY: Final = "iceberg.id"
REQUIRED_KEY: Final = "iceberg.required"
LONG_TYPE_KEY: Final = "iceberg.long-type"
TIMESTAMP_UNIT_KEY: Final = "iceberg.timestamp-unit"
BINARY_TYPE_KEY: Final = "iceberg.binary-type"
LENGTH_KEY: Final = "iceberg.length"
STRUCT_TYPE_KEY: Final = "iceberg.struct-type"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcType:
    """One node of an ORC schema. `names` are those of a struct's children."""

    kind: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    children: tuple[OrcType, ...] = ()
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        match self.kind:
            case "struct":
                inside = ",".join(f"{n}:{c}" for n, c in zip(self.names, self.children, strict=True))
                return f"struct<{inside}>"
            case "array" | "map":
                return f"{self.kind}<{','.join(map(str, self.children))}>"
            case "decimal":
                return f"decimal({self.precision},{self.scale})"
            case _:
                return self.kind


_PLAIN: Final[dict[Type, tuple[str, dict[str, str]]]] = {
    BOOLEAN: ("boolean", {}),
    INT: ("int", {}),
    LONG: ("bigint", {LONG_TYPE_KEY: "LONG"}),
    FLOAT: ("float", {}),
    DOUBLE: ("double", {}),
    DATE: ("date", {}),
    TIME: ("bigint", {LONG_TYPE_KEY: "TIME"}),
    TIMESTAMP: ("timestamp", {TIMESTAMP_UNIT_KEY: "MICROS"}),
    TIMESTAMPTZ: ("timestamp with local time zone", {TIMESTAMP_UNIT_KEY: "MICROS"}),
    TIMESTAMP_NS: ("timestamp", {TIMESTAMP_UNIT_KEY: "NANOS"}),
    TIMESTAMPTZ_NS: ("timestamp with local time zone", {TIMESTAMP_UNIT_KEY: "NANOS"}),
    STRING: ("string", {}),
    UUID: ("binary", {BINARY_TYPE_KEY: "UUID"}),
    BINARY: ("binary", {BINARY_TYPE_KEY: "BINARY"}),
}


def to_orc_schema(schema: Schema | StructType) -> OrcType:
    """The ORC type of a table's rows. Unknown columns are not stored."""
    return _struct(tuple(schema.fields), {})


def _struct(fields: tuple[Field, ...], attributes: Mapping[str, str]) -> OrcType:
    stored = [f for f in fields if not isinstance(f.type, UnknownType)]
    return OrcType(
        kind="struct",
        attributes=attributes,
        names=tuple(f.name for f in stored),
        children=tuple(_node(f) for f in stored),
    )


def _node(f: Field) -> OrcType:
    told = {REQUIRED_KEY: "true" if f.required else "false"}
    if f.id != NO_ID:
        told = {ID_KEY: str(f.id), **told}
    match f.type:
        case StructType(fields):
            return _struct(fields, told)
        case ListType():
            return OrcType(kind="array", attributes=told, children=(_node(f.type.element_field),))
        case MapType():
            return OrcType(kind="map", attributes=told, children=(_node(f.type.key_field), _node(f.type.value_field)))
        case VariantType():
            part = OrcType(kind="binary")
            attributes = {**told, STRUCT_TYPE_KEY: "VARIANT"}
            return OrcType(kind="struct", attributes=attributes, names=("metadata", "value"), children=(part, part))
        case DecimalType(precision, scale):
            return OrcType(kind="decimal", attributes=told, precision=precision, scale=scale)
        case FixedType(length):
            return OrcType(kind="binary", attributes={**told, BINARY_TYPE_KEY: "FIXED", LENGTH_KEY: str(length)})
        case GeometryType():
            return OrcType(kind="binary", attributes={**told, BINARY_TYPE_KEY: "GEOMETRY"})
        case GeographyType():
            return OrcType(kind="binary", attributes={**told, BINARY_TYPE_KEY: "GEOGRAPHY"})
        case _:
            kind, attributes = _PLAIN[f.type]
            return OrcType(kind=kind, attributes={**told, **attributes})


def orc_write_schema(schema: Schema | StructType) -> pa.Schema:
    """The Arrow schema to hand to pyarrow's ORC writer, which stores field metadata as type attributes.

    Columns are held as ORC holds them: time as a long of microseconds, uuid and fixed as binary.
    """
    root = to_orc_schema(schema)
    stored = [f for f in schema.fields if not isinstance(f.type, UnknownType)]
    return pa.schema([_write_field(f, node) for f, node in zip(stored, root.children, strict=True)])


def _write_field(f: Field, node: OrcType) -> pa.Field[Any]:
    attributes: dict[bytes | str, bytes | str] = {k: v for k, v in node.attributes.items()}  # noqa: C416
    return pa.field(f.name, _write_type(f.type, node), nullable=f.optional, metadata=attributes)


def _write_type(type_: Type, node: OrcType) -> pa.DataType:
    match type_:
        case StructType(fields):
            stored = [f for f in fields if not isinstance(f.type, UnknownType)]
            return pa.struct([_write_field(f, child) for f, child in zip(stored, node.children, strict=True)])
        case ListType():
            return pa.list_(_write_field(type_.element_field, node.children[0]))
        case MapType():
            key: Any = _write_field(type_.key_field, node.children[0])
            value: Any = _write_field(type_.value_field, node.children[1])
            return pa.map_(key, value)
        case TimeType():
            return pa.int64()
        case UuidType() | FixedType():
            return pa.binary()
        case _:
            return to_arrow_type(type_)


def from_orc_schema(schema: pa.Schema, *, source: str = "ORC file") -> StructType:
    """The struct of a file, from pyarrow's `ORCFile.schema`."""
    return StructType(tuple(_field(schema.field(i), source, "") for i in range(len(schema))))


def _field(f: pa.Field[Any], source: str, path: str) -> Field:
    where = f"{path}.{f.name}" if path else f.name
    told = {k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, v in (f.metadata or {}).items()}
    return Field(
        id=_number(told, ID_KEY, source, where, NO_ID),
        name=f.name,
        type=_type(f.type, told, source, where),
        required=told.get(REQUIRED_KEY, "false").lower() == "true",
    )


def _type(t: pa.DataType, told: Mapping[str, str], source: str, where: str) -> Type:
    if isinstance(t, pa.StructType):
        if told.get(STRUCT_TYPE_KEY) == "VARIANT":
            return VARIANT
        return StructType(tuple(_field(t.field(i), source, where) for i in range(t.num_fields)))
    if isinstance(t, pa.MapType):
        key, value = _field(t.key_field, source, where), _field(t.item_field, source, where)
        return MapType(key_id=key.id, key=key.type, value_id=value.id, value=value.type, value_required=value.required)
    if isinstance(t, pa.ListType):
        element = _field(t.value_field, source, where)
        return ListType(element_id=element.id, element=element.type, element_required=element.required)
    if isinstance(t, pa.TimestampType):
        return _timestamp(told.get(TIMESTAMP_UNIT_KEY, "MICROS"), t.tz is not None, source, where)
    if pa.types.is_int64(t) and told.get(LONG_TYPE_KEY) == "TIME":
        return TIME
    if pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return _binary(told, source, where)
    try:
        return from_arrow_type(t)
    except InvalidInput:
        # A union, say. No column of a table can be read from it, and binary says so when one tries.
        return BINARY


def _timestamp(unit: str, with_zone: bool, source: str, where: str) -> Type:
    match unit:
        case "MICROS":
            return TIMESTAMPTZ if with_zone else TIMESTAMP
        case "NANOS":
            return TIMESTAMPTZ_NS if with_zone else TIMESTAMP_NS
        case _:
            raise _bad(source, where, f"{TIMESTAMP_UNIT_KEY} MICROS or NANOS", unit)


def _binary(told: Mapping[str, str], source: str, where: str) -> Type:
    match told.get(BINARY_TYPE_KEY, "BINARY"):
        case "UUID":
            return UUID
        case "FIXED":
            return FixedType(_number(told, LENGTH_KEY, source, where, None))
        case "GEOMETRY":
            return GeometryType()
        case "GEOGRAPHY":
            return GeographyType()
        case "BINARY":
            return BINARY
        case other:
            raise _bad(source, where, f"{BINARY_TYPE_KEY} BINARY, UUID, FIXED, GEOMETRY or GEOGRAPHY", other)


def _number(told: Mapping[str, str], key: str, source: str, where: str, missing: int | None) -> int:
    text = told.get(key)
    if text is None and missing is not None:
        return missing
    if text is None or not (text.isascii() and text.isdigit()):
        raise _bad(source, where, f"{key} as a whole number", text)
    return int(text)


def _bad(source: str, where: str, expected: str, got: object) -> FormatViolation:
    return FormatViolation(f"Invalid ORC schema in {source}, column '{where}': expected {expected}, got {got!r}.")
