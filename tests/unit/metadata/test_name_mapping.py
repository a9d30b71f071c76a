"""Name mapping: parse, serialise, follow schema changes, give ids to files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skipstone.errors import FormatViolation
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.schemas.name_mapping import (
    MappedField,
    NameMapping,
    apply_name_mapping,
    create_name_mapping,
    parse_name_mapping,
    serialize_name_mapping,
    update_name_mapping,
)
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.metadata.types import INT, LONG, STRING, Field, ListType, MapType, StructType, Type

SPEC_EXAMPLE = """[ { "field-id": 1, "names": ["id", "record_id"] },
  { "field-id": 2, "names": ["data"] },
  { "field-id": 3, "names": ["location"], "fields": [
    { "field-id": 4, "names": ["latitude", "lat"] },
    { "field-id": 5, "names": ["longitude", "long"] }
  ] } ]"""


def field(field_id: int, name: str, type_: Type = INT) -> Field:
    return Field(id=field_id, name=name, type=type_)


def struct(*fields: Field) -> StructType:
    return StructType(fields)


def names(mapping: NameMapping) -> dict[int | None, tuple[str, ...]]:
    return {f.field_id: f.names for f in mapping.fields}


def test_example_of_the_spec_parses_and_serialises_back() -> None:
    mapping = parse_name_mapping(SPEC_EXAMPLE)
    found = mapping.find("location", "lat")
    assert found is not None and found.field_id == 4
    assert mapping.find("record_id") == MappedField(names=("id", "record_id"), field_id=1)
    assert mapping.find("location", "nope") is None and mapping.find("nope", "lat") is None
    assert mapping.fields_by_id[5].names == ("longitude", "long")
    assert json.loads(serialize_name_mapping(mapping)) == json.loads(SPEC_EXAMPLE)
    assert parse_name_mapping(serialize_name_mapping(mapping)) == mapping


def test_mapping_of_a_schema_names_elements_keys_and_values() -> None:
    schema = schema_of([("a.b", "int"), ("l", "list<struct<x: int>>"), ("m", "map<string, int>")])
    mapping = create_name_mapping(schema)
    assert json.loads(serialize_name_mapping(mapping)) == [
        {"field-id": 1, "names": ["a.b"]},
        {
            "field-id": 2,
            "names": ["l"],
            "fields": [{"field-id": 4, "names": ["element"], "fields": [{"field-id": 5, "names": ["x"]}]}],
        },
        {
            "field-id": 3,
            "names": ["m"],
            "fields": [{"field-id": 6, "names": ["key"]}, {"field-id": 7, "names": ["value"]}],
        },
    ]


class TestApply:
    def test_ids_are_given_by_literal_name_on_every_level(self) -> None:
        schema = schema_of([("a.b", "int"), ("l", "list<struct<x: int>>"), ("m", "map<string, int>")])
        bare = struct(
            field(NO_ID, "m", MapType(key_id=NO_ID, key=STRING, value_id=NO_ID, value=INT)),
            field(NO_ID, "l", ListType(element_id=NO_ID, element=struct(field(NO_ID, "x"), field(NO_ID, "y")))),
            field(NO_ID, "a.b"),
            field(NO_ID, "a", struct(field(NO_ID, "b"))),
        )
        assert apply_name_mapping(create_name_mapping(schema), bare) == struct(
            field(3, "m", MapType(key_id=6, key=STRING, value_id=7, value=INT)),
            field(2, "l", ListType(element_id=4, element=struct(field(5, "x"), field(NO_ID, "y")))),
            field(1, "a.b"),
            field(NO_ID, "a", struct(field(NO_ID, "b"))),
        )

    def test_any_of_several_names_matches(self) -> None:
        mapping = parse_name_mapping('[{"field-id": 2, "names": ["old", "older"]}]')
        for name in ("old", "older"):
            assert apply_name_mapping(mapping, struct(field(NO_ID, name))).fields[0].id == 2

    def test_names_are_case_sensitive(self) -> None:
        mapping = parse_name_mapping('[{"field-id": 2, "names": ["old"]}]')
        assert apply_name_mapping(mapping, struct(field(NO_ID, "OLD"))).fields[0].id == NO_ID

    def test_mapping_without_field_id_or_names_gives_no_id(self) -> None:
        mapping = parse_name_mapping('[{"names": ["only_in_files"]}, {"field-id": 7, "names": []}]')
        file = struct(field(NO_ID, "only_in_files"), field(NO_ID, "x"))
        assert apply_name_mapping(mapping, file) == file

    def test_ids_of_the_file_are_kept_and_lead_to_the_mapping_below(self) -> None:
        mapping = parse_name_mapping(
            '[{"field-id": 1, "names": ["s"], "fields": [{"field-id": 2, "names": ["x"]}]},'
            ' {"field-id": 9, "names": ["t"]}]'
        )
        file = struct(field(1, "t", struct(field(NO_ID, "x"))), field(5, "s"))
        assert apply_name_mapping(mapping, file) == struct(field(1, "t", struct(field(2, "x"))), field(5, "s"))


class TestUpdate:
    base = create_name_mapping(struct(field(1, "id"), field(2, "num"), field(3, "name", STRING)))

    def test_added_column_is_mapped_with_everything_below(self) -> None:
        added = struct(*self.columns(), field(4, "s", struct(field(5, "x"))))
        mapping = update_name_mapping(self.base, added)
        assert mapping.fields[-1] == MappedField(
            names=("s",), field_id=4, fields=(MappedField(names=("x",), field_id=5),)
        )

    def test_renamed_column_keeps_its_old_name(self) -> None:
        mapping = update_name_mapping(self.base, struct(field(1, "id"), field(2, "n"), field(3, "name", STRING)))
        assert names(mapping)[2] == ("n", "num")

    def test_dropped_column_stays_mapped(self) -> None:
        assert names(update_name_mapping(self.base, struct(field(1, "id"))))[3] == ("name",)

    def test_new_column_takes_the_old_name_away(self) -> None:
        renamed = update_name_mapping(self.base, struct(field(1, "id"), field(2, "num"), field(3, "label", STRING)))
        assert names(renamed)[3] == ("label", "name")
        columns = struct(field(1, "id"), field(2, "num"), field(3, "label", STRING), field(16, "name", STRING))
        mapping = update_name_mapping(renamed, columns)
        assert (names(mapping)[3], names(mapping)[16]) == (("label",), ("name",))

    def test_swapped_names_swap_in_the_mapping(self) -> None:
        mapping = update_name_mapping(self.base, struct(field(1, "num"), field(2, "id"), field(3, "name", STRING)))
        assert (names(mapping)[1], names(mapping)[2]) == (("num",), ("id",))

    def test_nested_rename_keeps_the_old_name_below(self) -> None:
        base = create_name_mapping(struct(field(4, "st", struct(field(8, "x"), field(9, "y")))))
        mapping = update_name_mapping(base, struct(field(4, "st", struct(field(8, "xx"), field(9, "y")))))
        assert mapping.fields[0].fields[0].names == ("xx", "x")

    def test_schema_that_did_not_change_leaves_the_mapping_alone(self) -> None:
        assert update_name_mapping(self.base, struct(*self.columns())) == self.base

    def test_promotion_leaves_the_mapping_alone(self) -> None:
        assert update_name_mapping(self.base, struct(field(1, "id", LONG), *self.columns()[1:])) == self.base

    def columns(self) -> tuple[Field, ...]:
        return field(1, "id"), field(2, "num"), field(3, "name", STRING)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected JSON"),
        ("{", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("{}", "a list of field mappings"),
        ("[1]", "an object"),
        ('[{"field-id": 1}]', "'names' as a list of strings"),
        ('[{"names": [1]}]', "'names' as a list of strings"),
        ('[{"names": "a"}]', "'names' as a list of strings"),
        ('[{"names": [], "field-id": "1"}]', "'field-id' as a whole number"),
        ('[{"names": [], "field-id": true}]', "'field-id' as a whole number"),
        ('[{"names": [], "fields": {}}]', "a list of field mappings"),
        ('[{"names": ["a"], "field-id": 1}, {"names": ["b", "a"], "field-id": 2}]', "each name once"),
        ('[{"names": ["a"], "field-id": 1, "fields": [{"names": [], "field-id": 1}]}]', "each field-id once"),
        ('[{"names":[],"fields":' * 150 + "[]" + "}]" * 150, "at most 100 levels"),
    ],
)
def test_mapping_with_a_fault_is_a_violation(text: str, expected: str) -> None:
    with pytest.raises(FormatViolation, match=r"Invalid name mapping in prop.*" + expected):
        parse_name_mapping(text, source="prop")


def test_repeated_name_of_one_field_counts_once() -> None:
    mapping = parse_name_mapping('[{"names": ["a", "a"], "field-id": 1}]')
    assert mapping.fields[0].names == ("a",)


def test_null_parts_are_as_if_absent() -> None:
    mapping: Any = parse_name_mapping('[{"names": ["a"], "field-id": null, "fields": null}]')
    assert mapping.fields == (MappedField(names=("a",)),)
