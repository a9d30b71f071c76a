"""The one-zone judge: obvious and slow, the reference for the columnar one.

It looks at one zone at a time with plain Python values and goes case by case. Law: `judge_one` of every zone equals the
verdict of `judge.judge`. Nothing is shared with it but the nodes of predicates and the values of types.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from skipstone.errors import InvalidInput, SkipstoneError
from skipstone.metadata.partitions.transforms import IdentityTransform, Transform, UnknownTransform, VoidTransform
from skipstone.metadata.types import (
    VARIANT,
    DateType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
    Value,
    VariantType,
)
from skipstone.metadata.values import check_value, parse_bound
from skipstone.metadata.values.geo import GeoPoint
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.like import literal_prefix
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Box,
    Column,
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
    Term,
    Transformed,
    Unknown,
    VariantGet,
    column_of,
    term_type,
)
from skipstone.predicate.one_term import joined_by_term, only_term
from skipstone.predicate.variant_terms import as_primitive
from skipstone.zones.verdict import Verdict
from skipstone.zones.zone_map import ColumnFacts, ZoneMap


@dataclass(frozen=True, slots=True, kw_only=True)
class OneColumn:
    """Facts about one column of one zone; None is unknown."""

    type: PrimitiveType
    lower: Value = None
    upper: Value = None
    null_count: int | None = None
    nan_count: int | None = None
    value_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneZone:
    row_count: int | None = None
    columns: Mapping[int, OneColumn] = field(default_factory=dict)


class _Proof(NamedTuple):
    none: bool
    every: bool


NOTHING = _Proof(none=False, every=False)


def judge_one(predicate: Predicate, zone: OneZone, float_order: FloatOrder = FloatOrder.SPARK) -> Verdict:
    """The verdict on one zone for a bound, normalised predicate."""
    proof = _prove(predicate, zone, float_order)
    if proof.none or zone.row_count == 0:
        return Verdict.NO_ROW_MATCHES
    return Verdict.EVERY_ROW_MATCHES if proof.every else Verdict.UNKNOWN


def one_zone(zones: ZoneMap, index: int) -> OneZone:
    """One zone of a map, as plain values."""
    return OneZone(
        row_count=None if zones.row_count is None else zones.row_count[index].as_py(),
        columns={i: _one_column(facts, index) for i, facts in zones.columns.items()},
    )


def _one_column(facts: ColumnFacts, index: int) -> OneColumn:
    def at(array: Any) -> Any:
        return None if array is None else array[index].as_py()

    return OneColumn(
        type=facts.type,
        lower=_plain(facts.type, facts.lower, index),
        upper=_plain(facts.type, facts.upper, index),
        null_count=at(facts.null_count),
        nan_count=at(facts.nan_count),
        value_count=at(facts.value_count),
    )


def _plain(type_: PrimitiveType, bounds: Any, index: int) -> Value:
    if bounds is None or not bounds[index].is_valid:
        return None
    scalar = bounds[index]
    match type_:
        case DateType() | TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return scalar.value
        case UuidType():
            return uuid.UUID(bytes=scalar.as_py())
        case GeometryType() | GeographyType():
            return GeoPoint(**scalar.as_py())
        case VariantType():
            return _paths(scalar.as_py())
        case _:
            return scalar.as_py()


def _paths(raw: bytes) -> Value:
    try:
        return parse_bound(VARIANT, raw)
    except SkipstoneError:
        return None


# -- the tree


def _prove(predicate: Predicate, zone: OneZone, float_order: FloatOrder) -> _Proof:
    term = only_term(predicate)
    if term is not None:
        return _prove_term(predicate, term, zone, float_order)
    match predicate:
        case AlwaysTrue():
            return _Proof(none=False, every=True)
        case AlwaysFalse() | Unknown():
            return _Proof(none=True, every=False)
        case And():
            return _both([_prove(part, zone, float_order) for part in joined_by_term(predicate)])
        case Or():
            return _either([_prove(part, zone, float_order) for part in joined_by_term(predicate)])
        case _:
            raise InvalidInput(f"Cannot judge {predicate}: expected a bound predicate without NOT. Call bind first.")


def _both(proofs: list[_Proof]) -> _Proof:
    return _Proof(none=any(p.none for p in proofs), every=all(p.every for p in proofs))


def _either(proofs: list[_Proof]) -> _Proof:
    return _Proof(none=all(p.none for p in proofs), every=any(p.every for p in proofs))


def _prove_term(predicate: Predicate, term: Term, zone: OneZone, float_order: FloatOrder) -> _Proof:
    """Three kinds of rows, by the value of the one term that the predicate is about: ordinary, NaN and null."""
    column = column_of(term)
    if not isinstance(column, Column):
        raise InvalidInput(f"Cannot judge {predicate}: column {column} is not bound. Call bind first.")
    facts = zone.columns.get(column.field_id)
    if facts is None or facts.type != column.type:
        return NOTHING
    facts = _without_odd_bounds(_of_term(term, facts))
    absent = _absent(facts, zone.row_count, is_nested=column.is_nested)
    values, nans, nulls = _by_kind(predicate, facts, float_order)

    none = values.none or absent.ordinary
    if nans:
        none = none and absent.nan
    if nulls:
        none = none and absent.null

    every = values.every or (absent.ordinary and (nans or nulls))
    if not nans:
        every = every and absent.nan
    if not nulls:
        every = every and absent.null
    return _Proof(none=none, every=every)


class _ByKind(NamedTuple):
    """What is proven about ordinary values, and whether NaN and null match."""

    values: _Proof
    nans: bool
    nulls: bool


def _by_kind(predicate: Predicate, facts: OneColumn, float_order: FloatOrder) -> _ByKind:
    match predicate:
        case And(children):
            kinds = [_by_kind(c, facts, float_order) for c in children]
            return _ByKind(_both([k.values for k in kinds]), all(k.nans for k in kinds), all(k.nulls for k in kinds))
        case Or(children):
            kinds = [_by_kind(c, facts, float_order) for c in children]
            return _ByKind(_either([k.values for k in kinds]), any(k.nans for k in kinds), any(k.nulls for k in kinds))
        case AlwaysTrue() | AlwaysFalse() | Unknown() | Not():
            raise AssertionError(f"{predicate} is not about one term")
        case leaf:
            nans = _is_float(facts.type) and _nan_matches(leaf, float_order)
            return _ByKind(_ordinary_values(leaf, facts, float_order), nans, isinstance(leaf, IsNull | NotNan))


def _is_float(type_: PrimitiveType) -> bool:
    return isinstance(type_, FloatType | DoubleType)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


# -- counts


class _Absent(NamedTuple):
    """Kinds of values proven not to be in the zone."""

    ordinary: bool
    nan: bool
    null: bool


def _absent(facts: OneColumn, row_count: int | None, *, is_nested: bool) -> _Absent:
    nulls, nans, own, rows = facts.null_count, facts.nan_count, facts.value_count, row_count
    is_float = _is_float(facts.type)
    values = rows if own is None else own
    odd = nulls is not None and nulls < 0
    if own is not None and rows is not None:
        odd = odd or own > rows or (own < rows and not is_nested)
    if nulls is not None and values is not None:
        odd = odd or nulls > values
    if is_float and nans is not None:
        odd = odd or nans < 0 or (nulls is not None and values is not None and nulls + nans > values)
    if odd:
        return _Absent(ordinary=False, nan=not is_float, null=False)
    all_null = nulls is not None and nulls == values
    all_nan = is_float and None not in (nulls, nans, values) and nulls + nans == values  # type: ignore[operator]
    no_null = nulls == 0
    if is_nested:
        no_null = no_null and own is not None and own == rows
    return _Absent(all_null or all_nan, not is_float or nans == 0 or all_null, no_null)


# -- bounds


def _of_term(term: Term, facts: OneColumn) -> OneColumn:
    match term:
        case Transformed(IdentityTransform(), _):
            return facts
        case Transformed(VoidTransform() | UnknownTransform(), _):
            return OneColumn(type=term_type(term))
        case Transformed(transform, _):
            return _transformed(transform, term_type(term), _without_odd_bounds(facts))
        case VariantGet(_, path, type_):
            return OneColumn(
                type=type_, lower=_at_path(facts.lower, path, type_), upper=_at_path(facts.upper, path, type_)
            )
        case _:
            return facts


def _transformed(transform: Transform, result: PrimitiveType, facts: OneColumn) -> OneColumn:
    def apply(bound: Value) -> Value:
        value = transform.apply(facts.type, bound)
        try:
            return None if value is None else _checked(result, value)
        except InvalidInput:
            return None

    lower, upper = apply(facts.lower), apply(facts.upper)
    if not transform.preserves_order and (facts.lower is None or facts.lower != facts.upper):
        lower = upper = None
    return replace(facts, type=result, lower=lower, upper=upper, nan_count=None)


def _checked(type_: PrimitiveType, value: Value) -> Value:
    check_value(type_, value)
    return value


def _at_path(bound: Value, path: str, type_: PrimitiveType) -> Value:
    if bound is None or path not in bound:
        return None
    value = as_primitive(bound[path], type_)
    try:
        return None if value is None else _checked(type_, value)
    except InvalidInput:
        return None


def _without_odd_bounds(facts: OneColumn) -> OneColumn:
    lower, upper = facts.lower, facts.upper
    if lower is None or upper is None or isinstance(lower, GeoPoint | dict):
        return facts
    if _is_nan(lower) or _is_nan(upper) or lower > upper:
        return replace(facts, lower=None, upper=None)
    return facts


# -- leaves


def _nan_matches(leaf: Leaf, float_order: FloatOrder) -> bool:
    is_spark = float_order is FloatOrder.SPARK
    match leaf:
        case IsNan() | NotNull():
            return True
        case Compare(op, _, literal) if _is_nan(literal):
            return op in (Op.EQ, Op.LE, Op.GE) if is_spark else op is Op.NE
        case Compare(op, _, _):
            return op in (Op.GT, Op.GE, Op.NE) if is_spark else op is Op.NE
        case In(_, literals):
            return is_spark and any(_is_nan(v) for v in literals)
        case NotIn(_, literals):
            return not (is_spark and any(_is_nan(v) for v in literals))
        case _:
            return False


def _ordinary_values(leaf: Leaf, facts: OneColumn, float_order: FloatOrder) -> _Proof:
    """What is proven about the values that are neither null nor NaN."""
    lower, upper = facts.lower, facts.upper
    match leaf:
        case IsNull() | IsNan():
            return _Proof(none=True, every=False)
        case NotNull() | NotNan():
            return _Proof(none=False, every=True)
        case Compare(op, _, literal) if _is_nan(literal):
            ops = (Op.LT, Op.LE, Op.NE) if float_order is FloatOrder.SPARK else (Op.NE,)
            return _Proof(none=op not in ops, every=op in ops)
        case Compare(op, _, literal):
            return _compare(op, literal, lower, upper)
        case In(_, literals):
            return _in(literals, lower, upper)
        case NotIn(_, literals):
            found = _in(literals, lower, upper)
            return _Proof(none=found.every, every=found.none)
        case StartsWith(_, prefix):
            return _starts_with(prefix, lower, upper)
        case NotStartsWith(_, prefix):
            found = _starts_with(prefix, lower, upper)
            return _Proof(none=found.every, every=found.none)
        case Like(_, pattern, escape):
            return _Proof(none=_starts_with(literal_prefix(pattern, escape), lower, upper).none, every=False)
        case NotLike(_, pattern, escape):
            return _Proof(none=False, every=_starts_with(literal_prefix(pattern, escape), lower, upper).none)
        case Intersects(_, box):
            return _Proof(none=_apart(box, lower, upper), every=False)
        case NotIntersects(_, box):
            return _Proof(none=False, every=_apart(box, lower, upper))


def _compare(op: Op, literal: Value, lower: Value, upper: Value) -> _Proof:
    all_below = upper is not None and upper < literal
    all_above = lower is not None and lower > literal
    none_below = lower is not None and lower >= literal
    none_above = upper is not None and upper <= literal
    match op:
        case Op.LT:
            return _Proof(none=none_below, every=all_below)
        case Op.LE:
            return _Proof(none=all_above, every=none_above)
        case Op.GT:
            return _Proof(none=none_above, every=all_above)
        case Op.GE:
            return _Proof(none=all_below, every=none_below)
        case Op.EQ:
            return _Proof(none=all_below or all_above, every=none_below and none_above)
        case Op.NE:
            return _Proof(none=none_below and none_above, every=all_below or all_above)


def _in(literals: tuple[Value, ...], lower: Value, upper: Value) -> _Proof:
    each = [_compare(Op.EQ, v, lower, upper) for v in literals if not _is_nan(v)]
    return _Proof(none=all(p.none for p in each), every=any(p.every for p in each))


def _starts_with(prefix: Any, lower: Value, upper: Value) -> _Proof:
    size = len(prefix)
    all_before = upper is not None and upper[:size] < prefix
    all_after = lower is not None and lower[:size] > prefix
    if size == 0:
        return _Proof(none=False, every=True)
    within = lower is not None and upper is not None and lower[:size] == prefix == upper[:size]
    return _Proof(none=all_before or all_after, every=within)


def _apart(box: Box, lower: GeoPoint | None, upper: GeoPoint | None) -> bool:
    if lower is None or upper is None:
        return False
    sides = ((lower.x, upper.x, box.xmin, box.xmax), (lower.y, upper.y, box.ymin, box.ymax))
    return any(low <= high and (low > box_high or high < box_low) for low, high, box_low, box_high in sides)
