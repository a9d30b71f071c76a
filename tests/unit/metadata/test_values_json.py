"""JSON single-value serialization: the spec's examples, Java's spelling, what is refused."""

from __future__ import annotations

import json
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest

from skipstone.errors import FormatViolation, InvalidInput
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
from skipstone.metadata.values import display, value_from_json, value_to_json
from skipstone.metadata.values.geo import serialize_wkb
from skipstone.metadata.values.geo_wkt import parse_wkt

POINT_30_10 = serialize_wkb(parse_wkt("POINT (30 10)"))
PAIR = StructType((Field(id=1, name="a", type=INT), Field(id=2, name="b", type=STRING)))
INTS = ListType(element_id=3, element=INT)
COUNTS = MapType(key_id=4, key=STRING, value_id=5, value=INT)

SPEC_EXAMPLES: list[tuple[Type, Any, Any]] = [
    (BOOLEAN, True, True),
    (INT, 34, 34),
    (LONG, 34, 34),
    (FLOAT, 1.0, 1.0),
    (DOUBLE, 1.0, 1.0),
    (DecimalType(9, 2), Decimal("14.20"), "14.20"),
    (DATE, 17486, "2017-11-16"),
    (TIME, 81_068_123_456, "22:31:08.123456"),
    (TIMESTAMP, 1_510_871_468_123_456, "2017-11-16T22:31:08.123456"),
    (TIMESTAMPTZ, 1_510_871_468_123_456, "2017-11-16T22:31:08.123456+00:00"),
    (TIMESTAMP_NS, 1_510_871_468_123_456_789, "2017-11-16T22:31:08.123456789"),
    (TIMESTAMPTZ_NS, 1_510_871_468_123_456_789, "2017-11-16T22:31:08.123456789+00:00"),
    (STRING, "iceberg", "iceberg"),
    (UUID, uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    (FixedType(4), b"\x00\x01\x02\xff", "000102ff"),
    (BINARY, b"\x00\x01\x02\xff", "000102ff"),
    (PAIR, {1: 1, 2: "bar"}, {"1": 1, "2": "bar"}),
    (INTS, [1, 2, 3], [1, 2, 3]),
    (COUNTS, [("a", 1), ("b", 2)], {"keys": ["a", "b"], "values": [1, 2]}),
    (GeometryType(), POINT_30_10, "POINT (30 10)"),
    (GeographyType(), POINT_30_10, "POINT (30 10)"),
]


@pytest.mark.parametrize(("type_", "value", "expected"), SPEC_EXAMPLES, ids=lambda v: str(v)[:30])
def test_the_examples_of_the_spec_hold(type_: Type, value: Any, expected: Any) -> None:
    assert value_to_json(type_, value) == expected
    assert value_from_json(type_, expected) == value


# As found in tables that Iceberg Java wrote.
JAVA_DEFAULTS: list[tuple[Type, Any]] = [
    (DOUBLE, -0.0),
    (FLOAT, 12.25),
    (DecimalType(9, 2), "-0.01"),
    (DATE, "1969-12-31"),
    (TIME, "23:59:59.999999"),
    (TIMESTAMP, "1969-12-31T23:59:59.999999"),
    (TIMESTAMPTZ, "1970-01-01T00:00:00+00:00"),
    (TIMESTAMP_NS, "1969-12-31T23:59:59.999999999"),
    (TIMESTAMPTZ_NS, "1970-01-01T00:00:00.000000001+00:00"),
    (UUID, "00000000-0000-0000-0000-000000000000"),
    (STRING, "iceberg ž😀"),
]


@pytest.mark.parametrize(("type_", "text"), JAVA_DEFAULTS, ids=str)
def test_what_java_wrote_is_written_back_alike(type_: Type, text: Any) -> None:
    assert json.dumps(value_to_json(type_, value_from_json(type_, text))) == json.dumps(text)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (DATE, 2_932_897, "+10000-01-01"),
        (DATE, -735_525, "-0044-03-15"),
        (DATE, -719_529, "-0001-12-31"),
        (DATE, -719_528, "0000-01-01"),
        (DATE, 2**31 - 1, "+5881580-07-11"),
        (DATE, -(2**31), "-5877641-06-23"),
        (TIMESTAMP, -(2**63), "-290308-12-21T19:59:05.224192"),
        (TIMESTAMPTZ, 2**63 - 1, "+294247-01-10T04:00:54.775807+00:00"),
        (TIMESTAMP_NS, -(2**63), "1677-09-21T00:12:43.145224192"),
    ],
    ids=str,
)
def test_dates_outside_the_years_of_datetime_have_text(type_: Type, value: int, text: str) -> None:
    assert value_to_json(type_, value) == text
    assert value_from_json(type_, text) == value
    assert display(type_, value) == text


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (TIMESTAMP, "2017-11-16T22:31:08", 1_510_871_468_000_000),
        (TIMESTAMP, "2017-11-16T22:31:08.1", 1_510_871_468_100_000),
        (TIMESTAMP, "2017-11-16T22:31:08.123456000", 1_510_871_468_123_456),
        (TIMESTAMP, "2017-11-16T22:31", 1_510_871_460_000_000),
        (TIMESTAMP_NS, "2017-11-16T22:31:08.1", 1_510_871_468_100_000_000),
        (TIME, "00:00", 0),
        (DOUBLE, 1, 1.0),
        (DOUBLE, "-Infinity", -math.inf),
        (FLOAT, 0.1, 0.10000000149011612),
        (UUID, "F79C3E09-677C-4BBD-A479-3F349CB785E7", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        (BINARY, "00FF", b"\x00\xff"),
        (DecimalType(9, 2), "1420E-2", Decimal("14.20")),
        (INTS, [1, None], [1, None]),
        (PAIR, {}, {}),
        (PAIR, {"2": None}, {2: None}),
        (VARIANT, None, None),
        (UNKNOWN, None, None),
    ],
    ids=str,
)
def test_other_spellings_of_one_meaning_are_read(type_: Type, given: Any, value: Any) -> None:
    parsed = value_from_json(type_, given)
    assert parsed == value
    assert type(parsed) is type(value)


