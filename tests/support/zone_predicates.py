"""Random predicates over the columns of `tests.support.zones`, of every kind, with literals near the data."""

from __future__ import annotations

import math
import random
from decimal import Context, Decimal
from typing import Any

from tests.support.zones import LEAVES, NAMES, SCHEMA, VARIANT_KINDS, VARIANT_PATHS, Batch, some_value

from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
)
from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    IntType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    Value,
    VariantType,
)
from skipstone.metadata.values.variant import VariantPrimitive
from skipstone.metadata.values.variant_paths import format_path
from skipstone.predicate import bind
from skipstone.predicate.literals import TypedLiteral
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
    Ref,
    StartsWith,
    Term,
    Transformed,
    VariantGet,
)

_TEMPORAL = (DateType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
_TRANSFORMS: tuple[Transform, ...] = (
    IDENTITY, VOID, YEAR, MONTH, DAY, HOUR, BucketTransform(2), BucketTransform(16), TruncateTransform(1),
    TruncateTransform(3), TruncateTransform(10), TruncateTransform(7_000_000_001),
)  # fmt: skip


def some_predicate(rng: random.Random, batch: Batch, *, depth: int = 2) -> Predicate:
    """A predicate as a user may write it: not yet bound, with NOT anywhere and nulls among the literals."""
    kind = rng.random()
    if depth == 0 or kind < 0.45:
        return some_leaf(rng, batch)
    if kind < 0.5:
        return rng.choice((TRUE, FALSE, UNKNOWN))
    if kind < 0.65:
        return Not(some_predicate(rng, batch, depth=depth - 1))
    children = tuple(some_predicate(rng, batch, depth=depth - 1) for _ in range(rng.choice((2, 2, 3))))
    return And(children) if kind < 0.83 else Or(children)


def some_bound_predicate(rng: random.Random, batch: Batch) -> Predicate:
    return bind(some_predicate(rng, batch), SCHEMA)


def some_leaf(rng: random.Random, batch: Batch) -> Leaf:
    field_id = rng.choice(batch.field_ids)
    term, type_, pool = _some_term(rng, field_id, batch.pools[field_id])
    kind = rng.random()
    if kind < 0.12 or isinstance(type_, UnknownType | VariantType):
        return rng.choice((IsNull, NotNull))(term)
    if isinstance(type_, GeometryType | GeographyType):
        return rng.choice((Intersects, NotIntersects))(term, _some_box(rng))
    if kind < 0.2 and isinstance(type_, FloatType | DoubleType):
        return rng.choice((IsNan, NotNan))(term)
    if kind < 0.4:
        many = rng.choice((0, 1, 2, 3, 20))
        literals = tuple(None if rng.random() < 0.05 else _some_literal(rng, type_, pool) for _ in range(many))
        return rng.choice((In, NotIn))(term, literals)
    if kind < 0.6 and isinstance(type_, StringType | BinaryType):
        return _some_prefix_leaf(rng, term, type_, pool)
    literal = None if rng.random() < 0.02 else _some_literal(rng, type_, pool)
    return Compare(rng.choice(list(Op)), term, literal)


def _some_term(rng: random.Random, field_id: int, pool: list[Value]) -> tuple[Term, PrimitiveType, list[Value]]:
    """A term over a column, its type, and values it may have."""
    type_, ref = LEAVES[field_id].type, Ref(NAMES[field_id])
    assert isinstance(type_, PrimitiveType)
    if isinstance(type_, VariantType) and rng.random() < 0.9:
        return _some_variant_term(rng, ref)
    usable = [t for t in _TRANSFORMS if t.can_transform(type_)]
    if isinstance(type_, VariantType | UnknownType) or not usable or rng.random() < 0.75:
        return ref, type_, pool
    transform = rng.choice(usable)
    result = transform.result_type(type_)
    assert isinstance(result, PrimitiveType)
    return Transformed(transform, ref), result, [transform.apply(type_, v) for v in pool]


def _some_variant_term(rng: random.Random, ref: Ref) -> tuple[Term, PrimitiveType, list[Value]]:
    _, type_ = rng.choice(VARIANT_KINDS)
    return VariantGet(ref, format_path(rng.choice(VARIANT_PATHS)), type_), type_, []


def _some_literal(rng: random.Random, type_: PrimitiveType, pool: list[Value]) -> Any:
    known = [v for v in pool if v is not None and not isinstance(v, VariantPrimitive)]
    value = rng.choice(known) if known and rng.random() < 0.7 else some_value(rng, type_)
    match type_:
        case BooleanType():
            return value
        case FloatType() | DoubleType():
            return value if rng.random() < 0.7 or math.isinf(value) else value + rng.choice((-0.5, 1e-9))
        case IntType() | LongType():
            return value + rng.choice((0, 0, -1, 1)) if rng.random() < 0.95 else rng.choice((2**40, -(2**70), 0.5))
        case DecimalType():
            return value if rng.random() < 0.7 else Context(prec=60).add(value, Decimal("0.0005"))
        case _ if isinstance(type_, _TEMPORAL):
            return TypedLiteral(type_, value)
        case StringType():
            return value[: rng.choice((1, 3, 16, 99))] + rng.choice(("", "", "a", "\x00"))
        case BinaryType():
            return value[: rng.choice((1, 3, 99))] + rng.choice((b"", b"", b"\x00"))
        case _:
            return value


def _some_prefix_leaf(rng: random.Random, term: Term, type_: PrimitiveType, pool: list[Value]) -> Leaf:
    prefix = _some_literal(rng, type_, pool)[: rng.choice((0, 1, 2, 13))]
    if isinstance(type_, BinaryType) or rng.random() < 0.6:
        return rng.choice((StartsWith, NotStartsWith))(term, prefix)
    escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    pattern = escaped + rng.choice(("%", "_", "%a%", "_%", "", "%b"))
    return rng.choice((Like, NotLike))(term, pattern)


def _some_box(rng: random.Random) -> Box:
    x, y = rng.choice((float(rng.randint(-6, 6)), 175.0, -178.0)), float(rng.randint(-6, 6))
    return Box(x, y, x + rng.choice((0.0, 2.0, 200.0)), y + rng.choice((0.0, 3.0, 100.0)))
