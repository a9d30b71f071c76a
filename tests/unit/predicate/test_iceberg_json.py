"""Iceberg's expression JSON, both ways."""

from __future__ import annotations

import json
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest
from tests.support.predicate_schema import SALES, column, sql

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.partitions.transforms import DAY, BucketTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import BINARY, DATE, DOUBLE, FLOAT, Field
from skipstone.predicate import bind, evaluate, parse_expression, parse_sql, serialize_expression
from skipstone.predicate.literals import JsonLiteral, TypedLiteral
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    And,
    Compare,
    In,
    IsNan,
    IsNull,
    NotIn,
    NotNan,
    NotNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    Ref,
    StartsWith,
    Transformed,
)

X = Ref("x")


def leaf(kind: str, value: Any = 5) -> dict[str, Any]:
    return {"type": kind, "term": "x", "value": value}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (True, TRUE),
        (False, FALSE),
        ({"type": "true"}, TRUE),
        ({"type": "false"}, FALSE),
        ({"type": "literal", "value": True}, TRUE),
        ({"type": "is-null", "term": "x"}, IsNull(X)),
        ({"type": "IS_NULL", "term": "x"}, IsNull(X)),
        ({"type": "not-null", "term": "x"}, NotNull(X)),
        ({"type": "is-nan", "term": "x"}, IsNan(X)),
        ({"type": "not-nan", "term": "x"}, NotNan(X)),
        (leaf("lt"), Compare(Op.LT, X, JsonLiteral(5))),
        (leaf("lt-eq"), Compare(Op.LE, X, JsonLiteral(5))),
        (leaf("gt"), Compare(Op.GT, X, JsonLiteral(5))),
        (leaf("gt-eq"), Compare(Op.GE, X, JsonLiteral(5))),
        (leaf("eq"), Compare(Op.EQ, X, JsonLiteral(5))),
        (leaf("eq", {"type": "literal", "value": 5}), Compare(Op.EQ, X, JsonLiteral(5))),
        (leaf("not-eq"), Or((Compare(Op.NE, X, JsonLiteral(5)), IsNull(X)))),
        (leaf("starts-with", "a"), StartsWith(X, JsonLiteral("a"))),
        (leaf("not-starts-with", "a"), Or((NotStartsWith(X, JsonLiteral("a")), IsNull(X)))),
        ({"type": "in", "term": "x", "values": [1, 2]}, In(X, (JsonLiteral(1), JsonLiteral(2)))),
        ({"type": "not-in", "term": "x", "values": [1]}, Or((NotIn(X, (JsonLiteral(1),)), IsNull(X)))),
        ({"type": "and", "left": leaf("lt"), "right": leaf("gt")},
         And((Compare(Op.LT, X, JsonLiteral(5)), Compare(Op.GT, X, JsonLiteral(5))))),
        ({"type": "or", "left": leaf("lt"), "right": leaf("gt")},
         Or((Compare(Op.LT, X, JsonLiteral(5)), Compare(Op.GT, X, JsonLiteral(5))))),
        ({"type": "not", "child": leaf("lt")}, Or((Compare(Op.GE, X, JsonLiteral(5)), IsNull(X)))),
        ({"type": "not", "child": leaf("not-eq")}, Compare(Op.EQ, X, JsonLiteral(5))),
        ({"type": "not", "child": {"type": "is-null", "term": "x"}}, NotNull(X)),
        ({"type": "eq", "term": {"type": "reference", "term": "x"}, "value": 5}, Compare(Op.EQ, X, JsonLiteral(5))),
        ({"type": "eq", "term": {"type": "transform", "transform": "bucket[16]", "term": "x"}, "value": 5},
         Compare(Op.EQ, Transformed(BucketTransform(16), X), JsonLiteral(5))),
        ({"type": "eq", "term": {"type": "transform", "transform": "day", "term": {"type": "reference", "term": "x"}},
          "value": "2026-11-16"}, Compare(Op.EQ, Transformed(DAY, X), JsonLiteral("2026-11-16"))),
    ],
)  # fmt: skip
def test_expression_means(expression: Any, expected: Predicate) -> None:
    assert parse_expression(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        None, 5, "x = 1", [], {}, {"type": "nope"}, {"type": "not"}, {"type": "and", "left": True}, {"type": "eq"},
        {"type": "eq", "term": "x"}, {"type": "eq", "value": 5}, {"type": "eq", "term": 5, "value": 5},
        {"type": "in", "term": "x", "value": 5}, {"type": "in", "term": "x", "values": 5},
        {"type": "in", "term": "x", "values": [5], "value": 5},
        {"type": "is-null", "term": "x", "value": 5}, {"type": "eq", "term": "x", "values": [5]},
        {"type": "literal", "value": 5}, {"type": "eq", "term": "x", "value": {"type": "reference", "term": "y"}},
        {"type": "eq", "term": {"type": "nope"}, "value": 5}, {"type": ["eq"], "term": "x", "value": 5},
    ],
)  # fmt: skip
def test_expression_that_is_wrong_is_one_clear_error(expression: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^Invalid "):
        parse_expression(expression)


@pytest.mark.parametrize(
    ("type_", "literal", "greater"),
    [
        (DOUBLE, 10**400, [math.inf]),
        (DOUBLE, -(10**400), [-3e38, 2.0, 3e38, math.inf]),
        (DOUBLE, 2, [3e38, math.inf]),
        (FLOAT, 1e300, [math.inf]),
        (FLOAT, 10**400, [math.inf]),
        (FLOAT, 2, [3e38, math.inf]),
    ],
)
def test_numbers_beyond_floating_point_keep_their_place(type_: Any, literal: Any, greater: list[float]) -> None:
    schema = Schema(fields=(Field(id=1, name="x", type=type_, required=False),))
    predicate = bind(parse_expression(leaf("gt", literal)), schema)
    values = [-math.inf, -3e38, 2.0, 3e38, math.inf]
    assert [v for v in values if evaluate(predicate, {1: v})] == greater


def test_transform_that_is_not_known_is_refused() -> None:
    with pytest.raises(Unsupported, match="known transform"):
        parse_expression(
            {"type": "eq", "term": {"type": "transform", "transform": "zorder[2]", "term": "x"}, "value": 5}
        )


def test_deep_nesting_is_refused_not_crashed() -> None:
    deep: Any = leaf("eq")
    for _ in range(5000):
        deep = {"type": "not", "child": deep}
    with pytest.raises(InvalidInput, match="levels of nesting"):
        parse_expression(deep)


def test_chain_of_ten_thousand_is_read_whichever_way_it_leans_and_written_flat() -> None:
    leaves = [{"type": "eq", "term": "big", "value": i} for i in range(10_000)]
    for left_deep in (True, False):
        chain: Any = leaves[0]
        for other in leaves[1:]:
            left, right = (chain, other) if left_deep else (other, chain)
            chain = {"type": "or", "left": left, "right": right}
        parsed = parse_expression(chain)
        assert bind(parsed, SALES) == In(column("big"), tuple(range(10_000)))
    written = json.dumps(serialize_expression(parsed))  # a balanced tree: no limit on depth is near
    assert bind(parse_expression(json.loads(written)), SALES) == In(column("big"), tuple(range(10_000)))


@pytest.mark.parametrize(
    ("name", "json_value", "expected"),
    [
        ("ok", True, True),
        ("id", 34, 34),
        ("big", 2**60, 2**60),
        ("x", 1.5, 1.5),
        ("x", 1, 1.0),
        ("x", "NaN", math.nan),
        ("x", "-Infinity", -math.inf),
        ("f", 0.1, 0.10000000149011612),
        ("price", "14.20", Decimal("14.20")),
        ("price", 14.2, Decimal("14.20")),
        ("d", "2017-11-16", 17486),
        ("d", 17486, 17486),
        ("t", "22:31:08.123456", 81068123456),
        ("t", 81068123456, 81068123456),
        ("ts", "2017-11-16T22:31:08.123456", 1510871468123456),
        ("ts", 1510871468123456, 1510871468123456),
        ("tz", "2017-11-16T22:31:08.123456+00:00", 1510871468123456),
        ("ns", "2017-11-16T22:31:08.123456789", 1510871468123456789),
        ("region", "iceberg", "iceberg"),
        ("u", "f79c3e09-677c-4bbd-a479-3f349cb785e7", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        ("bin", "000102FF", b"\x00\x01\x02\xff"),
        ("bin", "000102ff", b"\x00\x01\x02\xff"),
        ("fx", "78DA", b"\x78\xda"),
    ],
)  # fmt: skip
def test_literal_of_every_type_is_read(name: str, json_value: Any, expected: Any) -> None:
    bound = bind(parse_expression({"type": "eq", "term": name, "value": json_value}), SALES)
    assert isinstance(bound, Compare)
    assert bound.value == expected or (math.isnan(expected) and math.isnan(bound.value))


@pytest.mark.parametrize(
    ("text", "json_value"),
    [
        ("ok = true", True),
        ("id = 34", 34),
        ("x = 1.5", 1.5),
        ("price = 14.2", "14.20"),
        ("d = '2017-11-16'", "2017-11-16"),
        ("t = '22:31:08.123456'", "22:31:08.123456"),
        ("ts = '2017-11-16T22:31:08.123456'", "2017-11-16T22:31:08.123456"),
        ("tz = '2017-11-16T22:31:08.123456Z'", "2017-11-16T22:31:08.123456+00:00"),
        ("ns = '2017-11-16T22:31:08.123456789'", "2017-11-16T22:31:08.123456789"),
        ("region = 'é'", "é"),
        ("u = 'f79c3e09-677c-4bbd-a479-3f349cb785e7'", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ("bin = X'00ff'", "00FF"),
        ("fx = X'78da'", "78DA"),
    ],
)
def test_literal_of_every_type_is_written(text: str, json_value: Any) -> None:
    written = serialize_expression(sql(text))
    assert written["value"] == json_value
    assert bind(parse_expression(written), SALES) == sql(text)


@pytest.mark.parametrize(
    ("name", "json_value"),
    [("id", 2**40), ("price", "99999999999.00"), ("d", 2**40), ("big", 2**70)],
)
def test_literal_out_of_range_folds(name: str, json_value: Any) -> None:
    assert bind(parse_expression({"type": "gt", "term": name, "value": json_value}), SALES) == FALSE


@pytest.mark.parametrize(
    ("name", "json_value"),
    [("id", "x"), ("id", True), ("price", "x"), ("price", "NaN"), ("d", "x"), ("d", True), ("u", 5), ("bin", "0"),
     ("bin", 5), ("ok", 1), ("x", "1"), ("region", 5), ("ts", [1])],
)  # fmt: skip
def test_literal_of_another_kind_is_refused(name: str, json_value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^Cannot bind predicate "):
        bind(parse_expression({"type": "gt", "term": name, "value": json_value}), SALES)


def test_negative_comparisons_match_null_in_json_and_not_in_sql() -> None:
    from_json = bind(parse_expression({"type": "not-eq", "term": "big", "value": 5}), SALES)
    assert [evaluate(from_json, {2: v}) for v in (None, 5, 6)] == [True, False, True]
    back = bind(parse_expression(serialize_expression(parse_sql("big != 5"))), SALES)
    assert [evaluate(back, {2: v}) is True for v in (None, 5, 6)] == [False, False, True]


def test_unbound_literals_are_written_as_they_were_given() -> None:
    term = Ref("c")
    assert serialize_expression(Compare(Op.EQ, term, TypedLiteral(DATE, 0)))["value"] == "1970-01-01"
    assert serialize_expression(Compare(Op.EQ, term, TypedLiteral(BINARY, b"\xff")))["value"] == "FF"
    assert serialize_expression(Compare(Op.EQ, term, b"\xff"))["value"] == "FF"
    assert serialize_expression(Compare(Op.EQ, term, Decimal("1.50")))["value"] == "1.50"
    assert serialize_expression(Compare(Op.EQ, term, uuid.UUID(int=1)))["value"] == str(uuid.UUID(int=1))
    assert serialize_expression(Compare(Op.EQ, term, JsonLiteral(5)))["value"] == 5


@pytest.mark.parametrize(
    "text",
    ["region LIKE 'a%b'", "st_intersects(g, 0, 0, 1, 1)", "variant_get(v, '$.a', 'int') = 1"],
)
def test_what_iceberg_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(Unsupported, match="Iceberg has no such"):
        serialize_expression(sql(text))
