"""The rows of Arrow batches that match a bound predicate, many at a time: the filter behind every scan.

Law: true exactly where `evaluate` is, for both float orders. What Arrow has no kernel for (boxes of geometries, results
of transforms that leave their type) goes through the reference, row by row.
"""

from __future__ import annotations

import math
from typing import Any, Final

import pyarrow
import pyarrow.compute

from skipstone.metadata.types import DoubleType, FloatType, PrimitiveType, Value
from skipstone.predicate.arrow_columns import Paths, TermValues, column_paths
from skipstone.predicate.arrow_values import Array, comparable, literal_array, literal_scalar
from skipstone.predicate.evaluate import evaluate_leaf
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.like import like_re2, like_regex
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    In,
    Intersects,
    IsNan,
    IsNull,
    Leaf,
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
    StartsWith,
    Unknown,
    term_type,
)
from skipstone.predicate.normalise import normalise

pa: Any = pyarrow
pc: Any = pyarrow.compute

_KERNELS: Final = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


def matches(
    predicate: Predicate,
    batch: pyarrow.RecordBatch | pyarrow.Table,
    *,
    paths: Paths | None = None,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> pyarrow.BooleanArray:
    """True where a row matches the bound predicate, false elsewhere, never null.

    `paths` says where the columns are; without it, the field ids in the batch's schema do (see `column_paths`).
    """
    wanted = normalise(predicate, float_order)
    places = column_paths(batch.schema) if paths is None else paths
    parts = batch.to_batches() if isinstance(batch, pyarrow.Table) else [batch]
    found = [_matches(wanted, TermValues(part, places), float_order) for part in parts]
    answer: pyarrow.BooleanArray = found[0] if len(found) == 1 else pa.concat_arrays([*found, pa.array([], pa.bool_())])
    return answer


def _matches(predicate: Predicate, values: TermValues, order: FloatOrder) -> Array:
    """One boolean a row. There is no NOT in a normalised predicate, so unknown may become false at the leaves."""
    match predicate:
        case And(children):
            return _folded(pc.and_, children, values, order)
        case Or(children):
            return _folded(pc.or_, children, values, order)
        case AlwaysTrue():
            return _constant(values, True)
        case AlwaysFalse() | Unknown():
            return _constant(values, False)
        case Not():
            raise AssertionError(f"not normalised: {predicate}")
        case _:
            return _certain(_leaf_answers(predicate, values, order))


def _folded(combine: Any, children: tuple[Predicate, ...], values: TermValues, order: FloatOrder) -> Array:
    answer = _matches(children[0], values, order)
    for child in children[1:]:
        answer = combine(answer, _matches(child, values, order))
    return answer


def _leaf_answers(leaf: Leaf, values: TermValues, order: FloatOrder) -> Array:
    """One boolean a row, null for unknown."""
    array = None if isinstance(leaf, Intersects | NotIntersects) else values.array(leaf.term)
    if array is None:
        return pa.array([evaluate_leaf(leaf, value, order) for value in values.rows(leaf.term)], pa.bool_())
    match leaf:
        case IsNull():
            return array.is_null()
        case NotNull():
            return array.is_valid()
        case IsNan():
            return _is_nan(array)
        case NotNan():
            return pc.invert(_is_nan(array))
    if pa.types.is_null(array.type):
        return _constant(values, None)
    match leaf:
        case Compare(op, term, value):
            return _compare(op, term_type(term), array, value, order)
        case In(term, literals):
            return _is_in(term_type(term), array, literals, order)
        case NotIn(term, literals):
            return pc.invert(_is_in(term_type(term), array, literals, order))
        case StartsWith(_, prefix):
            return pc.starts_with(array, prefix)
        case NotStartsWith(_, prefix):
            return pc.invert(pc.starts_with(array, prefix))
        case Like(_, pattern, escape):
            return _like(array, pattern, escape)
        case NotLike(_, pattern, escape):
            return pc.invert(_like(array, pattern, escape))
    raise AssertionError(f"unreachable leaf {leaf!r}")


def _like(array: Array, pattern: str, escape: str) -> Array:
    try:
        return pc.match_substring_regex(array, like_re2(pattern, escape))
    except pyarrow.ArrowInvalid:  # RE2 bounds the size of a compiled pattern
        regex = like_regex(pattern, escape)
        return pa.array([None if v is None else regex.fullmatch(v) is not None for v in array.to_pylist()], pa.bool_())


def _compare(op: Op, type_: PrimitiveType, array: Array, literal: Value, order: FloatOrder) -> Array:
    answer = _KERNELS[op](comparable(type_, array), literal_scalar(type_, literal))
    if order is FloatOrder.IEEE or not isinstance(type_, FloatType | DoubleType):
        return answer  # Arrow's own order is IEEE's
    if not math.isnan(literal):
        return pc.or_(answer, pc.is_nan(array)) if op in (Op.GT, Op.GE) else answer
    match op:
        case Op.EQ | Op.GE:
            return pc.is_nan(array)
        case Op.NE | Op.LT:
            return pc.invert(pc.is_nan(array))
        case Op.GT | Op.LE:
            return pc.if_else(array.is_valid(), op is Op.LE, None)


def _is_in(type_: PrimitiveType, array: Array, literals: tuple[Value, ...], order: FloatOrder) -> Array:
    values = comparable(type_, array)
    wanted = literal_array(type_, literals)
    if isinstance(type_, FloatType | DoubleType):
        # The kernel looks up bits, with one NaN: zeros lose their sign, and NaN goes where it equals nothing.
        values, wanted = pc.add(values, 0.0), pc.add(wanted, 0.0)
        if order is FloatOrder.IEEE:
            wanted = wanted.filter(pc.invert(pc.is_nan(wanted)))
    return pc.if_else(array.is_valid(), pc.is_in(values, value_set=wanted), None)


def _is_nan(array: Array) -> Array:
    return _certain(pc.is_nan(array)) if pa.types.is_floating(array.type) else pc.and_(array.is_null(), False)


def _certain(answers: Array) -> Array:
    return pc.fill_null(answers, False) if answers.null_count else answers


def _constant(values: TermValues, answer: bool | None) -> Array:
    return pa.repeat(pa.scalar(answer, pa.bool_()), len(values))
