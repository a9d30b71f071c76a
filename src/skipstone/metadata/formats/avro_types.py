"""Avro schemas of Iceberg structs: the writing side.

Laws: every struct field, list element, map key and map value carries its id; optional places are unions with null;
a named type (record, fixed) is spelled out once and referred to by name afterwards, as Avro demands; a record is
called `r` and its field id, so that names are unique in the whole schema.

Spec: "Appendix A: Format-specific Requirements", Avro.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.avro_names import sanitize_siblings
from skipstone.metadata.formats.avro_read_types import from_avro_schema, from_avro_type
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
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
    BinaryType,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StringType,
    StructType,
    Type,
    UnknownType,
    UuidType,
    Value,
    VariantType,
)
from skipstone.metadata.values.decimals import unscaled

__all__ = ["AvroSchema", "decimal_bytes_min", "from_avro_schema", "from_avro_type", "to_avro_schema"]

AvroSchema: TypeAlias = "str | list[Any] | dict[str, Any]"

_PLAIN: Final[dict[Type, AvroSchema]] = {
    UNKNOWN: "null",
    BOOLEAN: "boolean",
    INT: "int",
    LONG: "long",
    FLOAT: "float",
    DOUBLE: "double",
    DATE: {"type": "int", "logicalType": "date"},
    TIME: {"type": "long", "logicalType": "time-micros"},
    TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    TIMESTAMPTZ: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    TIMESTAMP_NS: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    TIMESTAMPTZ_NS: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    STRING: "string",
    BINARY: "bytes",
}


def to_avro_schema(
    struct: Schema | StructType, *, name: str = "table", record_names: Mapping[int, str] | None = None
) -> dict[str, Any]:
    """The Avro record schema of a struct, ready for JSON. `record_names` overrides `r<id>` by field id."""
    writer = _Writer(record_names=record_names or {})
    return writer.record(tuple(struct.fields), name)


def decimal_bytes_min(precision: int) -> int:
    """The fewest bytes whose two's complement holds every decimal of this precision."""
    return _BYTES_MIN[precision]


_BYTES_MIN: Final[list[int]] = [0] + [((10**p - 1).bit_length() + 8) // 8 for p in range(1, DECIMAL_PRECISION_MAX + 1)]


@dataclass(slots=True, kw_only=True)
class _Writer:
    record_names: Mapping[int, str]
    named: set[str] = field(default_factory=set)

    def type(self, type_: Type, field_id: int) -> AvroSchema:
        match type_:
            case StructType(fields):
                return self.record(fields, self.record_names.get(field_id, f"r{field_id}"))
            case ListType():
                items = self.place(type_.element_field)
                return _with_id({"type": "array", "items": items}, "element-id", type_.element_id)
            case MapType():
                return self.map(type_)
            case VariantType():
                parts = [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}]
                return {"type": "record", "name": f"r{field_id}", "fields": parts, "logicalType": "variant"}
            case DecimalType(precision, scale):
                size = decimal_bytes_min(precision)
                logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
                return self.fixed(f"decimal_{precision}_{scale}", size, logical)
            case UuidType():
                return self.fixed("uuid_fixed", 16, {"logicalType": "uuid"})
            case FixedType(length):
                return self.fixed(f"fixed_{length}", length, {})
            case GeometryType() | GeographyType():
                return "bytes"
            case _:
                plain = _PLAIN[type_]
                return dict(plain) if isinstance(plain, dict) else plain

    def record(self, fields: tuple[Field, ...], name: str) -> dict[str, Any]:
        if name in self.named:
            raise InvalidInput(f"Cannot write an Avro schema: expected unique record names, got {name!r} twice.")
        self.named.add(name)
        safe_names = sanitize_siblings((f.name for f in fields), (f.id for f in fields))
        written = [self.field(f, safe) for f, safe in zip(fields, safe_names, strict=True)]
        return {"type": "record", "name": name, "fields": written}

    def field(self, f: Field, safe_name: str) -> dict[str, Any]:
        default = avro_default(f.type, f.initial_default)
        result: dict[str, Any] = {"name": safe_name, "type": self.place(f, null_first=default is None)}
        if f.doc is not None:
            result["doc"] = f.doc
        if f.optional or default is not None:
            result["default"] = default
        if safe_name != f.name:
            result["iceberg-field-name"] = f.name
        return _with_id(result, "field-id", f.id)

    def place(self, f: Field, *, null_first: bool = True) -> AvroSchema:
        """The type of a field, element or value. A union's default must fit its first branch, hence the order."""
        written = self.type(f.type, f.id)
        if f.required or isinstance(f.type, UnknownType):
            return written
        return ["null", written] if null_first else [written, "null"]

    def map(self, type_: MapType) -> AvroSchema:
        if isinstance(type_.key, StringType):
            plain = {"type": "map", "values": self.place(type_.value_field)}
            return _with_id(_with_id(plain, "key-id", type_.key_id), "value-id", type_.value_id)
        entry = self.record((type_.key_field, type_.value_field), f"k{type_.key_id}_v{type_.value_id}")
        return {"type": "array", "items": entry, "logicalType": "map"}

    def fixed(self, name: str, size: int, logical: Mapping[str, Any]) -> AvroSchema:
        if name in self.named:
            return name
        self.named.add(name)
        return {"type": "fixed", "name": name, "size": size, **logical}


def _with_id(schema: dict[str, Any], key: str, field_id: int) -> dict[str, Any]:
    if field_id != NO_ID:
        schema[key] = field_id
    return schema


def avro_default(type_: Type, value: Value) -> Any:
    """An Iceberg default as Avro spells it in a schema, or None where Avro has no equivalent.

    Avro writes bytes as a string of code points 0 to 255. Values below a list or map whose places are unions
    with null first cannot be spelled, because a default always means the first branch.
    """
    match type_, value:
        case (_, None):
            return None
        case (BinaryType() | FixedType(), _):
            return bytes(value).decode("latin-1")
        case (UuidType(), _):
            return value.bytes.decode("latin-1")
        case (DecimalType(precision, scale), _):
            stored = unscaled(value, scale).to_bytes(decimal_bytes_min(precision), "big", signed=True)
            return stored.decode("latin-1")
        case (StructType(fields), _):
            return _struct_default(fields, value)
        case (ListType() | MapType(), []):
            return {} if isinstance(type_, MapType) and isinstance(type_.key, StringType) else []
        case (ListType(element_required=True, element=element), _):
            items = [avro_default(element, v) for v in value]
            return None if None in items else items
        case (MapType(value_required=True), _):
            return _map_default(type_, value)
        case (ListType() | MapType(), _):
            return None
        case _:
            return value


def _struct_default(fields: tuple[Field, ...], value: Value) -> dict[str, Any] | None:
    names = sanitize_siblings((f.name for f in fields), (f.id for f in fields))
    result = {}
    for f, name in zip(fields, names, strict=True):
        # A stored struct default is empty: each field brings its own.
        stored = value.get(f.id, f.initial_default)
        sub = avro_default(f.type, stored)
        if sub is None and (stored is not None or f.required):
            return None
        result[name] = sub
    return result


def _map_default(type_: MapType, value: Value) -> Any:
    pairs = [(avro_default(type_.key, k), avro_default(type_.value, v)) for k, v in value]
    if any(k is None or v is None for k, v in pairs):
        return None
    if isinstance(type_.key, StringType):
        return dict(pairs)
    return [{"key": k, "value": v} for k, v in pairs]
