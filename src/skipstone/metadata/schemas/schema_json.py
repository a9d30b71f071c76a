"""Schemas and types as JSON, both ways.

What is written is what the reference implementation writes, member order included. Reading checks every member and
every law of a schema; a fault names the file and the JSON path.

Spec: "Appendix C: JSON serialization", section "Schemas"; "Default values".
"""

from __future__ import annotations

from typing import Any, Final

from skipstone.errors import FormatViolation
from skipstone.metadata.json_reader import JsonObject, fail
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    INT_MAX,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    UnknownType,
    Value,
    VariantType,
    parse_primitive,
)
from skipstone.metadata.values import value_from_json, value_to_json

# Everything below a type recurses, so a stack overflow is prevented here, where types enter.
TYPE_DEPTH_MAX: Final = 100


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """The schema as JSON with its id."""
    written: dict[str, Any] = {"type": "struct", "schema-id": schema.schema_id}
    if schema.identifier_field_ids:
        written["identifier-field-ids"] = list(schema.identifier_field_ids)
    written["fields"] = [_field_to_json(f) for f in schema.fields]
    return written


def type_to_json(type_: Type) -> Any:
    """A primitive as text, a nested type as an object."""
    match type_:
        case StructType(fields):
            return {"type": "struct", "fields": [_field_to_json(f) for f in fields]}
        case ListType():
            return {
                "type": "list",
                "element-id": type_.element_id,
                "element": type_to_json(type_.element),
                "element-required": type_.element_required,
            }
        case MapType():
            return {
                "type": "map",
                "key-id": type_.key_id,
                "key": type_to_json(type_.key),
                "value-id": type_.value_id,
                "value": type_to_json(type_.value),
                "value-required": type_.value_required,
            }
        case _:
            return str(type_)


def _field_to_json(field: Field) -> dict[str, Any]:
    written: dict[str, Any] = {
        "id": field.id,
        "name": field.name,
        "required": field.required,
        "type": type_to_json(field.type),
    }
    if field.doc is not None:
        written["doc"] = field.doc
    if field.initial_default is not None:
        written["initial-default"] = value_to_json(field.type, field.initial_default)
    if field.write_default is not None:
        written["write-default"] = value_to_json(field.type, field.write_default)
    return written


def schema_from_json(obj: object, *, source: str) -> Schema:
    """The schema a JSON object holds. A schema without an id, as old v1 tables have it, gets id 0."""
    return read_schema(JsonObject.of(obj, label=f"schema in {source}"))


def type_from_json(obj: object, *, source: str) -> Type:
    """The type a JSON text or object holds."""
    return _read_type(obj, f"type in {source}", "$", 0)


def read_schema(json: JsonObject) -> Schema:
    """The schema at this place of a file."""
    if json.has("type") and json.text("type") != "struct":
        json.fail("type", "'struct'", json.text("type"))
    fields = _read_fields(json, 0)
    schema_id = json.optional_int("schema-id", low=0)
    identifier_field_ids = json.ints("identifier-field-ids") if json.has("identifier-field-ids") else ()
    return json.guard(
        lambda: Schema(fields=fields, schema_id=schema_id or 0, identifier_field_ids=identifier_field_ids)
    )


def _read_type(obj: object, label: str, place: str, depth: int) -> Type:
    if depth > TYPE_DEPTH_MAX:
        raise FormatViolation(
            f"Invalid {label}: {place}: expected types nested at most {TYPE_DEPTH_MAX} deep, got more."
        )
    if isinstance(obj, str):
        return _read_primitive(obj, label, place)
    if not isinstance(obj, dict):
        fail(label, place, "a type name or object", obj)
    json = JsonObject(obj, label, place)
    match json.text("type"):
        case "struct":
            return StructType(_read_fields(json, depth))
        case "list":
            return ListType(
                element_id=json.int_("element-id"),
                element=_read_type(json.required("element"), label, json.at("element"), depth + 1),
                element_required=json.boolean("element-required"),
            )
        case "map":
            return MapType(
                key_id=json.int_("key-id"),
                key=_read_type(json.required("key"), label, json.at("key"), depth + 1),
                value_id=json.int_("value-id"),
                value=_read_type(json.required("value"), label, json.at("value"), depth + 1),
                value_required=json.boolean("value-required"),
            )
        # A primitive may also be wrapped in an object: {"type": "long"}.
        case name:
            return _read_primitive(name, label, json.at("type"))


def _read_primitive(text: str, label: str, place: str) -> PrimitiveType:
    try:
        type_ = parse_primitive(text)
    except ValueError as error:
        raise FormatViolation(f"Invalid {label}: {place}: {error}") from error
    if isinstance(type_, FixedType) and type_.length > INT_MAX:
        fail(label, place, f"a fixed length up to {INT_MAX}", text)
    return type_


def _read_fields(json: JsonObject, depth: int) -> tuple[Field, ...]:
    return tuple(_read_field(f, depth) for f in json.objects("fields"))


def _read_field(json: JsonObject, depth: int) -> Field:
    type_ = _read_type(json.required("type"), json.label, json.at("type"), depth + 1)
    required = json.boolean("required")
    if required and isinstance(type_, UnknownType):
        json.fail("required", "false for type unknown", True)
    return Field(
        id=json.int_("id"),
        name=json.text("name"),
        type=type_,
        required=required,
        doc=json.optional_text("doc"),
        initial_default=_read_default(json, "initial-default", type_),
        write_default=_read_default(json, "write-default", type_),
    )


def _read_default(json: JsonObject, key: str, type_: Type) -> Value:
    if not json.has(key):
        return None
    stored = json.required(key)
    if isinstance(type_, UnknownType | VariantType | GeometryType | GeographyType):
        json.fail(key, f"null, the only default of type {type_}", stored)
    if isinstance(type_, StructType) and stored != {}:
        json.fail(key, "null or {} as the default of a struct (its fields have their own)", stored)
    return json.guard(lambda: value_from_json(type_, stored, source=f"{json.label}: {json.at(key)}"))
