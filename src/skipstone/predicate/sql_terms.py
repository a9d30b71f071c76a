"""The terms of SQL text: columns and transforms of columns.

Spark's own functions keep Spark's meaning. `year(ts)` is the calendar year, and `day(ts)`, `month(ts)` and `hour(ts)`
are the day of the month, the month of the year and the hour of the day, which say nothing about a range of time: with
a number they are refused, with a date (`day(ts) = DATE '2026-11-16'`) they mean the transform. The plural forms
(`days(ts)`, `months(ts)`, ...) are the partition transforms, as in Iceberg's Spark functions.
"""

from __future__ import annotations

import re
from typing import Any, Final

from sqlglot import exp

from skipstone.errors import Unsupported
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    MONTH,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
)
from skipstone.metadata.types import DATE, TIMESTAMP_NS, parse_primitive
from skipstone.predicate.literals import LiteralMismatch, TypedLiteral, instant_nanos
from skipstone.predicate.nodes import Ref, Term, Transformed, VariantGet
from skipstone.predicate.paths import normalise_path
from skipstone.predicate.sql_literals import is_literal, parse_literal
from skipstone.predicate.sql_text import TRUNCATE

_PLURALS: Final[dict[str, Transform]] = {"years": YEAR, "months": MONTH, "days": DAY, "hours": HOUR}
_SINGULARS: Final[dict[type[exp.Expr], Transform]] = {exp.Year: YEAR, exp.Month: MONTH, exp.Day: DAY, exp.Hour: HOUR}
_SPARK_TYPES: Final = {"bigint": "long", "tinyint": "int", "smallint": "int", "integer": "int", "real": "float"}


# -- terms


def parse_term(tree: exp.Expr) -> Term:
    match tree:
        case exp.Paren():
            return parse_term(tree.this)
        case exp.Column() | exp.Dot():
            return _ref(tree)
        case exp.Year() | exp.Month() | exp.Day() | exp.Hour():
            return Transformed(_SINGULARS[type(tree)], _column(tree.this))
        case exp.TsOrDsToDate():
            return Transformed(DAY, _column(tree.this))
        case exp.Cast() if tree.to.this == exp.DType.DATE:
            return Transformed(DAY, _column(tree.this))
        case exp.Anonymous():
            return _function_term(tree)
        case _:
            raise Unsupported(f"{tree.sql(dialect='spark')} is neither a column nor a transform of one.")


def _function_term(tree: exp.Anonymous) -> Term:
    name, args = str(tree.this).lower(), tree.expressions
    if name in _PLURALS and len(args) == 1:
        return Transformed(_PLURALS[name], _column(args[0]))
    if name == "bucket" and len(args) == 2:
        return Transformed(BucketTransform(_positive(args[0])), _column(args[1]))
    if name == TRUNCATE and len(args) == 2:
        # Spark's Iceberg functions take (width, column), SQL elsewhere (column, width).
        width, column = args if is_literal(args[0]) else reversed(args)
        return Transformed(TruncateTransform(_positive(width)), _column(column))
    if name in ("variant_get", "try_variant_get") and len(args) == 3:
        path, type_ = parse_literal(args[1]), str(parse_literal(args[2])).lower()
        return VariantGet(_column(args[0]), normalise_path(str(path)), parse_primitive(_SPARK_TYPES.get(type_, type_)))
    raise Unsupported(f"{tree.sql(dialect='spark')} is no function understood here.")


def _positive(tree: exp.Expr) -> int:
    number = parse_literal(tree)
    if not isinstance(number, int) or number < 1:
        raise LiteralMismatch(f"expected a positive whole number, got {number!r}.")
    return number


def _column(tree: exp.Expr) -> Ref:
    inner = tree
    while isinstance(inner, exp.TsOrDsToDate | exp.Paren):
        inner = inner.this
    term = parse_term(inner)
    if not isinstance(term, Ref):
        raise Unsupported(f"{tree.sql(dialect='spark')} is not a plain column.")
    return term


def _ref(tree: exp.Expr) -> Ref:
    """The column a dotted name means. The parser takes `a.b` for table and column; here both are parts of one name."""
    parts = _parts(tree)
    return Ref(".".join(parts), parts)


def _parts(tree: exp.Expr) -> tuple[str, ...]:
    if isinstance(tree, exp.Dot):
        return (*_parts(tree.this), tree.expression.name)
    if not isinstance(tree, exp.Column) or isinstance(tree.this, exp.Star):
        raise Unsupported(f"{tree.sql(dialect='spark')} is no column.")
    return tuple(part.name for part in tree.parts)


# -- literals that depend on the term

_PERIOD: Final = re.compile(r"([+-]?\d{4,})(?:-(\d\d))?(?:-(\d\d))?(?:-(\d\d))?")


def period_literal(term: Term, tree: exp.Expr, literal: Any) -> Any:
    """A literal compared with a time transform, as the transform's ordinal."""
    if not isinstance(term, Transformed) or term.transform not in (YEAR, MONTH, DAY, HOUR) or literal is None:
        return literal
    tree = tree.unnest()
    if isinstance(literal, int) and not isinstance(literal, bool):
        if isinstance(tree, exp.Year):
            return literal - 1970
        if type(tree) in _SINGULARS:
            name = type(tree).__name__.lower()
            raise Unsupported(
                f"{name}(...) = {literal} asks for a {name} in every year; it is no range of time. "
                f"Use {name}s(...) for the partition transform."
            )
        return TypedLiteral(DATE, literal) if term.transform == DAY else literal
    if term.transform == DAY:
        return literal
    return _ordinal(term.transform, literal)


def _ordinal(transform: Transform, literal: Any) -> int:
    """The period a text such as 2026-11 or a moment at its very start names."""
    if isinstance(literal, str) and (m := _PERIOD.fullmatch(literal.strip())):
        parts = [int(p) for p in m.groups() if p is not None]
        wanted = _PERIOD_PARTS[transform]
        if len(parts) == wanted:
            start = f"{m[1]}-{m[2] or '01'}-{m[3] or '01'} {m[4] or '00'}:00:00"
            return int(transform.apply(TIMESTAMP_NS, instant_nanos(start)))
    raise LiteralMismatch(f"expected a {transform} such as {_EXAMPLES[transform]}, got {literal!r}.")


_PERIOD_PARTS: Final[dict[Transform, int]] = {YEAR: 1, MONTH: 2, HOUR: 4}
_EXAMPLES: Final[dict[Transform, str]] = {YEAR: "'2026'", MONTH: "'2026-11'", HOUR: "'2026-11-16-09'"}
