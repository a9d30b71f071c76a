"""Binding: names to field ids, literals to values of the column's type.

`bind` normalises first, so a bound predicate has no NOT, no null literal and no literal outside its column's domain:
`id = 3000000000` on an int column binds to false, `id < 3000000000` to `id IS NOT NULL`, or to true if the column is
required. It is true for the same rows as the predicate the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BinaryType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StringType,
    UnknownType,
    VariantType,
)
from skipstone.predicate.columns import Columns
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.like import simplify_like
from skipstone.predicate.literals import Above, Below, Fit, JsonLiteral, LiteralMismatch, Place, fit
from skipstone.predicate.merge import merge_equalities, sorted_distinct
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    Column,
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
    Predicate,
    Ref,
    StartsWith,
    Term,
    Transformed,
    VariantGet,
    column_of,
    map_leaves,
    term_type,
)
from skipstone.predicate.normalise import normalise


def bind(
    predicate: Predicate,
    schema: Schema,
    *,
    table: str = "the table",
    case_sensitive: bool = True,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Predicate:
    """The predicate over field ids and typed values, normalised and folded, for rows compared in a float order."""

    columns = Columns(schema, table=table, case_sensitive=case_sensitive)
    try:
        found = map_leaves(predicate, lambda leaf: replace(leaf, term=_bind_term(leaf.term, columns)))
        bound = map_leaves(normalise(found, float_order), lambda leaf: _bind_literals(leaf, schema))
        return merge_equalities(normalise(bound))
    except RecursionError:
        raise InvalidInput("Cannot bind the predicate: it is nested too deeply. Write long OR chains as IN.") from None


def _bind_literals(leaf: Leaf, schema: Schema) -> Predicate:
    term = leaf.term
    assert not isinstance(term, Ref)
    try:
        folded = _fold(leaf, term, schema)
        return _fold_null_test(folded, term, schema) if isinstance(folded, IsNull | NotNull) else folded
    except LiteralMismatch as mismatch:
        column = column_of(term)
        assert isinstance(column, Column)
        raise InvalidInput(
            f"Cannot bind predicate {leaf}: field {column.field_id} '{column.name}' is {term_type(term)}, {mismatch}"
        ) from mismatch


def _bind_term(term: Term, columns: Columns) -> Column | Transformed | VariantGet:
    match term:
        case Column():
            return term
        case Ref():
            return columns.find(term)
        case Transformed(transform, source):
            column = source if isinstance(source, Column) else columns.find(source)
            if not transform.can_transform(column.type):
                raise InvalidInput(
                    f"Cannot apply {transform} to field {column.field_id} '{column.name}': "
                    f"{transform} does not take {column.type}. Compare the column itself."
                )
            return Transformed(transform, column)
        case VariantGet(source, path, type_):
            column = source if isinstance(source, Column) else columns.find(source)
            if not isinstance(column.type, VariantType):
                raise InvalidInput(
                    f"Cannot read {path} of field {column.field_id} '{column.name}': "
                    f"expected a variant, got {column.type}. Compare the column itself."
                )
            return VariantGet(column, path, type_)


def _fold(leaf: Leaf, term: Column | Transformed | VariantGet, schema: Schema) -> Predicate:
    type_ = term_type(term)
    match leaf:
        case IsNull() | NotNull():
            return type(leaf)(term)
        case IsNan() | NotNan():
            if isinstance(type_, FloatType | DoubleType):
                return type(leaf)(term)
            return FALSE if isinstance(leaf, IsNan) else TRUE
        case Intersects(_, box) | NotIntersects(_, box):
            if not isinstance(type_, GeometryType | GeographyType):
                raise LiteralMismatch("expected a geometry or geography to test against a box.")
            return type(leaf)(term, box)
    if isinstance(type_, UnknownType):
        return FALSE  # always null, and no comparison with null is true
    match leaf:
        case Compare(op, _, value):
            return _fold_compare(op, term, fit(type_, value), type_)
        case In(_, values):
            return _fold_in(term, values, type_)
        case NotIn(_, values):
            return _fold_not_in(term, values, type_)
        case StartsWith(_, prefix) | NotStartsWith(_, prefix):
            return _fold_starts_with(leaf, term, prefix, type_)
        case Like(_, pattern, escape) | NotLike(_, pattern, escape):
            if not isinstance(type_, StringType):
                raise LiteralMismatch("expected a string to match a pattern against.")
            simple = simplify_like(term, pattern, escape, negated=isinstance(leaf, NotLike))
            return simple if simple is not None else type(leaf)(term, pattern, escape)
    raise AssertionError(f"unreachable leaf {leaf!r}")


def _fold_null_test(leaf: IsNull | NotNull, term: Column | Transformed | VariantGet, schema: Schema) -> Predicate:
    """Null tests on what can never, or can only, be null are constants."""
    if isinstance(term, Column):
        field = schema.find(term.field_id)
        if isinstance(term.type, UnknownType):
            return TRUE if isinstance(leaf, IsNull) else FALSE
        if field is not None and field.required and all(a.required for a in schema.ancestors(field.id)):
            return FALSE if isinstance(leaf, IsNull) else TRUE
    return type(leaf)(term)


def _fold_compare(op: Op, term: Term, place: Place, type_: PrimitiveType) -> Predicate:
    match place:
        case Above():
            return NotNull(term) if op in (Op.LT, Op.LE, Op.NE) else FALSE
        case Below():
            return NotNull(term) if op in (Op.GT, Op.GE, Op.NE) else FALSE
        case Fit(value, exact=False):
            if op is Op.EQ:
                return FALSE
            if op is Op.NE:
                return NotNull(term)
            # No column value lies strictly between the floor and the literal.
            return Compare(Op.LE if op in (Op.LT, Op.LE) else Op.GT, term, value)
        case Fit(value):
            if isinstance(type_, FixedType) and len(value) != type_.length and op in (Op.EQ, Op.NE):
                return FALSE if op is Op.EQ else NotNull(term)
            return Compare(op, term, value)


def _values_in_domain(values: Iterable[Any], type_: PrimitiveType) -> list[Any]:
    """The literals that some value of the type equals, sorted, without duplicates. NaN comes last."""
    places = [fit(type_, value) for value in values]
    exact = [p.value for p in places if isinstance(p, Fit) and p.exact]
    return sorted_distinct(v for v in exact if not isinstance(type_, FixedType) or len(v) == type_.length)


def _fold_in(term: Term, values: tuple[Any, ...], type_: PrimitiveType) -> Predicate:
    kept = _values_in_domain(values, type_)
    if not kept:
        return FALSE
    return Compare(Op.EQ, term, kept[0]) if len(kept) == 1 else In(term, tuple(kept))


def _fold_not_in(term: Term, values: tuple[Any, ...], type_: PrimitiveType) -> Predicate:
    kept = _values_in_domain(values, type_)
    if not kept:
        return NotNull(term)
    return Compare(Op.NE, term, kept[0]) if len(kept) == 1 else NotIn(term, tuple(kept))


def _fold_starts_with(leaf: StartsWith | NotStartsWith, term: Term, prefix: Any, type_: PrimitiveType) -> Predicate:
    if not isinstance(type_, StringType | BinaryType):
        raise LiteralMismatch("expected a string or binary to test for a prefix.")
    place = fit(type_, prefix.value if isinstance(prefix, JsonLiteral) and isinstance(type_, StringType) else prefix)
    assert isinstance(place, Fit)
    if len(place.value) == 0:
        return NotNull(term) if isinstance(leaf, StartsWith) else FALSE
    return type(leaf)(term, place.value)
