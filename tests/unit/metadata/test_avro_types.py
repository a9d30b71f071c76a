"""Avro schemas of Iceberg types, both ways."""

from __future__ import annotations

import io
import json
import uuid
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.formats.avro_names import is_avro_name, sanitize_name, sanitize_siblings
from skipstone.metadata.formats.avro_types import decimal_bytes_min, from_avro_schema, from_avro_type, to_avro_schema
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
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
)


def field(field_id: int, name: str, type_: Type, **more: Any) -> Field:
    return Field(id=field_id, name=name, type=type_, **more)


def struct(*fields: Field) -> StructType:
    return StructType(fields)


def written(f: Field) -> dict[str, Any]:
    (only,) = to_avro_schema(struct(f))["fields"]
    return only


MAPPING: list[tuple[Type, Any]] = [
    (UNKNOWN, "null"),
    (BOOLEAN, "boolean"),
    (INT, "int"),
    (LONG, "long"),
    (FLOAT, "float"),
    (DOUBLE, "double"),
    (
        DecimalType(11, 3),
        {
            "type": "fixed",
            "name": "decimal_11_3",
            "size": 5,
            "logicalType": "decimal",
            "precision": 11,
            "scale": 3,
        },
    ),
    (DATE, {"type": "int", "logicalType": "date"}),
    (TIME, {"type": "long", "logicalType": "time-micros"}),
    (TIMESTAMP, {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False}),
    (TIMESTAMPTZ, {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}),
    (TIMESTAMP_NS, {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False}),
    (TIMESTAMPTZ_NS, {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True}),
    (STRING, "string"),
    (UUID, {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}),
    (FixedType(5), {"type": "fixed", "name": "fixed_5", "size": 5}),
    (BINARY, "bytes"),
    (
        VARIANT,
        {
            "type": "record",
            "name": "r8",
            "fields": [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}],
            "logicalType": "variant",
        },
    ),
    (
        struct(field(9, "x", INT)),
        {
            "type": "record",
            "name": "r8",
            "fields": [{"name": "x", "type": ["null", "int"], "default": None, "field-id": 9}],
        },
    ),
    (
        ListType(element_id=9, element=INT, element_required=True),
        {"type": "array", "items": "int", "element-id": 9},
    ),
    (ListType(element_id=9, element=INT), {"type": "array", "items": ["null", "int"], "element-id": 9}),
    (
        MapType(key_id=10, key=STRING, value_id=11, value=INT, value_required=True),
        {"type": "map", "values": "int", "key-id": 10, "value-id": 11},
    ),
    (
        MapType(key_id=12, key=INT, value_id=13, value=STRING),
        {
            "type": "array",
            "items": {
                "type": "record",
                "name": "k12_v13",
                "fields": [
                    {"name": "key", "type": "int", "field-id": 12},
                    {"name": "value", "type": ["null", "string"], "default": None, "field-id": 13},
                ],
            },
            "logicalType": "map",
        },
    ),
]


@pytest.mark.parametrize(("type_", "avro"), MAPPING, ids=lambda x: str(x)[:40])
def test_each_type_is_written_and_read_back(type_: Type, avro: Any) -> None:
    optional = written(field(8, "a", type_))
    if type_ == UNKNOWN:
        assert optional == {"name": "a", "type": "null", "default": None, "field-id": 8}
    else:
        assert optional == {"name": "a", "type": ["null", avro], "default": None, "field-id": 8}
        assert written(field(8, "a", type_, required=True)) == {"name": "a", "type": avro, "field-id": 8}
    assert from_avro_type(avro) == type_


@pytest.mark.parametrize("type_", [GeometryType("srid:3857"), GeographyType()])
def test_geometry_is_bytes(type_: Type) -> None:
    assert written(field(1, "g", type_, required=True))["type"] == "bytes"


def test_named_types_are_spelled_out_once() -> None:
    schema = to_avro_schema(
        struct(
            field(1, "u", UUID, required=True),
            field(2, "v", UUID),
            field(3, "l", ListType(element_id=4, element=DecimalType(9, 2))),
            field(5, "d", DecimalType(9, 2), required=True),
        )
    )
    types = [f["type"] for f in schema["fields"]]
    assert types[1] == ["null", "uuid_fixed"]
    assert types[3] == "decimal_9_2"
    fastavro.parse_schema(schema)


