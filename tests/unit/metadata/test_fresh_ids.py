"""Fresh ids, and schemas as users write them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID, assign_fresh_ids, has_all_ids, has_any_id, unnumbered
from skipstone.metadata.schemas.user_schema import parse_type, schema_of
from skipstone.metadata.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    STRING,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    map_types,
    walk,
)


def user_columns() -> Schema:
    return schema_of(
        [
            ("id", "long not null"),
            ("st", "struct<a: int not null, tm: time>"),
            ("li", "list<struct<x: int, y: double>>"),
            ("mp", "map<string, struct<v: decimal(4, 1)>>"),
            ("last", "string"),
        ]
    )


def test_top_level_is_numbered_first_then_each_column_inside() -> None:
    ids = {path: field_id for field_id, path in user_columns().paths_by_id.items()}
    assert [ids[(n,)] for n in ("id", "st", "li", "mp", "last")] == [1, 2, 3, 4, 5]
    assert [ids["st", n] for n in ("a", "tm")] == [6, 7]
    assert [ids["li", "element"], ids["li", "element", "x"], ids["li", "element", "y"]] == [8, 9, 10]
    assert [ids["mp", "key"], ids["mp", "value"], ids["mp", "value", "v"]] == [11, 12, 13]


def test_start_shifts_every_id() -> None:
    shifted = assign_fresh_ids(user_columns(), start=101)
    assert sorted(shifted.fields_by_id) == list(range(101, 114))


def test_identifier_fields_follow_their_columns() -> None:
    nested = StructType((Field(id=70, name="k", type=INT, required=True),))
    schema = Schema(
        fields=(Field(id=50, name="a", type=STRING), Field(id=60, name="s", type=nested, required=True)),
        identifier_field_ids=(70,),
        schema_id=4,
    )
    fresh = assign_fresh_ids(schema)
    assert fresh.identifier_field_ids == (3,)
    assert fresh.schema_id == 4
    assert fresh.name_of(3) == "s.k"


def test_base_schema_keeps_ids_of_the_same_full_names() -> None:
    base = user_columns()
    struct = schema_of([("new", "int"), ("mp", "map<string, struct<w: int, v: decimal(4, 1)>>"), ("id", "long")])
    fresh = assign_fresh_ids(struct, base=base)
    ids = {".".join(path): field_id for field_id, path in fresh.paths_by_id.items()}
    assert ids == {
        "new": 14,
        "mp": 4,
        "mp.key": 11,
        "mp.value": 12,
        "mp.value.w": 15,
        "mp.value.v": 13,
        "id": 1,
    }


def test_ids_can_be_taken_off_and_looked_for() -> None:
    schema = user_columns()
    bare = map_types(schema.struct, unnumbered)
    assert {f.id for f in walk(bare)} == {NO_ID}
    assert not has_any_id(bare)
    assert has_all_ids(schema.struct)
    mixed = StructType((*schema.fields[:1], Field(id=NO_ID, name="x", type=INT)))
    assert has_any_id(mixed) and not has_all_ids(mixed)
    assert assign_fresh_ids(bare) == schema.struct  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bigint", LONG),
        ("INTEGER", INT),
        ("Bool", BOOLEAN),
        ("decimal( 9 ,2 )", DecimalType(9, 2)),
        ("fixed[3]", FixedType(3)),
        ("geometry(srid:3857)", GeometryType("srid:3857")),
        ("geography(srid:4326, karney)", GeographyType("srid:4326", "karney")),
        ("array<int not null>", ListType(element_id=NO_ID, element=INT, element_required=True)),
        (
            "map<int, list<double>>",
            MapType(
                key_id=NO_ID,
                key=INT,
                value_id=NO_ID,
                value=ListType(element_id=NO_ID, element=DOUBLE),
            ),
        ),
        (
            'struct<`a b,c`: int not null, "q""x": string>',
            StructType(
                (
                    Field(id=NO_ID, name="a b,c", type=INT, required=True),
                    Field(id=NO_ID, name='q"x', type=STRING),
                )
            ),
        ),
        ("struct<>", StructType(())),
    ],
)
def test_type_text_is_parsed(text: str, expected: Any) -> None:
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lst<int>",
        "list<int",
        "list<int>>",
        "list<>",
        "list<int, int>",
        "map<int>",
        "struct<x int>",
        "struct<x: >",
        "struct<`x: int>",
        "decimal(39, 2)",
        "int not null",
        "list<" * 150 + "int" + ">" * 150,
    ],
)
def test_type_text_with_a_fault_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid type"):
        parse_type(text)


def test_columns_may_have_types_docs_and_come_in_a_mapping() -> None:
    schema = schema_of([("a", LONG), ("b", "int not null", "a doc"), Field(id=9, name="c", type=STRING)])
    assert [(f.id, f.name, f.type, f.required, f.doc) for f in schema.fields] == [
        (1, "a", LONG, False, None),
        (2, "b", INT, True, "a doc"),
        (3, "c", STRING, False, None),
    ]
    assert schema_of({"a": "long"}).same_as(schema_of([("a", "long")]))


def test_own_schema_and_arrow_schema_and_table_are_taken() -> None:
    schema = user_columns()
    assert schema_of(schema) is schema
    arrow = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    expected = Schema(fields=(Field(id=1, name="a", type=LONG, required=True),))
    assert schema_of(arrow) == expected
    assert schema_of(arrow.empty_table()) == expected


@pytest.mark.parametrize(
    "columns",
    ["id long", 5, [("a",)], [("a", 5)], [("", "int")], [("a", "int"), ("a", "int")], [("a", "unknown not null")]],
)
def test_columns_with_a_fault_are_refused(columns: Any) -> None:
    with pytest.raises(InvalidInput):
        schema_of(columns)


def test_v3_type_is_refused_in_a_v2_table() -> None:
    with pytest.raises(InvalidInput, match="needs v3"):
        schema_of([("a", "timestamp_ns")], format_version=2)
