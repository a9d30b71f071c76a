"""Laws of predicates: literals keep their exact value, NOT keeps the matching rows, JSON survives a round trip."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.predicates import leaves, like_patterns, predicates
from tests.support.strategies import PRIMITIVES, nullable, strings, values

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    DecimalType,
    Field,
    PrimitiveType,
)
from skipstone.predicate import FloatOrder, bind, evaluate, normalise, parse_expression, serialize_expression
from skipstone.predicate.like import like_regex
from skipstone.predicate.literals import TypedLiteral
from skipstone.predicate.nodes import Column, Compare, In, Like, NotIn, NotLike, Op, Predicate, Ref
from skipstone.predicate.nodes import leaves as leaves_of

ORDERS = st.sampled_from(FloatOrder)
COMPARE = {
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}
C = Column(field_id=1, type=LONG, name="c")


def schema_of(type_: PrimitiveType) -> Schema:
    return Schema(fields=(Field(id=1, name="c", type=type_, required=False),))


def check_exact(type_: PrimitiveType, literal: Any, exact: Any, value: Any, exact_value: Any) -> None:
    """Every operator on the bound predicate is the comparison of the exact numbers."""
    schema = schema_of(type_)
    for op, holds in COMPARE.items():
        bound = bind(Compare(op, Ref("c"), literal), schema)
        assert (evaluate(bound, {1: value}) is True) == holds(exact_value, exact), (op, bound)
        assert evaluate(bound, {1: None}) is not True
    assert (evaluate(bind(In(Ref("c"), (literal,)), schema), {1: value}) is True) == (exact_value == exact)
    assert (evaluate(bind(NotIn(Ref("c"), (literal,)), schema), {1: value}) is True) == (exact_value != exact)


near = st.integers(-3, 3)
exact_numbers = st.one_of(
    st.integers(-(10**40), 10**40),
    st.sampled_from([2**31, -(2**31), 2**63, -(2**63), 10**9, 10**38, 0]).flatmap(lambda n: near.map(lambda d: n + d)),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.decimals(-1000, 1000, places=3),
)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), type_=st.sampled_from([INT, LONG, DecimalType(9, 2), DecimalType(38, 10), DecimalType(5, 5)]))
def test_integer_and_decimal_literals_compare_by_their_exact_value(data: st.DataObject, type_: PrimitiveType) -> None:
    literal = data.draw(exact_numbers)
    value = data.draw(values(type_) | _near(type_, literal))
    check_exact(type_, literal, Fraction(literal), value, Fraction(value))


def _near(type_: PrimitiveType, literal: Any) -> st.SearchStrategy[Any]:
    """Values next to a literal, where they fit the type."""
    scale = type_.scale if isinstance(type_, DecimalType) else 0
    top = 10**type_.precision - 1 if isinstance(type_, DecimalType) else 2 ** (31 if type_ == INT else 63) - 1
    floor = math.floor(Fraction(literal) * 10**scale) if abs(Fraction(literal)) < 10**50 else 0
    units = near.map(lambda d: max(-top, min(top, floor + d)))
    return units.map(lambda n: Decimal(f"{n}E-{scale}")) if isinstance(type_, DecimalType) else units


@settings(max_examples=150, deadline=None)
@given(literal=st.floats(allow_nan=False), data=st.data(), type_=st.sampled_from([INT, LONG]))
def test_double_literals_on_integers_compare_exactly_or_are_refused(
    literal: float, data: st.DataObject, type_: PrimitiveType
) -> None:
    value = data.draw(values(type_))
    if type_ == LONG and abs(literal) >= 2**53 and math.isfinite(literal):
        with pytest.raises(InvalidInput, match="Pass an integer"):
            bind(Compare(Op.LT, Ref("c"), literal), schema_of(type_))
    else:
        check_exact(type_, literal, literal, value, value)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), type_=st.sampled_from([FLOAT, DOUBLE]))
def test_literals_on_floats_compare_as_the_double_they_mean(data: st.DataObject, type_: PrimitiveType) -> None:
    value = data.draw(values(type_).filter(lambda v: not math.isnan(v)))
    literal = data.draw(st.one_of(st.floats(allow_nan=False), st.integers(-(2**53), 2**53), st.just(10**400)))
    check_exact(type_, literal, literal, value, value)


UNITS = {DATE: 86_400 * 10**9, TIMESTAMP: 1000, TIMESTAMPTZ: 1000, TIMESTAMP_NS: 1}


@settings(max_examples=200, deadline=None)
@given(data=st.data(), type_=st.sampled_from(list(UNITS)), of=st.sampled_from(list(UNITS)))
def test_dates_and_timestamps_compare_as_moments(data: st.DataObject, type_: PrimitiveType, of: PrimitiveType) -> None:
    given_value = data.draw(values(of))
    floor = given_value * UNITS[of] // UNITS[type_]
    bits = 31 if type_ == DATE else 63
    close = near.map(lambda d: max(-(2**bits), min(2**bits - 1, floor + d)))
    value = data.draw(values(type_) | close)
    check_exact(type_, TypedLiteral(of, given_value), given_value * UNITS[of], value, value * UNITS[type_])


@pytest.mark.parametrize("type_", PRIMITIVES, ids=str)
@settings(max_examples=18, deadline=None)
@given(data=st.data(), order=ORDERS)
def test_normalising_keeps_the_rows_that_match(type_: PrimitiveType, data: st.DataObject, order: FloatOrder) -> None:
    column = data.draw(st.lists(nullable(type_), max_size=4))
    term = Column(field_id=1, type=type_, name="c")
    predicate = data.draw(predicates(leaves(term, type_, pool=column, null_literals=True), negations=True))
    normal = normalise(predicate, order)
    assert normalise(normal, order) == normal or _has_nan(normal)
    for value in column:
        assert (evaluate(predicate, {1: value}, order) is True) == (evaluate(normal, {1: value}, order) is True)


def _has_nan(predicate: Predicate) -> bool:
    """NaN differs from itself, and so do the predicates that hold it."""
    return "nan" in repr(predicate)


@pytest.mark.parametrize("type_", PRIMITIVES, ids=str)
@settings(max_examples=12, deadline=None)
@given(data=st.data(), order=ORDERS)
def test_binding_keeps_the_rows_that_match(type_: PrimitiveType, data: st.DataObject, order: FloatOrder) -> None:
    """Binding folds, sorts and gathers; for values of the column's own type that changes no row."""
    column = data.draw(st.lists(nullable(type_), max_size=4))
    term = Column(field_id=1, type=type_, name="c")
    predicate = data.draw(predicates(leaves(term, type_, pool=column, null_literals=True), negations=True))
    typed = _typed(predicate, type_)
    bound = bind(typed, schema_of(type_), float_order=order)
    for value in column:
        assert (evaluate(predicate, {1: value}, order) is True) == (evaluate(bound, {1: value}, order) is True)