def test_doc_and_record_names_are_written() -> None:
    schema = to_avro_schema(
        struct(field(2, "data_file", struct(field(100, "p", STRING, required=True, doc="Path")), required=True)),
        name="manifest_entry",
        record_names={2: "data_file_record"},
    )
    assert schema["name"] == "manifest_entry"
    inner = schema["fields"][0]["type"]
    assert inner["name"] == "data_file_record"
    assert inner["fields"] == [{"name": "p", "type": "string", "doc": "Path", "field-id": 100}]


def test_two_records_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'r1' twice"):
        to_avro_schema(struct(field(1, "a", struct())), name="r1")


@pytest.mark.parametrize(("precision", "size"), [(1, 1), (2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)])
def test_decimals_take_the_fewest_bytes(precision: int, size: int) -> None:
    assert decimal_bytes_min(precision) == size
    assert 10**precision - 1 <= 2 ** (8 * size - 1) - 1
    assert 10**precision - 1 > 2 ** (8 * (size - 1) - 1) - 1 if size > 1 else True


class TestDefaults:
    @pytest.mark.parametrize(
        ("type_", "value", "avro"),
        [
            (INT, 34, 34),
            (BOOLEAN, False, False),
            (STRING, "ž", "ž"),
            (DATE, -1, -1),
            (DOUBLE, 0.5, 0.5),
            (BINARY, b"\x00\xff", "\x00\xff"),
            (FixedType(2), b"\x01\x80", "\x01\x80"),
            (UUID, uuid.UUID(bytes=bytes(range(16))), bytes(range(16)).decode("latin-1")),
            (DecimalType(4, 2), Decimal("-0.01"), "\xff\xff"),
            (ListType(element_id=5, element=INT, element_required=True), [1, 2], [1, 2]),
            (MapType(key_id=5, key=STRING, value_id=6, value=INT, value_required=True), [("a", 1)], {"a": 1}),
            (
                MapType(key_id=5, key=INT, value_id=6, value=INT, value_required=True),
                [(1, 2)],
                [{"key": 1, "value": 2}],
            ),
            (ListType(element_id=5, element=INT), [], []),
        ],
        ids=lambda x: str(x)[:30],
    )
    def test_initial_default_comes_first_in_the_union(self, type_: Type, value: Any, avro: Any) -> None:
        f = written(field(3, "a", type_, initial_default=value))
        assert f["type"][1] == "null"
        assert f["default"] == avro
        required = written(field(3, "a", type_, required=True, initial_default=value))
        assert required["default"] == avro
        fastavro.parse_schema(to_avro_schema(struct(field(3, "a", type_, initial_default=value))))

    def test_struct_default_is_built_from_its_fields(self) -> None:
        point = struct(field(4, "x y", INT, initial_default=0), field(5, "y", INT))
        f = written(field(3, "p", point, initial_default={}))
        assert f["default"] == {"x_x20y": 0, "y": None}
        assert [sub["type"] for sub in f["type"][0]["fields"]] == [["int", "null"], ["null", "int"]]

    def test_default_that_avro_cannot_spell_is_null(self) -> None:
        f = written(field(3, "a", ListType(element_id=4, element=INT), initial_default=[1]))
        assert (f["type"][0], f["default"]) == ("null", None)

    def test_other_readers_fill_the_default_in(self) -> None:
        old = to_avro_schema(struct(field(1, "id", INT, required=True)))
        new = to_avro_schema(
            struct(field(1, "id", INT, required=True), field(2, "s", STRING, initial_default="d"), field(3, "n", INT))
        )
        sink = io.BytesIO()
        fastavro.writer(sink, old, [{"id": 7}])
        sink.seek(0)
        assert list(fastavro.reader(sink, new)) == [{"id": 7, "s": "d", "n": None}]


