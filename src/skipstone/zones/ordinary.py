"""A leaf against bounds: what is proven about a zone's ordinary values, those that are neither null nor NaN.

Every ordinary value x of a zone satisfies lower <= x <= upper; nothing else is used. An unknown bound proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from skipstone.predicate.evaluate import evaluate_leaf
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.like import literal_prefix
from skipstone.predicate.nodes import (
    Compare,
    In,
    Intersects,
    IsNan,
    IsNull,
    Leaf,
    Like,
    NotIn,
    NotIntersects,
    NotLike,
    NotNan,
    NotNull,
    NotStartsWith,
    Op,
    StartsWith,
)
from skipstone.zones.arrow import Array, Bits, Scalar, certain, has_any, pc
from skipstone.zones.bounds import Between
from skipstone.zones.boxes import disjoint
from skipstone.zones.in_lists import judge_in
from skipstone.zones.verdict import Proofs, Verdict, bits, constant


def judge_ordinary(leaf: Leaf, between: Between, num_zones: int, float_order: FloatOrder) -> Proofs:
    no = bits(num_zones, False)
    match leaf:
        case IsNull() | IsNan():
            return constant(num_zones, Verdict.NO_ROW_MATCHES)
        case NotNull() | NotNan():
            return constant(num_zones, Verdict.EVERY_ROW_MATCHES)
        case Compare(op, _, value) if isinstance(value, float) and math.isnan(value):
            return _against_nan(leaf, num_zones, float_order)
        case Compare(op, _, value):
            return _compare(op, between, value, no)
        case In(_, values):
            return judge_in(between, values, num_zones)
        case NotIn(_, values):
            return _swapped(judge_in(between, values, num_zones))
        case StartsWith(_, prefix):
            return _starts_with(between, prefix, no)
        case NotStartsWith(_, prefix):
            return _swapped(_starts_with(between, prefix, no))
        case Like(_, pattern, escape):
            return Proofs(_starts_with(between, literal_prefix(pattern, escape), no).none, no)
        case NotLike(_, pattern, escape):
            return Proofs(no, _starts_with(between, literal_prefix(pattern, escape), no).none)
        case Intersects(_, box):
            return Proofs(disjoint(between, box, num_zones), no)
        case NotIntersects(_, box):
            return Proofs(no, disjoint(between, box, num_zones))


def _swapped(proofs: Proofs) -> Proofs:
    """The proofs of the negated leaf: among ordinary values exactly one of the two matches."""
    return Proofs(proofs.every, proofs.none)


def _against_nan(leaf: Compare, num_zones: int, float_order: FloatOrder) -> Proofs:
    """Every ordinary number compares with NaN in the same way."""
    matches = evaluate_leaf(leaf, 0.0, float_order)
    return constant(num_zones, Verdict.EVERY_ROW_MATCHES if matches else Verdict.NO_ROW_MATCHES)


def _compare(op: Op, between: Between, value: Any, no: Bits) -> Proofs:
    literal = between.scalar(value)

    def lower(test: Callable[..., Bits]) -> Bits:
        return _test(test, between.lower, literal, no)

    def upper(test: Callable[..., Bits]) -> Bits:
        return _test(test, between.upper, literal, no)

    match op:
        case Op.LT:
            return Proofs(none=lower(pc.greater_equal), every=upper(pc.less))
        case Op.LE:
            return Proofs(none=lower(pc.greater), every=upper(pc.less_equal))
        case Op.GT:
            return Proofs(none=upper(pc.less_equal), every=lower(pc.greater))
        case Op.GE:
            return Proofs(none=upper(pc.less), every=lower(pc.greater_equal))
        case Op.EQ:
            at_lower = lower(pc.equal)
            only = pc.and_(at_lower, upper(pc.equal)) if has_any(at_lower) else no
            return Proofs(none=pc.or_(upper(pc.less), lower(pc.greater)), every=only)
        case Op.NE:
            return _swapped(_compare(Op.EQ, between, value, no))


def _test(test: Callable[..., Bits], bound: Array | None, literal: Scalar, no: Bits) -> Bits:
    return no if bound is None else certain(test(bound, literal))


def _starts_with(between: Between, prefix: str | bytes, no: Bits) -> Proofs:
    """Values with a prefix form one range: from the prefix itself up to the last text that begins with it."""
    if len(prefix) == 0:
        return Proofs(no, pc.invert(no))
    literal = between.scalar(prefix)
    below = _test(pc.less, between.upper, literal, no)
    begins_low = _begins(between.lower, prefix, no)
    begins_high = _begins(between.upper, prefix, no)
    above = pc.and_not(_test(pc.greater, between.lower, literal, no), begins_low)
    return Proofs(pc.or_(below, above), pc.and_(begins_low, begins_high))


def _begins(bound: Array | None, prefix: str | bytes, no: Bits) -> Bits:
    return no if bound is None else certain(pc.starts_with(bound, prefix))