def _typed(predicate: Predicate, type_: PrimitiveType) -> Predicate:
    """Dates and times as literals that name their type: a bare integer is not one."""
    if type_ not in (DATE, TIMESTAMP, TIMESTAMPTZ) and "time" not in str(type_):
        return predicate
    wrap = lambda v: None if v is None else TypedLiteral(type_, v)  # noqa: E731

    def change(leaf: Any) -> Predicate:
        match leaf:
            case Compare(op, term, value):
                return Compare(op, term, wrap(value))
            case In(term, listed) | NotIn(term, listed):
                return type(leaf)(term, tuple(wrap(v) for v in listed))
            case _:
                return leaf  # type: ignore[no-any-return]

    return _map(predicate, change)


def _map(predicate: Any, change: Any) -> Predicate:
    """`map_leaves` without its folding, which must not hide what is tested."""
    if hasattr(predicate, "children"):
        return type(predicate)(tuple(_map(c, change) for c in predicate.children))  # type: ignore[no-any-return]
    if hasattr(predicate, "child"):
        return type(predicate)(_map(predicate.child, change))  # type: ignore[no-any-return]
    return change(predicate) if hasattr(predicate, "term") else predicate  # type: ignore[no-any-return]


@pytest.mark.parametrize("type_", PRIMITIVES, ids=str)
@settings(max_examples=12, deadline=None)
@given(data=st.data(), order=ORDERS)
def test_expression_json_selects_the_same_rows_after_a_round_trip(
    type_: PrimitiveType, data: st.DataObject, order: FloatOrder
) -> None:
    column = data.draw(st.lists(nullable(type_), max_size=4))
    term = Column(field_id=1, type=type_, name="c")
    predicate = data.draw(predicates(leaves(term, type_, pool=column)))
    bound = bind(_typed(predicate, type_), schema_of(type_), float_order=order)
    if any(isinstance(leaf, Like | NotLike) for leaf in leaves_of(bound)):
        return
    text = json.dumps(serialize_expression(bound), allow_nan=False)
    back = bind(parse_expression(json.loads(text)), schema_of(type_), float_order=order)
    for value in column:
        assert (evaluate(bound, {1: value}, order) is True) == (evaluate(back, {1: value}, order) is True)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), text=strings(size_max=8))
def test_like_is_the_obvious_recursive_match(data: st.DataObject, text: str) -> None:
    pattern = data.draw(like_patterns([text]))
    assert (like_regex(pattern).fullmatch(text) is not None) == _like(pattern, text)


def _like(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_like(pattern[1:], text[i:]) for i in range(len(text) + 1))
    if pattern[0] == "_":
        return bool(text) and _like(pattern[1:], text[1:])
    skip = 2 if pattern[0] == "\\" else 1
    return bool(text) and text[0] == pattern[skip - 1] and _like(pattern[skip:], text[1:])
