"""Binding: names to field ids, literals to values of the column's type, and what folds."""

from __future__ import annotations

import datetime
import math
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from tests.support.predicate_schema import SALES, column, sql

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.partitions.transforms import YEAR, BucketTransform
from skipstone.metadata.types import DOUBLE, STRING
from skipstone.predicate import FloatOrder, bind, col
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    And,
    Column,
    Compare,
    In,
    IsNan,
    IsNull,
    Not,
    NotIn,
    NotNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    Ref,
    StartsWith,
    VariantGet,
    WholeType,
    field_ids,
)

MAX_DOUBLE = float.fromhex("0x1.fffffffffffffp+1023")


def compare(op: Op, name: str, value: Any) -> Predicate:
    return bind(Compare(op, Ref(name), value), SALES)


@pytest.mark.parametrize(
    ("name", "literal", "expected"),
    [
        ("id", 5, 5),
        ("id", 5.0, 5),
        ("id", Decimal("5.00"), 5),
        ("id", np.int64(5), 5),
        ("id", 2**31 - 1, 2**31 - 1),
        ("id", -(2**31), -(2**31)),
        ("big", 2**63 - 1, 2**63 - 1),
        ("big", Decimal(2**63 - 1), 2**63 - 1),
        ("x", 5, 5.0),
        ("x", Decimal("0.1"), 0.1),
        ("x", 2**53, 2.0**53),
        ("f", 0.1, 0.1),
        ("price", 5, Decimal("5.00")),
        ("price", Decimal("5.1"), Decimal("5.10")),
        ("price", 0.1, Decimal("0.10")),
        ("price", Decimal("0E+50"), Decimal("0.00")),
        ("price", Decimal("9999999.99"), Decimal("9999999.99")),
        ("d", datetime.date(1970, 1, 2), 1),
        ("d", "1969-12-31", -1),
        ("d", datetime.datetime(1970, 1, 2), 1),
        ("ts", datetime.datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        ("ts", datetime.date(1970, 1, 2), 86_400_000_000),
        ("tz", datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), 0),
        ("tz", "1970-01-01T00:00:00.000001Z", 1),
        ("ns", "1970-01-01 00:00:00.000000001", 1),
        ("t", datetime.time(0, 0, 1), 1_000_000),
        ("t", "00:00:01", 1_000_000),
        ("u", "f79c3e09-677c-4bbd-a479-3f349cb785e7", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        ("u", uuid.UUID(int=5), uuid.UUID(int=5)),
        ("bin", bytearray(b"ab"), b"ab"),
        ("fx", b"ab", b"ab"),
        ("ok", True, True),
        ("region", "10001", "10001"),
    ],
)  # fmt: skip
def test_literal_becomes_a_value_of_the_columns_type(name: str, literal: Any, expected: Any) -> None:
    bound = compare(Op.EQ, name, literal)
    assert bound == Compare(Op.EQ, column(name), expected)
    assert isinstance(bound, Compare)
    assert type(bound.value) is type(expected)
    if isinstance(expected, Decimal):
        assert bound.value.as_tuple().exponent == expected.as_tuple().exponent


@pytest.mark.parametrize(
    ("name", "above"),
    [
        ("id", 2**31), ("id", 3e9), ("id", Decimal("1E+999999")), ("id", math.inf), ("big", 2**63),
        ("big", Decimal(2**63)), ("price", Decimal("10000000")), ("price", 10**9), ("price", Decimal("1E+999999")),
        ("price", math.inf), ("d", "+5881580-07-12"),
        ("ns", datetime.date(2300, 1, 1)),
    ],
)  # fmt: skip
def test_literal_above_every_value_folds(name: str, above: Any) -> None:
    there = sql(f"{name} IS NOT NULL")
    assert [compare(op, name, above) for op in (Op.LT, Op.LE, Op.NE)] == [there] * 3
    assert [compare(op, name, above) for op in (Op.GT, Op.GE, Op.EQ)] == [FALSE] * 3


@pytest.mark.parametrize(
    ("name", "below"),
    [("id", -(2**31) - 1), ("big", -(2**63) - 1), ("price", Decimal("-10000000")), ("price", -math.inf)],
)
def test_literal_below_every_value_folds(name: str, below: Any) -> None:
    there = sql(f"{name} IS NOT NULL")
    assert [compare(op, name, below) for op in (Op.GT, Op.GE, Op.NE)] == [there] * 3
    assert [compare(op, name, below) for op in (Op.LT, Op.LE, Op.EQ)] == [FALSE] * 3


@pytest.mark.parametrize(
    ("name", "between", "floor"),
    [
        ("id", 5.5, 5),
        ("id", -5.5, -6),
        ("id", Decimal("-0.001"), -1),
        ("id", Decimal("1E-999999"), 0),
        ("id", Decimal("-1E-999999"), -1),
        ("price", Decimal("10.005"), Decimal("10.00")),
        ("price", Decimal("-10.005"), Decimal("-10.01")),
        ("price", Decimal("5." + "0" * 300 + "1"), Decimal("5.00")),
        ("d", "1970-01-02 00:00:00.000001", 1),
        ("d", "1969-12-31 23:59:59", -1),
        ("ts", "1970-01-01 00:00:00.000000999", 0),
        ("ts", "1969-12-31 23:59:59.999999999", -1),
        ("x", 10**400, MAX_DOUBLE),
        ("x", Decimal("1E+400"), MAX_DOUBLE),
        ("x", -(10**400), -math.inf),
    ],
)  # fmt: skip
def test_literal_between_two_values_is_compared_by_the_one_below(name: str, between: Any, floor: Any) -> None:
    assert [compare(op, name, between) for op in (Op.LT, Op.LE)] == [Compare(Op.LE, column(name), floor)] * 2
    assert [compare(op, name, between) for op in (Op.GT, Op.GE)] == [Compare(Op.GT, column(name), floor)] * 2
    assert compare(Op.EQ, name, between) == FALSE
    assert compare(Op.NE, name, between) == sql(f"{name} IS NOT NULL")


@pytest.mark.parametrize(
    ("name", "literal", "message"),
    [
        ("price", "ten", "Cannot bind predicate price = 'ten': field 4 'price' is decimal(9, 2), got string. "
         "Pass a number such as Decimal('10')."),
        ("region", 10001, "Cannot bind predicate region = 10001: field 3 'region' is string, got integer. "
         "Pass '10001' in quotes."),
        ("id", "5", "Cannot bind predicate id = '5': field 1 'id' is int, got string. Pass a number."),
        ("id", True, "Cannot bind predicate id = True: field 1 'id' is int, got boolean. Pass a number."),
        ("ok", 1, "Cannot bind predicate ok = 1: field 14 'ok' is boolean, got integer. Pass true or false."),
        ("d", 5, "Cannot bind predicate d = 5: field 10 'd' is date, got integer. "
         "Pass a date, a datetime or text such as '2026-11-16' or '2026-11-16 09:30:00'."),
        ("u", "abc", "Cannot bind predicate u = 'abc': field 11 'u' is uuid, got 'abc'. "
         "Pass a UUID such as 'f79c3e09-677c-4bbd-a479-3f349cb785e7'."),
        ("bin", "abc", "Cannot bind predicate bin = 'abc': field 12 'bin' is binary, got string. "
         "Pass bytes, in SQL X'0AFF'."),
        ("x", 2**53 + 1, "Cannot bind predicate x = 9007199254740993: field 5 'x' is double, got the integer "
         "9007199254740993, which no double holds exactly. Pass a float."),
        ("big", 1e17, "Cannot bind predicate big = 1e+17: field 2 'big' is long, got the double 1e+17, at which "
         "neighbouring longs are no longer told apart. Pass an integer."),
        ("v", 5, "Cannot bind predicate v = 5: field 20 'v' is variant, whose values have no order and no literals. "
         "Test it, or a field inside it, for null."),
    ],
)  # fmt: skip
def test_literal_of_another_kind_is_refused_with_the_next_step(name: str, literal: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        compare(Op.EQ, name, literal)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "literal"),
    [("id", math.nan), ("price", math.nan), ("price", Decimal("NaN")), ("id", Decimal("sNaN")), ("region", "\ud800"),
     ("t", "25:00"), ("t", 5), ("tz", "yesterday"), ("id", None.__class__), ("x", "5"), ("g", b"\x00")],
)  # fmt: skip
def test_literal_without_a_place_is_refused(name: str, literal: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^Cannot bind predicate "):
        compare(Op.LT, name, literal)


def test_unknown_column_lists_the_columns_and_the_nearest_name() -> None:
    with pytest.raises(NotFound) as caught:
        sql("regoin = 'x'")
    assert str(caught.value).startswith("Cannot find column 'regoin' in db.sales. Columns: id, big, region, price, ")
    assert str(caught.value).endswith("Did you mean 'region'?")


def test_names_are_case_sensitive_unless_asked() -> None:
    with pytest.raises(NotFound):
        bind((col("Region") == "x").predicate, SALES)
    bound = bind((col("Region") == "x").predicate, SALES, case_sensitive=False)
    assert bound == Compare(Op.EQ, column("region"), "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1", "Test it, or a field inside it, for null"),
        ("tags LIKE 'a%'", "expected a string"),
        ("tags.element = 'x'", "one value a row"),
        ("year(region) = 2026", "year does not take string"),
        ("bucket(16, x) = 3", "does not take double"),
        ("variant_get(region, '$.a', 'int') = 1", "expected a variant, got string"),
        ("id LIKE 'a%'", "expected a string to match a pattern against"),
        ("startswith(id, 'a')", "expected a string or binary to test for a prefix"),
        ("st_intersects(region, 0, 0, 1, 1)", "expected a geometry or geography"),
    ],
)
def test_term_that_cannot_be_tested_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sql(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id IS NULL", FALSE),
        ("id IS NOT NULL", TRUE),
        ("a.c IS NULL", IsNull(column("a.c"))),
        ("nothing IS NULL", TRUE),
        ("a IS NULL", IsNull(Column(field_id=7, type=WholeType(SALES.field("a").type), name="a"))),
        ("tags IS NOT NULL", NotNull(Column(field_id=23, type=WholeType(SALES.field("tags").type), name="tags"))),
        ("nothing = 5", FALSE),
        ("NOT nothing = 5", FALSE),
        ("isnan(id)", FALSE),
        ("NOT isnan(id)", TRUE),
        ("isnan(x)", IsNan(column("x"))),
        ("big = NULL", FALSE),
        ("NOT big = NULL", FALSE),
        ("big IN (3, 1, NULL, 1, 2.5, 99999999999999999999)", In(column("big"), (1, 3))),
        ("big IN (2.5)", FALSE),
        ("big NOT IN (3, 1, 2.5)", NotIn(column("big"), (1, 3))),
        ("big NOT IN (1, NULL)", FALSE),
        ("big NOT IN (2.5)", NotNull(column("big"))),
        ("big IN (5)", Compare(Op.EQ, column("big"), 5)),
        ("fx = X'01'", FALSE),
        ("fx != X'01'", NotNull(column("fx"))),
        ("fx < X'01'", Compare(Op.LT, column("fx"), b"\x01")),
        ("region LIKE 'ap%'", StartsWith(column("region"), "ap")),
        ("region NOT LIKE 'ap%%'", NotStartsWith(column("region"), "ap")),
        ("region LIKE 'ap'", Compare(Op.EQ, column("region"), "ap")),
        ("region LIKE '%'", NotNull(column("region"))),
        ("region NOT LIKE '%'", FALSE),
        ("startswith(region, '')", NotNull(column("region"))),
        ("big = 1 OR big IN (3, 2) OR region = 'x' OR big = 1",
         Or((In(column("big"), (1, 2, 3)), Compare(Op.EQ, column("region"), "x")))),
        ("big != 1 AND big NOT IN (3, 2)", NotIn(column("big"), (1, 2, 3))),
        ("NOT (big = 1 OR x > 5)", And((Compare(Op.NE, column("big"), 1), Compare(Op.LE, column("x"), 5.0)))),
    ],
)  # fmt: skip
def test_predicate_folds_to(text: str, expected: Predicate) -> None:
    assert sql(text) == expected


