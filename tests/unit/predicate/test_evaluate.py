"""The row evaluator: SQL's three values, both float orders."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.support.predicate_schema import SALES, sql

from skipstone.metadata.values.geo import Geometry, GeometryKind, serialize_wkb
from skipstone.metadata.values.variant_python import variant_from_python
from skipstone.predicate import FloatOrder, bind, col, evaluate
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    UNKNOWN,
    And,
    Column,
    Compare,
    In,
    Not,
    NotIn,
    Op,
    Or,
    Ref,
    StartsWith,
)

SPARK, IEEE = FloatOrder.SPARK, FloatOrder.IEEE
NAN = math.nan
X = Column(field_id=5, type=SALES.field("x").type, name="x")  # type: ignore[arg-type]
TRUTH = {True: TRUE, False: FALSE, None: UNKNOWN}


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (True, True, True, True), (True, False, False, True), (True, None, None, True),
        (False, False, False, False), (False, None, False, None), (None, None, None, None),
    ],
)  # fmt: skip
def test_connectors_have_three_values(left: Any, right: Any, both: Any, either: Any) -> None:
    for pair in ((TRUTH[left], TRUTH[right]), (TRUTH[right], TRUTH[left])):
        assert evaluate(And(pair), {}) is both
        assert evaluate(Or(pair), {}) is either
    assert evaluate(Not(TRUTH[left]), {}) is (None if left is None else not left)


@pytest.mark.parametrize(
    ("op", "value", "literal", "spark", "ieee"),
    [
        (Op.EQ, NAN, NAN, True, False), (Op.NE, NAN, NAN, False, True), (Op.LE, NAN, NAN, True, False),
        (Op.GT, NAN, 5.0, True, False), (Op.GE, NAN, 5.0, True, False), (Op.LT, NAN, 5.0, False, False),
        (Op.NE, NAN, 5.0, True, True), (Op.LT, 5.0, NAN, True, False), (Op.GT, 5.0, NAN, False, False),
        (Op.GT, NAN, math.inf, True, False), (Op.EQ, -0.0, 0.0, True, True), (Op.LT, -0.0, 0.0, False, False),
    ],
)  # fmt: skip
def test_nan_and_zero_compare_by_float_order(op: Op, value: float, literal: float, spark: bool, ieee: bool) -> None:
    assert evaluate(Compare(op, X, literal), {5: value}, SPARK) is spark
    assert evaluate(Compare(op, X, literal), {5: value}, IEEE) is ieee


def test_nan_is_in_a_list_only_where_it_equals_itself() -> None:
    assert evaluate(In(X, (1.0, NAN)), {5: NAN}, SPARK) is True
    assert evaluate(In(X, (1.0, NAN)), {5: NAN}, IEEE) is False
    assert evaluate(NotIn(X, (1.0, NAN)), {5: NAN}, IEEE) is True


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (In(X, (1.0, None)), [None, True, None]),
        (NotIn(X, (1.0, None)), [None, False, None]),
        (In(X, ()), [False, False, False]),
        (NotIn(X, ()), [True, True, True]),
        (Compare(Op.EQ, X, None), [None, None, None]),
        (StartsWith(X, None), [None, None, None]),
    ],
)  # fmt: skip
def test_null_literals_make_unknown(predicate: Any, expected: list[bool | None]) -> None:
    assert [evaluate(predicate, {5: v}) for v in (None, 1.0, 2.0)] == expected


def test_missing_field_is_null() -> None:
    assert evaluate(sql("x = 1"), {}) is None
    assert evaluate(sql("x IS NULL"), {}) is True
    assert evaluate(sql("isnan(x)"), {}) is False
    assert evaluate(sql("NOT isnan(x)"), {}) is True


def test_coalesce_of_a_column_that_is_not_there() -> None:
    assert evaluate(sql("coalesce(big, 0) = 0"), {}) is True
    assert evaluate(sql("big IS NULL OR id = 1"), {1: 2}) is True


def test_is_true_is_never_unknown() -> None:
    rows: list[dict[int, Any]] = [{14: None}, {14: True}, {14: False}]
    assert [evaluate(sql("ok IS TRUE"), r) is True for r in rows] == [False, True, False]
    assert [evaluate(sql("ok IS NOT TRUE"), r) is True for r in rows] == [True, False, True]
    assert [evaluate(sql("NOT ok"), r) is True for r in rows] == [False, False, True]


def test_transform_of_a_value_before_1970() -> None:
    assert evaluate(sql("year(ts) = 1969"), {18: -1}) is True
    assert evaluate(sql("days(ts) = DATE '1969-12-31'"), {18: -1}) is True
    assert evaluate(sql("bucket(16, id) = 79"), {1: 34}) is False


@pytest.mark.parametrize(
    ("content", "text", "expected"),
    [
        ({"a": {"b": 5}}, "variant_get(v, '$.a.b', 'int') = 5", True),
        ({"a": {"b": "5"}}, "variant_get(v, '$.a.b', 'int') = 5", None),
        ({"a": [5]}, "variant_get(v, '$.a.b', 'int') = 5", None),
        (5, "variant_get(v, '$', 'long') > 4", True),
        ({"a": 2**40}, "variant_get(v, '$.a', 'int') > 4", None),
        ({"a": None}, "variant_get(v, '$.a', 'int') IS NULL", True),
    ],
)
def test_field_of_a_variant_is_null_where_it_does_not_fit(content: Any, text: str, expected: bool | None) -> None:
    assert evaluate(sql(text), {20: variant_from_python(content)}) is expected


def test_box_meets_the_bounding_box_edges_included() -> None:
    point = serialize_wkb(Geometry(kind=GeometryKind.POINT, positions=((1.0, 2.0),)))
    assert evaluate(sql("st_intersects(g, 1, 2, 3, 4)"), {21: point}) is True
    assert evaluate(sql("st_intersects(g, 1.1, 2, 3, 4)"), {21: point}) is False
    assert evaluate(sql("NOT st_intersects(g, 1.1, 2, 3, 4)"), {21: point}) is True
    empty = serialize_wkb(Geometry(kind=GeometryKind.POINT))
    assert evaluate(sql("st_intersects(g, -180, -90, 180, 90)"), {21: empty}) is False


def test_unbound_predicate_is_refused() -> None:
    with pytest.raises(TypeError, match="Bind the predicate first"):
        evaluate(Compare(Op.EQ, Ref("x"), 1), {})
    assert evaluate(bind((col("x") == 1).predicate, SALES), {5: 1.0}) is True
