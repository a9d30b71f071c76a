"""A bound predicate as a Spark filter.

Law: it keeps exactly the rows that the predicate is true for, as Spark's own SQL compares (NaN is the greatest number
and equals itself). What has no expression in Spark raises `Untranslatable`, and those files are read another way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from pyspark.sql import functions as F

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
    Op,
    Or,
    Predicate,
    StartsWith,
    Term,
    Unknown,
    term_type,
)
from skipstone.predicate.normalise import normalise
from skipstone.spark.literals import NoLiteral, literal

ColumnOf = Callable[[Column], Any]

_COMPARE: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}


class Untranslatable(Exception):
    """A predicate that Spark has no expression for."""


def to_spark_filter(predicate: Predicate, column_of: ColumnOf) -> Any:
    """The filter; `column_of` gives the Spark column of a bound one."""
    try:
        return _translate(normalise(predicate, FloatOrder.SPARK), column_of)
    except NoLiteral as error:
        raise Untranslatable(str(error)) from error


def _translate(predicate: Predicate, column_of: ColumnOf) -> Any:
    match predicate:
        case And(children):
            return reduce(lambda a, b: a & b, [_translate(c, column_of) for c in children])
        case Or(children):
            return reduce(lambda a, b: a | b, [_translate(c, column_of) for c in children])
        case AlwaysTrue():
            return F.lit(True)
        case AlwaysFalse() | Unknown():
            return F.lit(False)
        case _:
            return _leaf(predicate, column_of)  # type: ignore[arg-type]


def _leaf(leaf: Leaf, column_of: ColumnOf) -> Any:
    column = _column(leaf.term, column_of)
    type_ = term_type(leaf.term)
    match leaf:
        case IsNull():
            return column.isNull()
        case NotNull():
            return column.isNotNull()
        case IsNan() | NotNan():
            is_nan = F.isnan(column) if isinstance(type_, FloatType | DoubleType) else F.lit(False)
            return is_nan if isinstance(leaf, IsNan) else ~is_nan
        case Compare(op, _, value):
            return _COMPARE[op](column, literal(type_, value))
        case In(_, values):
            return column.isin([literal(type_, v) for v in values])
        case NotIn(_, values):
            return ~column.isin([literal(type_, v) for v in values])
        case StartsWith(_, prefix):
            return F.startswith(column, literal(type_, prefix))
        case NotStartsWith(_, prefix):
            return ~F.startswith(column, literal(type_, prefix))
        case Like(_, pattern, escape) | NotLike(_, pattern, escape) if isinstance(type_, StringType):
            alike = F.like(column, F.lit(pattern), F.lit(escape)) if len(escape) == 1 else None
            if alike is not None:
                return alike if isinstance(leaf, Like) else ~alike
    raise Untranslatable(f"Spark has no expression for {leaf}")


def _column(term: Term, column_of: ColumnOf) -> Any:
    if not isinstance(term, Column):
        raise Untranslatable(f"Spark has no expression for {term}")
    return column_of(term)
