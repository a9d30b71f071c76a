"""Schemas as JSON: what Java writes, and one clear violation for anything else."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from skipstone.errors import FormatViolation
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_json import (
    TYPE_DEPTH_MAX,
    schema_from_json,
    schema_to_json,
    type_from_json,
    type_to_json,
)
from skipstone.metadata.types import (
    INT,
    STRING,
    UNKNOWN,
    UUID,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
    parse_primitive,
)


def _schema(*fields: Any, **members: Any) -> dict[str, Any]:
    return {"type": "struct", "schema-id": 0, "fields": list(fields), **members}


def _field(field_id: int = 1, name: str = "a", type_: Any = "int", **members: Any) -> dict[str, Any]:
    return {"id": field_id, "name": name, "required": False, "type": type_, **members}


PLAIN = [
    "unknown", "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz", "timestamp_ns",
    "timestamptz_ns", "string", "uuid", "binary", "variant", "decimal(9, 2)", "fixed[16]", "geometry", "geography",
    "geometry(srid:4326)", "geometry(projjson:a,b)", "geography(srid:4326)", "geography(srid:4326, karney)",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_a_primitive_is_written_as_it_was_read(text: str) -> None:
    assert type_to_json(type_from_json(text, source="t")) == text
    assert type_from_json({"type": text}, source="t") == parse_primitive(text)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (DecimalType(9, 2), "decimal(9, 2)"),
        (FixedType(16), "fixed[16]"),
        (GeometryType("srid:4326"), "geometry(srid:4326)"),
        (GeographyType("srid:4326", "spherical"), "geography(srid:4326, spherical)"),
    ],
)
def test_parameters_are_written_with_javas_spacing(type_: Type, text: str) -> None:
    assert type_to_json(type_) == text


def test_a_decimal_without_a_space_is_read() -> None:
    assert type_from_json("decimal(9,2)", source="t") == DecimalType(9, 2)


def test_members_are_written_in_the_order_java_writes_them() -> None:
    schema = Schema(
        schema_id=7,
        identifier_field_ids=(1,),
        fields=(
            Field(id=1, name="a", type=INT, required=True, doc="d", initial_default=3, write_default=4),
            Field(id=2, name="l", type=ListType(element_id=3, element=STRING)),
            Field(id=4, name="m", type=MapType(key_id=5, key=STRING, value_id=6, value=INT, value_required=True)),
            Field(id=7, name="s", type=StructType((Field(id=8, name="x", type=INT),))),
        ),
    )
    assert json.dumps(schema_to_json(schema)) == (
        '{"type": "struct", "schema-id": 7, "identifier-field-ids": [1], "fields": ['
        '{"id": 1, "name": "a", "required": true, "type": "int", "doc": "d", "initial-default": 3, "write-default": 4},'
        ' {"id": 2, "name": "l", "required": false, "type": {"type": "list", "element-id": 3, "element": "string",'
        ' "element-required": false}},'
        ' {"id": 4, "name": "m", "required": false, "type": {"type": "map", "key-id": 5, "key": "string",'
        ' "value-id": 6, "value": "int", "value-required": true}},'
        ' {"id": 7, "name": "s", "required": false, "type": {"type": "struct", "fields":'
        ' [{"id": 8, "name": "x", "required": false, "type": "int"}]}}]}'
    )
    assert schema_from_json(schema_to_json(schema), source="t") == schema


def test_the_example_of_the_spec_is_read() -> None:
    stored = _field(
        type_="uuid",
        **{
            "initial-default": "0db3e2a8-9d1d-42b9-aa7b-74ebe558dceb",
            "write-default": "ec5911be-b0a7-458c-8438-c9a3e53cffae",
        },
    )
    field = schema_from_json(_schema(stored), source="t").fields[0]
    assert field.type == UUID
    assert str(field.initial_default) == "0db3e2a8-9d1d-42b9-aa7b-74ebe558dceb"
    assert str(field.write_default) == "ec5911be-b0a7-458c-8438-c9a3e53cffae"


def test_a_decimal_default_keeps_its_scale() -> None:
    stored = _field(type_="decimal(9, 2)", **{"initial-default": "14.20", "write-default": "14.20"})
    schema = schema_from_json(_schema(stored), source="t")
    assert schema.fields[0].initial_default == Decimal("14.20")
    assert schema_to_json(schema)["fields"][0] == stored


def test_a_struct_default_is_an_empty_struct_or_null() -> None:
    struct = {"type": "struct", "fields": [_field(2, "x", **{"initial-default": 0, "write-default": 0})]}
    stored = _schema(_field(1, "point", struct, **{"initial-default": {}, "write-default": {}}))
    schema = schema_from_json(stored, source="t")
    assert schema.fields[0].initial_default == {}
    assert schema_to_json(schema) == stored
    with pytest.raises(FormatViolation, match=r"\$\.fields\[0\]\.initial-default: expected null or \{\}"):
        schema_from_json(_schema(_field(1, "point", struct, **{"initial-default": {"2": 5}})), source="t")


def test_a_schema_without_an_id_has_id_0() -> None:
    assert schema_from_json({"type": "struct", "fields": []}, source="t").schema_id == 0


@pytest.mark.parametrize("type_", ["unknown", "variant", "geometry", "geography"])
def test_a_default_where_only_null_is_allowed_is_refused(type_: str) -> None:
    with pytest.raises(FormatViolation, match="expected null, the only default"):
        schema_from_json(_schema(_field(type_=type_, **{"write-default": 1})), source="t")
    assert schema_from_json(_schema(_field(type_=type_, **{"write-default": None})), source="t").fields


def test_a_required_unknown_column_is_refused() -> None:
    with pytest.raises(FormatViolation, match="expected false for type unknown"):
        schema_from_json(_schema(_field(type_="unknown", required=True)), source="t")
    assert schema_from_json(_schema(_field(type_="unknown")), source="t").fields[0].type == UNKNOWN


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ([], r"\$: expected an object, got a list"),
        ({"type": "struct"}, r"\$\.fields: expected a value, got nothing"),
        ({"type": "list", "fields": []}, r"\$\.type: expected 'struct', got 'list'"),
        (_schema(3), r"\$\.fields\[0\]: expected an object, got 3"),
        (_schema({"name": "a", "required": True, "type": "int"}), r"\$\.fields\[0\]\.id: expected a value"),
        (_schema(_field(name=3)), r"\$\.fields\[0\]\.name: expected a string, got 3"),
        (_schema(_field(required="yes")), r"\$\.fields\[0\]\.required: expected true or false, got 'yes'"),
        (_schema(_field(True)), r"\$\.fields\[0\]\.id: expected an integer .* got true"),
        (_schema(_field(2**31)), r"\$\.fields\[0\]\.id: expected an integer .* got 2147483648"),
        (_schema(_field(10**400)), "got a huge integer"),
        (_schema(_field(2147483448)), "the rest is reserved"),
        (_schema(_field(-1)), "has id -1"),
        (_schema(_field(), _field()), "expected unique field ids"),
        (_schema(_field(1), _field(2)), "expected unique names"),
        (_schema(_field(type_="integer")), r"\$\.fields\[0\]\.type: .*expected one of unknown, boolean"),
        (_schema(_field(type_="decimal(39, 2)")), "expected a precision from 1 to 38"),
        (_schema(_field(type_="decimal(" + "9" * 5000 + ", 2)")), r"\$\.fields\[0\]\.type"),
        (_schema(_field(type_="fixed[99999999999]")), "expected a fixed length up to"),
        (_schema(_field(type_=None)), r"\$\.fields\[0\]\.type: expected a value"),
        (_schema(_field(type_={"type": "list", "element": "int"})), r"\.type\.element-id: expected a value"),
        (_schema(_field(type_={"type": "map", "key-id": 2})), r"\.type\.key: expected a value"),
        (_schema(_field(doc=3)), r"\$\.fields\[0\]\.doc: expected a string"),
        (_schema(_field(**{"initial-default": "x"})), r"\$\.fields\[0\]"),
        (_schema(_field(), **{"identifier-field-ids": [9]}), "Invalid identifier field id 9"),
        (_schema(_field(), **{"identifier-field-ids": [1]}), "expected required, got optional"),
        (_schema(_field(), **{"identifier-field-ids": ["1"]}), r"\$\.identifier-field-ids\[0\]: expected an integer"),
    ],
)
def test_a_fault_is_one_violation_with_its_place(stored: Any, message: str) -> None:
    with pytest.raises(FormatViolation, match=message) as raised:
        schema_from_json(stored, source="m0.avro")
    assert str(raised.value).startswith("Invalid schema in m0.avro: ")


def test_types_nested_too_deep_are_refused_before_the_stack_is_full() -> None:
    def nested(depth: int) -> Any:
        type_: Any = "int"
        for i in range(depth):
            type_ = {"type": "list", "element-id": i + 2, "element": type_, "element-required": False}
        return type_

    deepest = schema_from_json(_schema(_field(type_=nested(TYPE_DEPTH_MAX - 1))), source="t")
    assert schema_from_json(schema_to_json(deepest), source="t") == deepest
    with pytest.raises(FormatViolation, match=f"nested at most {TYPE_DEPTH_MAX} deep"):
        schema_from_json(_schema(_field(type_=nested(TYPE_DEPTH_MAX))), source="t")
