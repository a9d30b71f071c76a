"""A bound predicate as a Spark filter, in SQL text.

Law: it keeps exactly the rows that the predicate is true for, as Spark's own SQL compares (NaN is the greatest number
and equals itself). What has no expression in Spark raises `Untranslatable`, and those files are read another way.
"""

from __future__ import annotations

from collections.abc import Callable

from skipstone.metadata.types import DoubleType, FloatType, StringType
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Compare,
    In,
    IsNan,
    IsNull,
    Leaf,
    Like,
    NotIn,
    NotLike,
    NotNan,
    NotNull,
    NotStartsWith,
    Or,
    Predicate,
    StartsWith,
    Term,
    Unknown,
    term_type,
)
from skipstone.predicate.normalise import normalise
from skipstone.spark.literals import NoLiteral, literal_sql

ColumnOf = Callable[[int], str]


class Untranslatable(Exception):
    """A predicate that Spark has no expression for."""


def to_spark_filter(predicate: Predicate, column_of: ColumnOf) -> str:
    """The filter as SQL; `column_of` gives the SQL of a column by its field id."""
    try:
        return _translate(normalise(predicate, FloatOrder.SPARK), column_of)
    except NoLiteral as error:
        raise Untranslatable(str(error)) from error


def _translate(predicate: Predicate, column_of: ColumnOf) -> str:
    match predicate:
        case And(children):
            return " AND ".join(f"({_translate(c, column_of)})" for c in children)
        case Or(children):
            return " OR ".join(f"({_translate(c, column_of)})" for c in children)
        case AlwaysTrue():
            return "true"
        case AlwaysFalse() | Unknown():
            return "false"
        case _:
            return _leaf(predicate, column_of)  # type: ignore[arg-type]


def _leaf(leaf: Leaf, column_of: ColumnOf) -> str:
    column = _column(leaf.term, column_of)
    type_ = term_type(leaf.term)
    match leaf:
        case IsNull():
            return f"{column} IS NULL"
        case NotNull():
            return f"{column} IS NOT NULL"
        case IsNan() | NotNan():
            is_nan = f"isnan({column})" if isinstance(type_, FloatType | DoubleType) else "false"
            return is_nan if isinstance(leaf, IsNan) else f"NOT {is_nan}"
        case Compare(op, _, value):
            return f"{column} {op.value} {literal_sql(type_, value)}"
        case In(_, values):
            return f"{column} IN ({', '.join(literal_sql(type_, v) for v in values)})"
        case NotIn(_, values):
            return f"{column} NOT IN ({', '.join(literal_sql(type_, v) for v in values)})"
        case StartsWith(_, prefix):
            return f"startswith({column}, {literal_sql(type_, prefix)})"
        case NotStartsWith(_, prefix):
            return f"NOT startswith({column}, {literal_sql(type_, prefix)})"
        case Like(_, pattern, escape) | NotLike(_, pattern, escape) if isinstance(type_, StringType):
            if escape == "\\":
                alike = f"{column} LIKE {literal_sql(type_, pattern)}"
                return alike if isinstance(leaf, Like) else f"NOT {alike}"
    raise Untranslatable(f"Spark has no expression for {leaf}")


def _column(term: Term, column_of: ColumnOf) -> str:
    if not isinstance(term, Column):
        raise Untranslatable(f"Spark has no expression for {term}")
    return column_of(term.field_id)
