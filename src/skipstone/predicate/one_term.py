"""The parts of a predicate that are about one term.

A row is null, NaN or ordinary by a term's value. What is known kind by kind joins over all leaves of the term, and says
more than the leaves do one by one: NaN may match `d >= 1`, but never `d >= 1 AND d <= 5`.
"""

from __future__ import annotations

from skipstone.metadata.types import Value
from skipstone.predicate.evaluate import evaluate_leaf
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import AlwaysFalse, AlwaysTrue, And, Not, Or, Predicate, Term, Unknown


def only_term(predicate: Predicate) -> Term | None:
    """The term that all leaves are about; None if there are several, or a constant or NOT among them."""
    match predicate:
        case And(children) | Or(children):
            terms = {only_term(child) for child in children}
            return terms.pop() if len(terms) == 1 else None
        case AlwaysTrue() | AlwaysFalse() | Unknown() | Not():
            return None
        case _:
            return predicate.term


def joined_by_term(predicate: And | Or) -> list[Predicate]:
    """The children, with those that are about one term joined into one."""
    by_term: dict[Term, list[Predicate]] = {}
    others: list[Predicate] = []
    for child in predicate.children:
        term = only_term(child)
        (others if term is None else by_term.setdefault(term, [])).append(child)
    join = type(predicate)
    return [*(same[0] if len(same) == 1 else join(tuple(same)) for same in by_term.values()), *others]


def parts_of(predicate: Predicate) -> list[Predicate]:
    """The parts that must all match, with those about one term together."""
    match predicate:
        case AlwaysTrue():
            return []
        case And():
            return joined_by_term(predicate)
        case _:
            return [predicate]


def matches_value(predicate: Predicate, value: Value, float_order: FloatOrder) -> bool:
    """Whether rows match a predicate about one term, in which that term has a given value."""
    match predicate:
        case And(children):
            return all(matches_value(child, value, float_order) for child in children)
        case Or(children):
            return any(matches_value(child, value, float_order) for child in children)
        case AlwaysTrue() | AlwaysFalse() | Unknown() | Not():
            raise AssertionError(f"{predicate} is not about one term")
        case _:
            return evaluate_leaf(predicate, value, float_order) is True
