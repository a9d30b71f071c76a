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
from skipstone.zones.arrow import Array, Bits, Scalar, pa, pc
from skipstone.zones.bounds import Between
from skipstone.zones.boxes import disjoint
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
            return _in(between, values, no)
        case NotIn(_, values):
            return _swapped(_in(between, values, no))
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
            outside = pc.or_(upper(pc.less), lower(pc.greater))
            return Proofs(none=outside, every=pc.and_(lower(pc.equal), upper(pc.equal)))
        case Op.NE:
            return _swapped(_compare(Op.EQ, between, value, no))


def _test(test: Callable[..., Bits], bound: Array | None, literal: Scalar, no: Bits) -> Bits:
    if bound is None:
        return no
    return _certain(test(bound, literal))


def _certain(proof: Bits) -> Bits:
    return proof if proof.null_count == 0 else pc.fill_null(proof, False)


def _in(between: Between, values: tuple[Any, ...], no: Bits) -> Proofs:
    """None matches if no literal lies between the bounds; every row, if the bounds are one literal."""
    if between.lower is None or between.upper is None:
        return Proofs(_outside_all(between, values, no), no)
    ordered = between.array(_ordinary(values))
    if len(ordered) == 0:
        return Proofs(pc.invert(no), no)
    # The first literal that is not below the lower bound is the only one that has to be looked at.
    at = pc.search_sorted(ordered, between.lower, side="left").cast(pa.int64())
    past = pc.greater_equal(at, len(ordered))
    first = ordered.take(pc.min_element_wise(at, pa.scalar(len(ordered) - 1, pa.int64()), skip_nulls=False))
    none = _certain(pc.or_kleene(past, pc.greater(first, between.upper)))
    single = _certain(pc.equal(between.lower, between.upper))
    hit = _certain(pc.and_kleene(pc.invert(past), pc.equal(first, between.lower)))
    return Proofs(none, pc.and_(single, hit))


def _outside_all(between: Between, values: tuple[Any, ...], no: Bits) -> Bits:
    """With one bound only: no literal is on its inner side."""
    ordinary = _ordinary(values)
    if not ordinary:
        return pc.invert(no)
    if between.lower is not None:
        return _test(pc.greater, between.lower, between.scalar(ordinary[-1]), no)
    return _test(pc.less, between.upper, between.scalar(ordinary[0]), no)


def _ordinary(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Binding sorts the literals and puts NaN last."""
    if values and isinstance(values[-1], float) and math.isnan(values[-1]):
        return values[:-1]
    return values


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
    return no if bound is None else _certain(pc.starts_with(bound, prefix))
