"""NOT at the leaves. That it keeps the matching rows is a property test; here is what it looks like."""

from __future__ import annotations

import pytest
from tests.support.predicate_schema import column

from skipstone.predicate import FloatOrder, normalise
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    UNKNOWN,
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
    NotIntersects,
    NotLike,
    NotNan,
    NotNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    Ref,
    StartsWith,
)

A, B = Compare(Op.EQ, Ref("a"), 1), Compare(Op.LT, Ref("b"), 2)
NOT_A, NOT_B = Compare(Op.NE, Ref("a"), 1), Compare(Op.GE, Ref("b"), 2)
X = Ref("x")
BOX = Box(0, 0, 1, 1)


@pytest.mark.parametrize(
    ("leaf", "negated"),
    [
        (Compare(Op.EQ, X, 1), Compare(Op.NE, X, 1)),
        (Compare(Op.LT, X, 1), Compare(Op.GE, X, 1)),
        (Compare(Op.LE, X, 1), Compare(Op.GT, X, 1)),
        (IsNull(X), NotNull(X)),
        (IsNan(X), NotNan(X)),
        (In(X, (1, 2)), NotIn(X, (1, 2))),
        (StartsWith(X, "a"), NotStartsWith(X, "a")),
        (Like(X, "a%b"), NotLike(X, "a%b")),
        (Intersects(X, BOX), NotIntersects(X, BOX)),
    ],
)
def test_leaf_and_its_negation_swap(leaf: Predicate, negated: Predicate) -> None:
    assert normalise(Not(leaf)) == negated
    assert normalise(Not(negated)) == leaf
    assert normalise(Not(Not(leaf))) == leaf


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Not(And((A, B))), Or((NOT_A, NOT_B))),
        (Not(Or((A, B))), And((NOT_A, NOT_B))),
        (Not(And((A, Not(Or((B, TRUE)))))), TRUE),
        (And((A, And((B, TRUE)))), And((A, B))),
        (Or((A, FALSE)), A),
        (And((A, FALSE)), FALSE),
        (UNKNOWN, FALSE),
        (Not(UNKNOWN), FALSE),
        (Or((A, UNKNOWN)), A),
        (Not(Or((A, UNKNOWN))), FALSE),
        (Compare(Op.EQ, X, None), FALSE),
        (Not(Compare(Op.EQ, X, None)), FALSE),
        (In(X, (1, None)), Compare(Op.EQ, X, 1)),
        (In(X, (1, 2, None)), In(X, (1, 2))),
        (In(X, (None,)), FALSE),
        (In(X, ()), FALSE),
        (NotIn(X, (1, None)), FALSE),
        (Not(In(X, (1, None))), FALSE),
        (NotIn(X, ()), TRUE),
        (NotIn(X, (1,)), Compare(Op.NE, X, 1)),
        (StartsWith(X, None), FALSE),
    ],
)
def test_tree_becomes(given: Predicate, expected: Predicate) -> None:
    assert normalise(given) == expected


def test_negated_comparison_of_a_float_depends_on_the_order() -> None:
    x = column("x")
    assert normalise(Not(Compare(Op.GT, x, 5.0))) == Compare(Op.LE, x, 5.0)
    assert normalise(Not(Compare(Op.GT, x, 5.0)), FloatOrder.IEEE) == Or((Compare(Op.LE, x, 5.0), IsNan(x)))
    assert normalise(Not(Compare(Op.GT, x, float("nan"))), FloatOrder.IEEE) == NotNull(x)
    assert normalise(Not(Compare(Op.GT, x, None)), FloatOrder.IEEE) == FALSE