class TestNames:
    @pytest.mark.parametrize(
        ("name", "safe"),
        [
            ("a.b", "a_x2Eb"),
            ("with space", "with_x20space"),
            ("ž😀", "ž_xD83D_xDE00"),
            ("1digit", "_1digit"),
            ("a1", "a1"),
            ("_ok", "_ok"),
            ("-", "_x2D"),
        ],
    )
    def test_name_is_escaped_as_other_writers_do(self, name: str, safe: str) -> None:
        assert sanitize_name(name) == safe
        assert is_avro_name(name) == (name == safe)
        f = written(field(1, name, INT))
        assert f["name"] == safe
        assert f.get("iceberg-field-name") == (None if name == safe else name)
        assert from_avro_schema(to_avro_schema(struct(field(1, name, INT)))) == struct(field(1, name, INT))

    def test_names_that_would_collide_are_told_apart_by_id(self) -> None:
        assert sanitize_siblings(["a b", "a_x20b", "c"], [1, 2, 3]) == ["a_x20b", "a_x20b_2", "c"]
        both = struct(field(1, "a b", INT), field(2, "a_x20b", INT))
        fastavro.parse_schema(to_avro_schema(both))
        assert from_avro_schema(to_avro_schema(both)) == both

    def test_empty_name_is_refused(self) -> None:
        assert not is_avro_name("")
        with pytest.raises(InvalidInput, match="Invalid column name ''"):
            to_avro_schema(struct(field(1, "", INT)))


