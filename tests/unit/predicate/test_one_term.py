"""The parts of a predicate that are about one term."""

from __future__ import annotations

import math

from skipstone.metadata.partitions.transforms import DAY
from skipstone.metadata.types import DOUBLE, TIMESTAMP
from skipstone.predicate import FloatOrder
from skipstone.predicate.nodes import TRUE, And, Column, Compare, IsNull, Not, Op, Or, Transformed
from skipstone.predicate.one_term import joined_by_term, matches_value, only_term

D = Column(field_id=1, type=DOUBLE, name="d")
T = Column(field_id=2, type=TIMESTAMP, name="t")
LOW, HIGH = Compare(Op.GE, D, 1.0), Compare(Op.LE, D, 5.0)
LATE = Compare(Op.GE, T, 0)


def test_a_tree_over_one_term_is_about_it_and_any_other_leaf_makes_it_about_none() -> None:
    assert only_term(Or((And((LOW, HIGH)), IsNull(D)))) == D
    assert only_term(And((LOW, Or((HIGH, LATE))))) is None
    assert only_term(And((LATE, Compare(Op.EQ, Transformed(DAY, T), 0)))) is None
    assert only_term(TRUE) is only_term(Not(LOW)) is only_term(And((LOW, TRUE))) is None


def test_children_about_one_term_are_joined_wherever_they_stand() -> None:
    assert joined_by_term(And((LOW, LATE, HIGH, TRUE))) == [And((LOW, HIGH)), LATE, TRUE]
    mixed = Or((LOW, LATE))
    assert joined_by_term(And((mixed, LOW, Or((HIGH, IsNull(D)))))) == [And((LOW, Or((HIGH, IsNull(D))))), mixed]
    assert joined_by_term(Or((LOW, LATE, HIGH))) == [Or((LOW, HIGH)), LATE]


def test_a_value_is_tried_against_all_leaves() -> None:
    between, outside = And((LOW, HIGH)), Or((Compare(Op.LT, D, 1.0), IsNull(D)))
    assert [matches_value(between, v, FloatOrder.SPARK) for v in (0.0, 1.0, math.nan, None)] == [
        False,
        True,
        False,
        False,
    ]
    assert [matches_value(outside, v, FloatOrder.SPARK) for v in (0.0, 1.0, math.nan, None)] == [
        True,
        False,
        False,
        True,
    ]
    assert matches_value(LOW, math.nan, FloatOrder.SPARK) and not matches_value(LOW, math.nan, FloatOrder.IEEE)
