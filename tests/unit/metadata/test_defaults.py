"""Default values: which are allowed, and what they stand for."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal

import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.schemas.defaults import (
    MISSING,
    check_field_defaults,
    default_of,
    effective_default,
    merge_missing,
    required_default,
)
from skipstone.metadata.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    UNKNOWN,
    VARIANT,
    DecimalType,
    Field,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
)

X, Y = 2, 3


def point(default: object, x: object = 0, y: object = 0, *, which: str = "initial") -> Field:
    key = f"{which}_default"
    fields = (Field(id=X, name="x", type=INT, **{key: x}), Field(id=Y, name="y", type=INT, **{key: y}))
    return Field(id=1, name="point", type=StructType(fields), **{key: default})


@pytest.mark.parametrize("which", ["initial", "write"])
@pytest.mark.parametrize(
    ("default", "data", "result"),
    [
        (None, MISSING, None),
        (None, {X: 3}, {X: 3, Y: 0}),
        ({}, MISSING, {X: 0, Y: 0}),
        ({}, {Y: -1}, {X: 0, Y: -1}),
    ],
)
def test_the_point_table_of_the_spec(which, default, data, result):
    assert merge_missing(point(default, which=which), data, which) == result


def test_a_null_in_the_data_is_not_missing():
    assert merge_missing(point({}), None) is None
    assert merge_missing(point({}), {X: None}) == {X: None, Y: 0}


def test_a_sub_field_without_default_is_null():
    assert effective_default(point({}, x=5, y=None), "initial") == {X: 5, Y: None}


def test_initial_and_write_defaults_are_separate():
    f = Field(id=1, name="a", type=INT, initial_default=1, write_default=2)
    assert (effective_default(f, "initial"), effective_default(f, "write")) == (1, 2)


def test_missing_parts_are_filled_inside_lists_and_maps():
    inner = point(None).type
    in_list = Field(id=1, name="l", type=ListType(element_id=9, element=inner))
    in_map = Field(id=1, name="m", type=MapType(key_id=8, key=STRING, value_id=9, value=inner))
    assert merge_missing(in_list, [{X: 1}, None]) == [{X: 1, Y: 0}, None]
    assert merge_missing(in_map, [("k", {Y: 2})]) == [("k", {X: 0, Y: 2})]


def test_defaults_of_structs_in_structs_are_built_level_by_level():
    outer = Field(id=10, name="o", type=StructType((point({}), Field(id=11, name="z", type=INT))), initial_default={})
    assert effective_default(outer, "initial") == {1: {X: 0, Y: 0}, 11: None}


@pytest.mark.parametrize("type_", [UNKNOWN, VARIANT, GeometryType(), GeographyType()])
def test_types_that_must_default_to_null_refuse_a_value(type_):
    assert default_of(type_, None, where="c") is None
    with pytest.raises(InvalidInput, match="expected null"):
        default_of(type_, b"\x00", where="c")


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_default_that_is_not_finite_is_refused(type_, value):
    with pytest.raises(InvalidInput, match="finite"):
        default_of(type_, value, where="c")
    with pytest.raises(InvalidInput, match="finite"):
        default_of(ListType(element_id=1, element=type_), [value], where="c")


def test_a_struct_default_is_null_or_empty():
    struct = point(None).type
    assert default_of(struct, None, where="p") is None
    assert default_of(struct, {}, where="p") == {}
    with pytest.raises(InvalidInput, match="empty struct"):
        default_of(struct, {X: 1}, where="p")


@pytest.mark.parametrize(
    ("type_", "given", "stored"),
    [
        (LONG, 5, 5),
        (DATE, dt.date(1970, 1, 3), 2),
        (DATE, "1969-12-31", -1),
        (DecimalType(9, 2), Decimal("1.2"), Decimal("1.20")),
        (ListType(element_id=1, element=DATE), ["1970-01-02"], [1]),
        (MapType(key_id=1, key=STRING, value_id=2, value=INT), {"a": 1}, [("a", 1)]),
    ],
)
def test_a_default_is_turned_into_the_value_of_its_type(type_, given, stored):
    assert default_of(type_, given, where="c") == stored


@pytest.mark.parametrize(
    ("type_", "value"), [(INT, "x"), (INT, 2**31), (INT, True), (STRING, 5), (ListType(element_id=1, element=INT), 5)]
)
def test_a_default_of_another_type_is_refused_by_name(type_, value):
    with pytest.raises(InvalidInput, match="Invalid default for column 'c'"):
        default_of(type_, value, where="column 'c'")


def test_a_required_field_that_is_added_needs_both_defaults():
    f = Field(id=1, name="a", type=INT, required=True, initial_default=1, write_default=1)
    check_field_defaults(f, where="a", default_needed=True)
    for bad in (replace(f, initial_default=None), replace(f, write_default=None)):
        with pytest.raises(InvalidInput, match="Cannot add required column"):
            check_field_defaults(bad, where="a", default_needed=True)


def test_a_non_null_struct_default_needs_values_for_required_sub_fields():
    sub = Field(id=2, name="x", type=INT, required=True)
    with pytest.raises(InvalidInput, match=r"p\.x"):
        check_field_defaults(Field(id=1, name="p", type=StructType((sub,)), initial_default={}), where="p")


def test_unknown_is_never_required():
    with pytest.raises(InvalidInput, match="expected optional"):
        check_field_defaults(Field(id=1, name="u", type=UNKNOWN, required=True), where="u")


def test_a_required_field_without_a_default_fails_the_writer_and_the_reader():
    f = Field(id=1, name="a", type=INT, required=True)
    with pytest.raises(InvalidInput, match="Supply the column"):
        required_default(f, "write")
    with pytest.raises(FormatViolation, match="initial-default"):
        merge_missing(f, MISSING)
    with pytest.raises(FormatViolation, match=r"'s\.a'"):
        merge_missing(Field(id=2, name="s", type=StructType((f,))), {})