class TestReading:
    def one(self, avro: Any) -> Field:
        schema = {"type": "record", "name": "t", "fields": [{"name": "a", "type": avro}]}
        return from_avro_schema(schema).fields[0]

    def test_schema_without_ids_has_none(self) -> None:
        avro = ["null", {"type": "array", "items": {"type": "map", "values": "int"}}]
        inner = MapType(key_id=NO_ID, key=STRING, value_id=NO_ID, value=INT, value_required=True)
        assert self.one(avro) == field(NO_ID, "a", ListType(element_id=NO_ID, element=inner, element_required=True))

    @pytest.mark.parametrize("avro", [["null", "int"], ["int", "null"]])
    def test_null_may_stand_on_either_side(self, avro: Any) -> None:
        assert self.one(avro) == field(NO_ID, "a", INT)

    def test_union_of_one_type_is_that_type(self) -> None:
        assert self.one(["int"]) == field(NO_ID, "a", INT, required=True)

    @pytest.mark.parametrize("avro", ["null", ["null"], {"type": "null"}])
    def test_null_is_an_optional_unknown(self, avro: Any) -> None:
        assert self.one(avro) == field(NO_ID, "a", UNKNOWN)

    @pytest.mark.parametrize(
        ("avro", "expected"),
        [
            ({"type": "long", "logicalType": "timestamp-micros"}, TIMESTAMP),
            ({"type": "long", "logicalType": "timestamp-millis", "adjust-to-utc": True}, TIMESTAMPTZ),
            ({"type": "long", "logicalType": "local-timestamp-micros"}, TIMESTAMP),
            ({"type": "long", "logicalType": "local-timestamp-nanos"}, TIMESTAMP_NS),
            ({"type": "int", "logicalType": "time-millis"}, TIME),
            ({"type": "bytes", "logicalType": "decimal", "precision": 5}, DecimalType(5, 0)),
            ({"type": "string", "logicalType": "uuid"}, STRING),
            ({"type": "long", "logicalType": "invented"}, LONG),
            ({"type": "enum", "name": "e", "symbols": ["A"]}, STRING),
            ({"type": "fixed", "name": "f", "size": 12, "logicalType": "duration"}, FixedType(12)),
            ({"type": {"type": "int", "logicalType": "date"}}, DATE),
        ],
        ids=str,
    )
    def test_other_spellings_are_understood(self, avro: Any, expected: Type) -> None:
        assert self.one(avro).type == expected

    def test_string_map_may_be_an_array_of_records(self) -> None:
        entry = {
            "type": "record",
            "name": "e",
            "fields": [
                {"name": "key", "type": "string", "field-id": 4},
                {"name": "value", "type": ["null", "int"], "field-id": 5},
            ],
        }
        avro = {"type": "array", "logicalType": "map", "items": entry}
        assert self.one(avro).type == MapType(key_id=4, key=STRING, value_id=5, value=INT)

    def test_names_are_resolved_in_their_namespace(self) -> None:
        schema = {
            "type": "record",
            "name": "t",
            "namespace": "org.x",
            "fields": [
                {"name": "a", "type": {"type": "fixed", "name": "f", "size": 2}},
                {"name": "b", "type": "f"},
                {"name": "c", "type": "org.x.f"},
            ],
        }
        assert {f.type for f in from_avro_schema(schema).fields} == {FixedType(2)}

    @pytest.mark.parametrize(
        ("avro", "expected"),
        [
            (5, "an Avro type"),
            (None, "an Avro type"),
            ("strin", "a primitive or a type defined before"),
            ({"type": 5}, "a 'type'"),
            ({}, "a 'type'"),
            (["int", "string"], "a union of null and one type"),
            (["null", "int", "string"], "a union of null and one type"),
            ([], "a union of null and one type"),
            ({"type": "record", "name": "t2"}, "a list of 'fields'"),
            ({"type": "record", "fields": []}, "a name for the record"),
            ({"type": "record", "name": "x", "fields": [{"name": "y"}]}, "a field object"),
            ({"type": "fixed", "name": "f", "size": -1}, "a size of 0 or more"),
            ({"type": "fixed", "name": "f", "size": True}, "a size of 0 or more"),
            ({"type": "bytes", "logicalType": "decimal"}, "a decimal with 1 to 38 digits"),
            ({"type": "bytes", "logicalType": "decimal", "precision": 39}, "a decimal with 1 to 38 digits"),
            ({"type": "array", "items": "int", "element-id": "7"}, "a whole number as 'element-id'"),
            ({"type": "array", "items": "int", "logicalType": "map"}, "a record of key and value"),
            ({"type": "map"}, "an Avro type"),
            ("t", "a type that does not contain itself"),
        ],
        ids=lambda x: str(x)[:40],
    )
    def test_schema_with_a_fault_is_a_violation(self, avro: Any, expected: str) -> None:
        schema = {"type": "record", "name": "t", "fields": [{"name": "a", "type": avro}]}
        with pytest.raises(FormatViolation, match=r"Invalid Avro schema in m\.avro, at root\.a.*" + expected):
            from_avro_schema(schema, source="m.avro")

    def test_schema_deeper_than_the_cap_is_a_violation(self) -> None:
        avro: Any = "int"
        for _ in range(5_000):
            avro = {"type": "array", "items": avro}
        with pytest.raises(FormatViolation, match="at most 100 levels"):
            self.one(avro)
        for _ in range(5_000):
            avro = {"type": avro}
        with pytest.raises(FormatViolation, match="at most 100 levels"):
            self.one(avro)

    def test_top_that_is_no_record_is_a_violation(self) -> None:
        with pytest.raises(FormatViolation, match="expected a record at the top, got int"):
            from_avro_schema("int")


def test_schema_of_a_table_that_java_wrote_is_the_same_text() -> None:
    avro = (
        '{"type":"record","name":"table","fields":[{"name":"id","type":"long","field-id":1},{"name":"dec","type":["null",'
        '{"type":"fixed","name":"decimal_18_3","size":8,"logicalType":"decimal","precision":18,"scale":3}],'
        '"default":null,"field-id":5},{"name":"ts","type":{"type":"long","logicalType":"timestamp-micros",'
        '"adjust-to-utc":false},"field-id":7},{"name":"st","type":["null",{"type":"record","name":"r11","fields":'
        '[{"name":"x_x2Ey","type":["null","int"],"default":null,"iceberg-field-name":"x.y","field-id":14},{"name":"b",'
        '"type":["null",{"type":"array","items":["null","string"],"element-id":16}],"default":null,"field-id":15}]}],'
        '"default":null,"field-id":11},{"name":"mp","type":{"type":"map","values":["null","double"],"key-id":17,'
        '"value-id":18},"field-id":12}]}'
    )
    struct_read = from_avro_schema(json.loads(avro))
    assert json.dumps(to_avro_schema(struct_read), separators=(",", ":")) == avro