def test_a_float_is_written_in_the_digits_of_its_width() -> None:
    assert value_to_json(FLOAT, 0.10000000149011612) == 0.1
    assert value_to_json(FLOAT, 3.4028234663852886e38) == 3.4028235e38
    assert value_to_json(DOUBLE, 0.10000000149011612) == 0.10000000149011612


def test_non_finite_floats_are_strings() -> None:
    for type_ in (FLOAT, DOUBLE):
        assert [value_to_json(type_, v) for v in (math.nan, math.inf, -math.inf)] == ["NaN", "Infinity", "-Infinity"]
        assert math.isnan(value_from_json(type_, "NaN"))


def test_a_small_decimal_is_written_plain() -> None:
    assert value_to_json(DecimalType(38, 10), Decimal("1E-10")) == "0.0000000001"
    assert value_to_json(DecimalType(38, 10), Decimal(0)) == "0.0000000000"


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (BOOLEAN, 1),
        (BOOLEAN, "true"),
        (INT, 1.0),
        (INT, True),
        (INT, 2**31),
        (INT, "1"),
        (LONG, 2**63),
        (FLOAT, 1e39),
        (DOUBLE, 10**400),
        (DOUBLE, "1.0"),
        (DOUBLE, "nan"),
        (DOUBLE, False),
        (DecimalType(9, 2), 14.2),
        (DecimalType(9, 2), "14.2"),
        (DecimalType(9, 2), "14.200"),
        (DecimalType(9, 2), "NaN"),
        (DecimalType(9, 2), "1_0.00"),
        (DecimalType(9, 2), "10000000.00"),
        (DecimalType(9, 0), "2E+20"),
        (DATE, "2017-02-29"),
        (DATE, "2017-13-01"),
        (DATE, "2017-11-16T00:00:00"),
        (DATE, "+5881580-07-12"),
        (DATE, 17486),
        (DATE, "２０１７-11-16"),
        (TIME, "24:00:00"),
        (TIME, "22:31:08.1234567"),
        (TIMESTAMP, "2017-11-16T22:31:08+00:00"),
        (TIMESTAMP, "2017-11-16 22:31:08"),
        (TIMESTAMP, "+294247-01-10T04:00:54.775808"),
        (TIMESTAMPTZ, "2017-11-16T22:31:08"),
        (TIMESTAMPTZ, "2017-11-16T22:31:08Z"),
        (TIMESTAMPTZ, "2017-11-16T22:31:08+01:00"),
        (TIMESTAMP_NS, "2262-04-11T23:47:16.854775808"),
        (STRING, 1),
        (STRING, "\ud800"),
        (UUID, "f79c3e09677c4bbda4793f349cb785e7"),
        (FixedType(2), "00"),
        (BINARY, "0"),
        (BINARY, "zz"),
        (GeometryType(), "POINT (1)"),
        (GeometryType(), "0101"),
        (VARIANT, {}),
        (UNKNOWN, 1),
        (PAIR, []),
        (PAIR, {"3": 1}),
        (INTS, {"a": 1}),
        (ListType(element_id=1, element=INT, element_required=True), [None]),
        (COUNTS, {"keys": ["a"], "values": []}),
        (COUNTS, {"keys": [None], "values": [1]}),
        (COUNTS, [["a", 1]]),
    ],
    ids=str,
)
def test_json_of_another_form_is_refused_with_its_place(type_: Type, given: Any) -> None:
    with pytest.raises(
        FormatViolation, match=r"^Invalid v1\.metadata\.json: column 3, write-default.*: expected .*got "
    ):
        value_from_json(type_, given, source="v1.metadata.json: column 3, write-default")


def test_a_message_about_a_nested_value_names_the_field() -> None:
    with pytest.raises(FormatViolation, match=r"Invalid default, field 1: expected a whole number from -2147483648"):
        value_from_json(PAIR, {"1": "x"}, source="default")


def test_values_of_another_type_are_not_written() -> None:
    for type_, value in [(INT, "1"), (PAIR, {9: 1}), (GeometryType(), b"\x01"), (VARIANT, 1), (INTS, ["a"])]:
        with pytest.raises(InvalidInput):
            value_to_json(type_, value)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (BOOLEAN, False, "false"),
        (FLOAT, 0.10000000149011612, "0.1"),
        (DOUBLE, -0.0, "-0.0"),
        (DecimalType(9, 2), Decimal("14.20"), "14.20"),
        (STRING, "a b", "a b"),
        (BINARY, b"\x00\xff", "0x00ff"),
        (UUID, uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (TIMESTAMPTZ, 0, "1970-01-01T00:00:00+00:00"),
        (GeometryType(), POINT_30_10, "POINT (30 10)"),
        (GeometryType(), b"\x09", "0x09"),
        (INTS, [1, None], "[1, null]"),
        (PAIR, {1: 1}, "{a: 1}"),
        (COUNTS, [("a", 1)], "{a: 1}"),
    ],
    ids=str,
)
def test_display_is_for_people(type_: Type, value: Any, text: str) -> None:
    assert display(type_, value) == text
