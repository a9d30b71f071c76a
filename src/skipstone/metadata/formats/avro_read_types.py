"""Iceberg structs of Avro schemas: the reading side.

Laws: a place without an id has NO_ID; unions are only ever a type with null, in either order; both forms of map are
understood; a schema that refers to itself or to a name it does not define is refused, and so is one nested deeper
than any real table.

Spec: "Appendix A: Format-specific Requirements", Avro.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from skipstone.errors import FormatViolation, InvalidInput
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
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    StructType,
    Type,
)

DEPTH_MAX: Final = 100

_PLAIN: Final[dict[str, Type]] = {
    "null": UNKNOWN,
    "boolean": BOOLEAN,
    "int": INT,
    "long": LONG,
    "float": FLOAT,
    "double": DOUBLE,
    "bytes": BINARY,
    "string": STRING,
}
_NAMED: Final = ("record", "fixed", "enum", "error")
# Logical types of long: without and with an instant's meaning.
_TIMESTAMPS: Final = {
    "timestamp-millis": (TIMESTAMP, TIMESTAMPTZ),
    "timestamp-micros": (TIMESTAMP, TIMESTAMPTZ),
    "timestamp-nanos": (TIMESTAMP_NS, TIMESTAMPTZ_NS),
    "local-timestamp-millis": (TIMESTAMP, TIMESTAMP),
    "local-timestamp-micros": (TIMESTAMP, TIMESTAMP),
    "local-timestamp-nanos": (TIMESTAMP_NS, TIMESTAMP_NS),
}


def from_avro_schema(schema: Any, *, source: str = "Avro schema") -> StructType:
    """The struct of an Avro record schema."""
    found = from_avro_type(schema, source=source)
    if not isinstance(found, StructType):
        raise FormatViolation(f"Invalid Avro schema in {source}: expected a record at the top, got {found}.")
    return found


def from_avro_type(schema: Any, *, source: str = "Avro schema") -> Type:
    """The Iceberg type of any Avro schema without null."""
    return _Reader(source=source).type(schema, "root", "", 0)


@dataclass(slots=True, kw_only=True)
class _Reader:
    source: str
    types_by_name: dict[str, Type] = field(default_factory=dict)
    names_open: set[str] = field(default_factory=set)

    def type(self, schema: Any, where: str, namespace: str, depth: int) -> Type:
        if depth > DEPTH_MAX:
            raise self.bad(where, f"at most {DEPTH_MAX} levels", "more")
        if isinstance(schema, str):
            return self.by_name(schema, where, namespace)
        if isinstance(schema, list):
            return self.place(schema, where, namespace, depth)[0]
        if not isinstance(schema, dict):
            raise self.bad(where, "an Avro type", repr(schema)[:100])
        kind = schema.get("type")
        if isinstance(kind, dict | list):
            return self.type(kind, where, namespace, depth + 1)
        if kind in _NAMED:
            return self.define(schema, str(kind), where, namespace, depth)
        if kind == "array":
            return self.array(schema, where, namespace, depth)
        if kind == "map":
            return self.map(schema, where, namespace, depth)
        if not isinstance(kind, str):
            raise self.bad(where, "a 'type'", repr(kind)[:100])
        return self.logical(schema, self.by_name(kind, where, namespace), where)

    def by_name(self, name: str, where: str, namespace: str) -> Type:
        if (plain := _PLAIN.get(name)) is not None:
            return plain
        full = _full_name(name, namespace)
        if full in self.names_open:
            raise self.bad(where, "a type that does not contain itself", f"a reference to enclosing {name!r}")
        found = self.types_by_name.get(full, self.types_by_name.get(name))
        if found is None:
            raise self.bad(where, "a primitive or a type defined before", repr(name)[:100])
        return found

    def place(self, schema: Any, where: str, namespace: str, depth: int) -> tuple[Type, bool]:
        """The type of a field, element or value, and whether it is required."""
        if not isinstance(schema, list):
            found = self.type(schema, where, namespace, depth + 1)
            return found, found != UNKNOWN
        branches = [b for b in schema if b != "null" and b != {"type": "null"}]
        has_null = len(branches) < len(schema)
        if not branches and has_null:
            return UNKNOWN, False
        if len(branches) != 1 or len(schema) > 2:
            raise self.bad(where, "a union of null and one type", f"{len(schema)} branches")
        return self.type(branches[0], where, namespace, depth + 1), not has_null

    def define(self, schema: Mapping[str, Any], kind: str, where: str, namespace: str, depth: int) -> Type:
        name = schema.get("name")
        if not isinstance(name, str) or not name:
            raise self.bad(where, f"a name for the {kind}", repr(name)[:100])
        own = schema.get("namespace")
        full = _full_name(name, own if isinstance(own, str) else namespace)
        self.names_open.add(full)
        if kind == "fixed":
            found = self.fixed(schema, where)
        elif kind == "enum":
            found = STRING
        elif schema.get("logicalType") == "variant":
            found = VARIANT
        else:
            found = self.record(schema, where, full.rpartition(".")[0], depth)
        self.names_open.discard(full)
        self.types_by_name[full] = found
        return found

    def record(self, schema: Mapping[str, Any], where: str, namespace: str, depth: int) -> StructType:
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise self.bad(where, "a list of 'fields'", repr(fields)[:100])
        return StructType(tuple(self.field(f, where, namespace, depth) for f in fields))

    def field(self, f: Any, where: str, namespace: str, depth: int) -> Field:
        if not isinstance(f, dict) or not isinstance(f.get("name"), str) or "type" not in f:
            raise self.bad(where, "a field object with 'name' and 'type'", repr(f)[:100])
        told = f.get("iceberg-field-name")
        name = told if isinstance(told, str) else f["name"]
        inside = f"{where}.{name}"
        type_, required = self.place(f["type"], inside, namespace, depth)
        doc = f.get("doc")
        return Field(
            id=self.id(f, "field-id", inside),
            name=name,
            type=type_,
            required=required,
            doc=doc if isinstance(doc, str) else None,
        )

    def array(self, schema: Mapping[str, Any], where: str, namespace: str, depth: int) -> Type:
        inside = f"{where}.element"
        element, required = self.place(schema.get("items"), inside, namespace, depth)
        if schema.get("logicalType") == "map":
            if not isinstance(element, StructType) or len(element.fields) != 2:
                raise self.bad(inside, "a record of key and value under logical type map", str(element)[:100])
            key, value = element.fields
            return MapType(
                key_id=key.id, key=key.type, value_id=value.id, value=value.type, value_required=value.required
            )
        element_id = self.id(schema, "element-id", inside)
        return ListType(element_id=element_id, element=element, element_required=required)

    def map(self, schema: Mapping[str, Any], where: str, namespace: str, depth: int) -> MapType:
        inside = f"{where}.value"
        value, required = self.place(schema.get("values"), inside, namespace, depth)
        return MapType(
            key_id=self.id(schema, "key-id", f"{where}.key"),
            key=STRING,
            value_id=self.id(schema, "value-id", inside),
            value=value,
            value_required=required,
        )

    def fixed(self, schema: Mapping[str, Any], where: str) -> Type:
        size = schema.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise self.bad(where, "a size of 0 or more for the fixed type", repr(size)[:100])
        if schema.get("logicalType") == "uuid" and size == 16:
            return UUID
        return self.logical(schema, FixedType(size), where)

    def logical(self, schema: Mapping[str, Any], base: Type, where: str) -> Type:
        """The type a logical annotation gives a base type; unknown annotations are ignored, as Avro asks."""
        logical = schema.get("logicalType")
        if logical == "decimal" and (base == BINARY or isinstance(base, FixedType)):
            return self.decimal(schema, where)
        if (base, logical) == (INT, "date"):
            return DATE
        if (base, logical) in ((LONG, "time-micros"), (INT, "time-millis")):
            return TIME
        if base == LONG and isinstance(logical, str) and logical in _TIMESTAMPS:
            return _TIMESTAMPS[logical][bool(schema.get("adjust-to-utc", False))]
        return base

    def decimal(self, schema: Mapping[str, Any], where: str) -> DecimalType:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        try:
            if type(precision) is int and type(scale) is int:
                return DecimalType(precision, scale)
        except InvalidInput:
            pass
        raise self.bad(where, "a decimal with 1 to 38 digits", f"precision {precision!r}, scale {scale!r}")

    def id(self, schema: Mapping[str, Any], key: str, where: str) -> int:
        found = schema.get(key)
        if found is None:
            return NO_ID
        if type(found) is not int or found < 0:
            raise self.bad(where, f"a whole number as {key!r}", repr(found)[:100])
        return found

    def bad(self, where: str, expected: str, got: str) -> FormatViolation:
        return FormatViolation(f"Invalid Avro schema in {self.source}, at {where}: expected {expected}, got {got}.")


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
