"""Predicates with Python operators: `(col("zip_code") == "10001") & col("ts").is_not_null()`.

`==` builds a predicate instead of comparing, so expressions are combined with `&`, `|` and `~`; using one as a truth
value is refused, because `a == 1 and b == 2` would silently drop a half.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    MONTH,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
)
from skipstone.metadata.types import PrimitiveType, parse_primitive
from skipstone.predicate import nodes
from skipstone.predicate.nodes import Box, Op, Predicate, Ref, Term, Transformed, VariantGet
from skipstone.predicate.paths import normalise_path


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A predicate under construction."""

    predicate: Predicate

    def __and__(self, other: Any) -> Expression:
        return Expression(nodes.and_(self.predicate, unwrap(other)))

    def __or__(self, other: Any) -> Expression:
        return Expression(nodes.or_(self.predicate, unwrap(other)))

    def __invert__(self) -> Expression:
        inner = self.predicate
        return Expression(inner.child if isinstance(inner, nodes.Not) else nodes.Not(inner))

    def __bool__(self) -> NoReturn:
        raise InvalidInput(
            f"Cannot use predicate {self.predicate} as a truth value: expected &, | or ~ between predicates, "
            "got and, or, not or if."
        )

    def __str__(self) -> str:
        return str(self.predicate)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnExpression:
    """A column, or a transform of one, ready to be compared."""

    term: Term

    def __eq__(self, value: object) -> Expression:  # type: ignore[override]
        return self._compare(Op.EQ, value)

    def __ne__(self, value: object) -> Expression:  # type: ignore[override]
        return self._compare(Op.NE, value)

    def __lt__(self, value: Any) -> Expression:
        return self._compare(Op.LT, value)

    def __le__(self, value: Any) -> Expression:
        return self._compare(Op.LE, value)

    def __gt__(self, value: Any) -> Expression:
        return self._compare(Op.GT, value)

    def __ge__(self, value: Any) -> Expression:
        return self._compare(Op.GE, value)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Expression:
        return Expression(nodes.and_(unwrap(self), unwrap(other)))

    def __or__(self, other: Any) -> Expression:
        return Expression(nodes.or_(unwrap(self), unwrap(other)))

    def __invert__(self) -> Expression:
        return ~Expression(unwrap(self))

    def _compare(self, op: Op, value: Any) -> Expression:
        if isinstance(value, ColumnExpression | Expression):
            raise InvalidInput(f"Cannot compare {self.term} with another column: expected a literal, got {value}.")
        return Expression(nodes.Compare(op, self.term, value))

    def between(self, low: Any, high: Any) -> Expression:
        return self._compare(Op.GE, low) & self._compare(Op.LE, high)

    def is_in(self, values: Iterable[Any]) -> Expression:
        return Expression(nodes.In(self.term, tuple(values)))

    def is_not_in(self, values: Iterable[Any]) -> Expression:
        return Expression(nodes.NotIn(self.term, tuple(values)))

    def is_null(self) -> Expression:
        return Expression(nodes.IsNull(self.term))

    def is_not_null(self) -> Expression:
        return Expression(nodes.NotNull(self.term))

    def is_nan(self) -> Expression:
        return Expression(nodes.IsNan(self.term))

    def is_not_nan(self) -> Expression:
        return Expression(nodes.NotNan(self.term))

    def starts_with(self, prefix: str | bytes) -> Expression:
        return Expression(nodes.StartsWith(self.term, prefix))

    def like(self, pattern: str, escape: str = "\\") -> Expression:
        return Expression(nodes.Like(self.term, pattern, escape))

    def intersects(self, xmin: float, ymin: float, xmax: float, ymax: float) -> Expression:
        return Expression(nodes.Intersects(self.term, Box(xmin, ymin, xmax, ymax)))

    def years(self) -> ColumnExpression:
        return self._transformed(YEAR)

    def months(self) -> ColumnExpression:
        return self._transformed(MONTH)

    def days(self) -> ColumnExpression:
        return self._transformed(DAY)

    def hours(self) -> ColumnExpression:
        return self._transformed(HOUR)

    def bucket(self, num_buckets: int) -> ColumnExpression:
        return self._transformed(BucketTransform(num_buckets))

    def truncate(self, width: int) -> ColumnExpression:
        return self._transformed(TruncateTransform(width))

    def variant_get(self, path: str, type_: str | PrimitiveType) -> ColumnExpression:
        """A field of a variant by JSON path, read as a primitive type."""
        as_type = parse_primitive(type_) if isinstance(type_, str) else type_
        return ColumnExpression(VariantGet(self._ref(), normalise_path(path), as_type))

    def _transformed(self, transform: Transform) -> ColumnExpression:
        return ColumnExpression(Transformed(transform, self._ref()))

    def _ref(self) -> Ref:
        if not isinstance(self.term, Ref):
            raise InvalidInput(f"Cannot transform {self.term}: expected a column.")
        return self.term


def col(name: str) -> ColumnExpression:
    """A column by its dotted name."""
    return ColumnExpression(Ref(name))


def unwrap(value: Any) -> Predicate:
    """The predicate in an expression, or the predicate itself."""
    if isinstance(value, Expression):
        return value.predicate
    if isinstance(value, bool):
        return nodes.TRUE if value else nodes.FALSE
    if isinstance(value, ColumnExpression):
        return nodes.Compare(Op.EQ, value.term, True)
    if isinstance(value, Predicate):
        return value
    raise InvalidInput(
        f"Cannot combine a predicate with {value!r}: expected another predicate such as col('x') == 1, "
        f"got {type(value).__name__}. Put parentheses around comparisons: (col('x') == 1) & (col('y') == 2)."
    )
