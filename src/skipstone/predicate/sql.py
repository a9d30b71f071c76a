"""Predicates from SQL text, in Spark's flavour.

Only what can be judged or evaluated exactly is accepted; everything else is refused by name, because a predicate that
is half understood would return wrong rows.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.types import TIME
from skipstone.predicate import nodes
from skipstone.predicate.evaluate import compare
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.literals import LiteralMismatch, TypedLiteral, kind_of, nanos_of
from skipstone.predicate.nodes import FALSE, TRUE, UNKNOWN, Box, Op, Predicate, Term
from skipstone.predicate.sql_literals import is_literal, parse_literal
from skipstone.predicate.sql_terms import parse_term, period_literal
from skipstone.predicate.sql_text import prepare

SHOWN_MAX: Final = 200  # characters of a filter that an error shows
_OPS: Final[dict[type[exp.Expr], Op]] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}


def parse_sql(text: str, *, qualifiers: int = 0) -> Predicate:
    """The predicate a SQL condition means. Every column has this many qualifiers before its own name."""
    shown = repr(text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…")
    try:
        tree = sqlglot.parse_one(prepare(text), read="spark")
        return _condition(_unqualified(tree, qualifiers) if qualifiers else tree)
    except SqlglotError as error:
        raise InvalidInput(
            f"Invalid filter {shown}: {_first_line(error)} Write a condition such as zip_code = '10001'."
        ) from error
    except RecursionError:
        raise InvalidInput(
            f"Invalid filter {shown}: expected less nesting. Write long OR chains as IN, or drop parentheses."
        ) from None
    except LiteralMismatch as mismatch:
        raise InvalidInput(f"Invalid filter {shown}: {mismatch}") from mismatch
    except Unsupported as refusal:
        raise Unsupported(f"Cannot use filter {shown}: {refusal}") from refusal


def _unqualified(tree: exp.Expr, qualifiers: int) -> exp.Expr:
    """The tree with columns by their own names."""
    for column in list(tree.find_all(exp.Column)):
        parts = [part.copy() for part in column.parts][qualifiers:]
        if not parts:
            raise LiteralMismatch(f"expected a column after {qualifiers} qualifiers, got {column.sql()}.")
        plain: exp.Expr = exp.Column(this=parts[0])
        for part in parts[1:]:
            plain = exp.Dot(this=plain, expression=part)
        if column is tree:
            return plain
        column.replace(plain)
    return tree


def _first_line(error: SqlglotError) -> str:
    """What the parser says, without its class names and the text, which is shown already."""
    first = str(error).splitlines()[0].split(" for <class")[0].split(" from '")[0]
    return f"{first[:SHOWN_MAX].rstrip('.')}."


def _condition(tree: exp.Expr) -> Predicate:
    match tree:
        case exp.Paren():
            return _condition(tree.this)
        case exp.And():
            return nodes.and_(*(_condition(side) for side in _sides(tree, exp.And)))
        case exp.Or():
            return nodes.or_(*(_condition(side) for side in _sides(tree, exp.Or)))
        case exp.Not():
            return nodes.Not(_condition(tree.this))
        case exp.Boolean():
            return TRUE if tree.this else FALSE
        case exp.Null():
            return UNKNOWN
        case exp.Is():
            return _is(tree)
        case exp.Between() if not tree.args.get("symmetric"):
            return nodes.and_(
                _comparison(Op.GE, tree.this, tree.args["low"]), _comparison(Op.LE, tree.this, tree.args["high"])
            )
        case exp.In():
            return _in(tree)
        case exp.Escape():
            return _like(tree.this, parse_literal(tree.expression))
        case exp.Like():
            return _like(tree, "\\")
        case exp.NullSafeEQ():
            return _null_safe(tree)
        case exp.NullSafeNEQ():
            return nodes.Not(_null_safe(tree))
        case exp.StartsWith():
            return nodes.StartsWith(parse_term(tree.this), parse_literal(tree.expression))
        case exp.IsNan():
            return nodes.IsNan(parse_term(tree.this))
        case exp.Anonymous():
            return _function(tree)
        case exp.Column() | exp.Dot():
            return nodes.Compare(Op.EQ, parse_term(tree), True)
    op = _OPS.get(type(tree))
    if op is None:
        raise _refused(tree)
    return _comparison(op, tree.this, tree.expression)


def _sides(tree: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The operands of a chain of one connector, without recursion: generated filters have thousands."""
    found: list[exp.Expr] = []
    pending = [tree]
    while pending:
        current = pending.pop()
        if type(current) is kind:
            pending.extend((current.expression, current.this))
        else:
            found.append(current)
    return found


def _refused(tree: exp.Expr) -> Unsupported:
    return Unsupported(
        f"{tree.sql(dialect='spark')} is not among the conditions understood here: comparisons of a column with a "
        "literal, IN, BETWEEN, IS NULL, IS NAN, LIKE, AND, OR, NOT."
    )


def _comparison(op: Op, left: exp.Expr, right: exp.Expr) -> Predicate:
    left, right = left.unnest(), right.unnest()
    if is_literal(left) and is_literal(right):
        return _constant(op, parse_literal(left), parse_literal(right))
    if is_literal(left):
        left, right, op = right, left, op.mirrored
    if not is_literal(right):
        raise Unsupported(f"{right.sql(dialect='spark')} is no literal; a column can only be compared with literals.")
    literal = parse_literal(right)
    if isinstance(left, exp.Coalesce):
        inner = left.this
        return _coalesce(
            left, lambda term: _compare_term(op, term, inner, literal), lambda v: _constant(op, v, literal)
        )
    return _compare_term(op, parse_term(left), left, literal)