def test_negated_comparison_keeps_nan_under_ieee_order_only() -> None:
    below = Not(Compare(Op.LT, Ref("x"), 5))
    assert bind(below, SALES) == Compare(Op.GE, column("x"), 5.0)
    ieee = bind(below, SALES, float_order=FloatOrder.IEEE)
    assert ieee == Or((Compare(Op.GE, column("x"), 5.0), IsNan(column("x"))))
    on_int = bind(Not(Compare(Op.LT, Ref("id"), 5)), SALES, float_order=FloatOrder.IEEE)
    assert on_int == Compare(Op.GE, column("id"), 5)


def test_nan_in_a_list_comes_last_and_once() -> None:
    bound = bind(In(Ref("x"), (math.nan, 2.0, -0.0, 0.0, math.nan)), SALES)
    assert isinstance(bound, In)
    assert bound.values[:2] == (0.0, 2.0)
    assert len(bound.values) == 3
    assert math.isnan(bound.values[2])


def test_binding_twice_changes_nothing() -> None:
    once = sql("big > 5 AND (region LIKE 'a%' OR year(ts) = 2026) AND variant_get(v, '$.a', 'string') = 'x'")
    assert bind(once, SALES) == once
    assert field_ids(once) == {2, 3, 18, 20}


def test_transforms_and_variant_fields_take_literals_of_their_own_type() -> None:
    assert str(bind((col("id").bucket(16) == 3).predicate, SALES)) == "bucket[16](id) = 3"
    bound = bind((col("v").variant_get("$.a", "double") == 1).predicate, SALES)
    assert bound == Compare(Op.EQ, VariantGet(column("v"), "$['a']", DOUBLE), 1.0)
    with pytest.raises(InvalidInput, match="is string, got integer"):
        bind((col("v").variant_get("$.a", STRING) == 1).predicate, SALES)
    assert YEAR.can_transform(column("d").type)
    assert BucketTransform(16).can_transform(column("id").type)


def test_tree_too_deep_is_refused_not_crashed() -> None:
    deep: Predicate = Compare(Op.EQ, Ref("id"), 1)
    for _ in range(5000):
        deep = Not(deep)
    with pytest.raises(InvalidInput, match="nested too deeply"):
        bind(deep, SALES)


def test_text_that_utf8_cannot_hold_is_refused_in_words_that_can_be_printed() -> None:
    with pytest.raises(InvalidInput, match="half of a surrogate pair") as refused:
        bind(Compare(Op.EQ, Ref("region"), "a\ud800"), SALES)
    assert str(refused.value).encode()
