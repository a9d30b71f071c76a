"""Predicates built with Python operators, and everything a user may pass as a filter."""

from __future__ import annotations

import pytest
from tests.support.predicate_schema import SALES

from skipstone.errors import InvalidInput
from skipstone.metadata.types import LONG
from skipstone.predicate import as_predicate, bind, col, parse_sql
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    And,
    Box,
    Compare,
    In,
    Intersects,
    IsNan,
    IsNull,
    Like,
    Not,
    NotIn,
    NotNan,
    NotNull,
    Op,
    Or,
    Predicate,
    Ref,
    StartsWith,
    VariantGet,
)

X = Ref("x")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("x") == 1, Compare(Op.EQ, X, 1)),
        (col("x") != 1, Compare(Op.NE, X, 1)),
        (col("x") < 1, Compare(Op.LT, X, 1)),
        (col("x") <= 1, Compare(Op.LE, X, 1)),
        (col("x") > 1, Compare(Op.GT, X, 1)),
        (col("x") >= 1, Compare(Op.GE, X, 1)),
        (col("x") > 1, Compare(Op.GT, X, 1)),
        (col("x") == None, Compare(Op.EQ, X, None)),  # noqa: E711
        (col("x").between(1, 2), And((Compare(Op.GE, X, 1), Compare(Op.LE, X, 2)))),
        (col("x").is_in(i for i in (1, 2)), In(X, (1, 2))),
        (col("x").is_not_in([1]), NotIn(X, (1,))),
        (col("x").is_null(), IsNull(X)),
        (col("x").is_not_null(), NotNull(X)),
        (col("x").is_nan(), IsNan(X)),
        (col("x").is_not_nan(), NotNan(X)),
        (col("x").starts_with("a"), StartsWith(X, "a")),
        (col("x").like("a%"), Like(X, "a%")),
        (col("x").intersects(0, 1, 2, 3), Intersects(X, Box(0, 1, 2, 3))),
        (col("x").variant_get("$.a", "long") == 1, Compare(Op.EQ, VariantGet(X, "$['a']", LONG), 1)),
        (~(col("x") == 1), Not(Compare(Op.EQ, X, 1))),
        (col("ok") & ~col("x").is_null() | False, And((Compare(Op.EQ, Ref("ok"), True), Not(IsNull(X))))),
        ((col("x") == 1) | (col("x") == 2) | (col("x") == 3), Or(tuple(Compare(Op.EQ, X, i) for i in (1, 2, 3)))),
    ],
)  # fmt: skip
def test_operators_build(expression: object, expected: Predicate) -> None:
    assert as_predicate(expression) == expected


@pytest.mark.parametrize(
    ("python", "text"),
    [
        (col("ts").years() == 56, "years(ts) = 56"),
        (col("ts").months() == 674, "months(ts) = 674"),
        (col("ts").days() == "2026-11-16", "days(ts) = '2026-11-16'"),
        (col("ts").hours() == 29, "hours(ts) = 29"),
        (col("id").bucket(16) == 3, "bucket(16, id) = 3"),
        (col("region").truncate(2) == "ab", "truncate(2, region) = 'ab'"),
        (col("a.c") > 5, "a.c > 5"),
    ],
)
def test_python_and_sql_say_the_same(python: object, text: str) -> None:
    assert bind(as_predicate(python), SALES) == bind(parse_sql(text), SALES)


def test_predicate_as_truth_value_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got and, or, not or if"):
        bool(col("x") == 1 and col("x") == 2)
    with pytest.raises(InvalidInput, match="got and, or, not or if"):
        assert 1 < col("x") < 5


def test_column_compared_with_a_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a literal"):
        col("x") == col("y")  # noqa: B015


def test_transform_of_a_transform_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a column"):
        col("ts").days().bucket(2)


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        (None, TRUE),
        (True, TRUE),
        (False, FALSE),
        ("x = 1", Compare(Op.EQ, X, 1)),
        (col("x"), Compare(Op.EQ, X, True)),
        (IsNull(X), IsNull(X)),
        ({"type": "is-null", "term": "x"}, IsNull(X)),
    ],
)
def test_filter_of_every_kind_becomes_a_predicate(filter_: object, expected: Predicate) -> None:
    assert as_predicate(filter_) == expected


@pytest.mark.parametrize("filter_", [5, ["x = 1"], object(), b"x = 1", X])
def test_anything_else_is_refused_with_what_is_possible(filter_: object) -> None:
    with pytest.raises(InvalidInput, match=r"^Invalid filter .*SQL text"):
        as_predicate(filter_)


@pytest.mark.parametrize("other", [5, "x = 1", None])
def test_connector_with_something_that_is_no_predicate_is_refused(other: object) -> None:
    with pytest.raises(InvalidInput, match=r"^Cannot combine"):
        (col("x") == 1) & other