def _compare_term(op: Op, term: Term, tree: exp.Expr, literal: Any) -> Predicate:
    return nodes.Compare(op, term, period_literal(term, tree, literal))


def _coalesce(tree: exp.Coalesce, leaf: Callable[[Term], Predicate], constant: Callable[[Any], Predicate]) -> Predicate:
    """`coalesce(x, d) op v`: the comparison where x is there, a constant where it is null. Never unknown by x."""
    if len(tree.expressions) != 1 or not is_literal(tree.expressions[0]):
        raise Unsupported(f"{tree.sql(dialect='spark')} must have one column and one literal.")
    term = parse_term(tree.this)
    filled = constant(parse_literal(tree.expressions[0]))
    return nodes.or_(
        nodes.and_(nodes.NotNull(term), leaf(term)),
        nodes.and_(nodes.IsNull(term), filled),
    )


def _constant(op: Op, left: Any, right: Any) -> Predicate:
    """A comparison of two literals. Those of different kinds are refused: Spark would cast one of them."""
    if left is None or right is None:
        return UNKNOWN
    if isinstance(left, TypedLiteral) and isinstance(right, TypedLiteral) and left.type != TIME != right.type:
        left, right = nanos_of(left), nanos_of(right)
    if isinstance(left, float) or isinstance(right, float):
        left, right = (float(v) if isinstance(v, int | Decimal) else v for v in (left, right))
    number = (int, float, Decimal)
    same = type(left) is type(right) or (type(left) in number and type(right) in number)
    if not same or isinstance(left, TypedLiteral):
        raise LiteralMismatch(
            f"expected literals of one kind, got {kind_of(left)} {left} and {kind_of(right)} {right}."
        )
    return TRUE if compare(op, left, right, FloatOrder.SPARK) else FALSE


def _is(tree: exp.Is) -> Predicate:
    if isinstance(tree.expression, exp.Null):
        return nodes.IsNull(parse_term(tree.this))
    if isinstance(tree.expression, exp.Boolean):
        # IS TRUE and IS FALSE are never unknown.
        leaf = nodes.Compare(Op.EQ, parse_term(tree.this), bool(tree.expression.this))
        return nodes.and_(nodes.NotNull(leaf.term), leaf)
    if isinstance(tree.expression, exp.Column) and tree.expression.sql().lower() == "nan":
        return nodes.IsNan(parse_term(tree.this))
    raise _refused(tree)


def _in(tree: exp.In) -> Predicate:
    items = tree.expressions
    if not items or not all(is_literal(i) for i in items):
        raise Unsupported(f"{tree.sql(dialect='spark')} must list literals.")
    values = tuple(parse_literal(i) for i in items)
    tested = tree.this.unnest()
    if isinstance(tested, exp.Coalesce):
        return _coalesce(
            tested,
            lambda term: _in_term(term, tested.this, values),
            lambda filled: nodes.or_(*(_constant(Op.EQ, filled, v) for v in values)),
        )
    return _in_term(parse_term(tested), tested, values)


def _in_term(term: Term, tree: exp.Expr, values: tuple[Any, ...]) -> Predicate:
    return nodes.In(term, tuple(period_literal(term, tree, v) for v in values))


def _like(tree: exp.Expr, escape: Any) -> Predicate:
    if not isinstance(tree, exp.Like) or not isinstance(escape, str) or len(escape) != 1:
        raise _refused(tree)
    pattern = parse_literal(tree.expression)
    if pattern is None:
        return UNKNOWN
    if not isinstance(pattern, str):
        raise LiteralMismatch(f"expected a pattern in quotes after LIKE, got {pattern!r}.")
    leaf = nodes.Like(parse_term(tree.this), pattern, escape)
    return nodes.Not(leaf) if tree.args.get("negate") else leaf


def _null_safe(tree: exp.NullSafeEQ | exp.NullSafeNEQ) -> Predicate:
    left, right = (tree.this, tree.expression) if not is_literal(tree.this) else (tree.expression, tree.this)
    literal = parse_literal(right)
    term = parse_term(left)
    if literal is None:
        return nodes.IsNull(term)
    return nodes.and_(nodes.NotNull(term), _compare_term(Op.EQ, term, left, literal))


def _function(tree: exp.Anonymous) -> Predicate:
    name, args = str(tree.this).lower(), tree.expressions
    match name, len(args):
        case "isnull", 1:
            return nodes.IsNull(parse_term(args[0]))
        case "isnotnull", 1:
            return nodes.NotNull(parse_term(args[0]))
        case (("bbox_intersects" | "st_intersects"), 5):
            return nodes.Intersects(parse_term(args[0]), _box(args[1:]))
        case "st_intersects", 2 if (
            isinstance(args[1], exp.Anonymous) and str(args[1].this).lower() == "st_makeenvelope"
        ):
            return nodes.Intersects(parse_term(args[0]), _box(args[1].expressions))
        case _:
            raise _refused(tree)


def _box(args: list[exp.Expr]) -> Box:
    if len(args) != 4:
        raise LiteralMismatch(f"expected a box as xmin, ymin, xmax, ymax, got {len(args)} numbers.")
    numbers = [parse_literal(a) for a in args]
    if not all(isinstance(n, int | float | Decimal) and not isinstance(n, bool) for n in numbers):
        raise LiteralMismatch(f"expected a box as four numbers, got {', '.join(kind_of(n) for n in numbers)}.")
    return Box(*(float(n) for n in numbers))
