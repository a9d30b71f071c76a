"""Equalities on one term gathered into lists: `x = 1 OR x = 2` is `x IN (1, 2)`, and AND of `!=` is NOT IN.

Generated filters have thousands of them. A list is searched in one go, a chain is gone through one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from skipstone.metadata.types import Value
from skipstone.predicate.nodes import (
    And,
    Compare,
    In,
    NotIn,
    Op,
    Or,
    Predicate,
    Term,
    and_,
    or_,
)


def merge_equalities(predicate: Predicate) -> Predicate:
    """The same bound, normalised predicate, with lists where it had chains."""
    match predicate:
        case Or(children):
            return or_(*_merged([merge_equalities(c) for c in children], Op.EQ))
        case And(children):
            return and_(*_merged([merge_equalities(c) for c in children], Op.NE))
        case _:
            return predicate


def _merged(children: list[Predicate], op: Op) -> list[Predicate]:
    """The children with all lists and comparisons by `op` on one term as one, where the first of them was."""
    values: dict[Term, list[Value]] = {}
    kept: list[tuple[Predicate, Term | None]] = []
    for child in children:
        found = _listed(child, op)
        if found is None:
            kept.append((child, None))
            continue
        term, literals = found
        if term not in values:
            kept.append((child, term))
        values.setdefault(term, []).extend(literals)
    return [child if term is None else _list_of(term, values[term], op) for child, term in kept]


def _listed(child: Predicate, op: Op) -> tuple[Term, tuple[Value, ...]] | None:
    match child:
        case Compare(same, term, value) if same is op:
            return term, (value,)
        case In(term, values) if op is Op.EQ:
            return term, values
        case NotIn(term, values) if op is Op.NE:
            return term, values
        case _:
            return None


def _list_of(term: Term, values: list[Value], op: Op) -> Predicate:
    distinct = tuple(sorted_distinct(values))
    if len(distinct) == 1:
        return Compare(op, term, distinct[0])
    return In(term, distinct) if op is Op.EQ else NotIn(term, distinct)


def sorted_distinct(values: Iterable[Value]) -> list[Value]:
    """Literals of one type in order, each once. NaN comes last."""
    found: dict[Value, Value] = {}
    nan: list[Value] = []
    for value in values:
        if isinstance(value, float) and math.isnan(value):
            nan = [value]  # it equals nothing, itself included
        else:
            found.setdefault(value, value)
    return sorted(found.values()) + nan
