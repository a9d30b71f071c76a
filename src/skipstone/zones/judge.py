"""The judge: one function for every level of statistics.

    judge(predicate, zone_map, float_order) -> one verdict per zone

The law: a zone gets NO_ROW_MATCHES only if no row in it can match, and EVERY_ROW_MATCHES only if all do, for every
content its facts allow. Everything else is UNKNOWN. Forgetting a fact can only turn a verdict into UNKNOWN, as long as
the facts do not contradict each other.

The rows of a zone fall into three kinds by the value of a term: null, NaN, and ordinary values, which the bounds
enclose. A leaf treats all nulls alike and all NaNs alike, so a proof about a zone is three small proofs. Leaves of one
term are joined kind by kind before the kinds are put together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skipstone.errors import InvalidInput
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import AlwaysFalse, AlwaysTrue, And, Column, Not, Or, Predicate, Term, Unknown, column_of
from skipstone.predicate.one_term import joined_by_term, matches_value, only_term
from skipstone.zones.arrow import Bits, certain, has_any, pc
from skipstone.zones.bounds import Between
from skipstone.zones.kinds import Kinds
from skipstone.zones.ordinary import judge_ordinary
from skipstone.zones.terms import facts_of_term
from skipstone.zones.verdict import Proofs, Verdict, both, constant, either
from skipstone.zones.zone_map import ZoneMap


def judge(predicate: Predicate, zones: ZoneMap, float_order: FloatOrder = FloatOrder.SPARK) -> npt.NDArray[np.int8]:
    """One verdict per zone for a bound, normalised predicate, as the integers of `Verdict`."""
    return prove(predicate, zones, float_order).verdicts()


def prove(predicate: Predicate, zones: ZoneMap, float_order: FloatOrder = FloatOrder.SPARK) -> Proofs:
    """The same as bitmaps, for callers that combine proofs of several levels."""
    proofs = _prove(predicate, _Case(zones, float_order))
    if zones.row_count is None:
        return proofs
    return Proofs(pc.or_(proofs.none, certain(pc.equal(zones.row_count, 0))), proofs.every)


@dataclass(frozen=True, slots=True)
class _Case:
    """Zones being judged, with what has been derived about their terms so far: leaves often share a column."""

    zones: ZoneMap
    float_order: FloatOrder

    @property
    def terms(self) -> dict[Term, tuple[Between, Kinds] | None]:
        return self.zones.derived

    def derived(self, term: Term, column: Column) -> tuple[Between, Kinds] | None:
        """Comparable bounds and kinds of a term; None if nothing is known about its column."""
        if term not in self.terms:
            self.terms[term] = self._derive(term, column)
        return self.terms[term]

    def _derive(self, term: Term, column: Column) -> tuple[Between, Kinds] | None:
        source = self.zones.columns.get(column.field_id)
        if source is None or source.type != column.type:
            # Facts of another type, from before a promotion, do not compare with the literals.
            return None
        facts = facts_of_term(term, source)
        kinds = Kinds(facts, self.zones, is_nested=column.is_nested)
        return Between.of(facts), kinds


def _prove(predicate: Predicate, case: _Case) -> Proofs:
    term = only_term(predicate)
    if term is not None:
        return _prove_term(predicate, term, case)
    num_zones = case.zones.num_zones
    match predicate:
        case AlwaysTrue():
            return constant(num_zones, Verdict.EVERY_ROW_MATCHES)
        case AlwaysFalse() | Unknown():
            return constant(num_zones, Verdict.NO_ROW_MATCHES)
        case And():
            return both([_prove(part, case) for part in joined_by_term(predicate)])
        case Or():
            return either([_prove(part, case) for part in joined_by_term(predicate)])
        case _:
            raise InvalidInput(f"Cannot judge {predicate}: expected a bound predicate without NOT. Call bind first.")


def _prove_term(predicate: Predicate, term: Term, case: _Case) -> Proofs:
    column = column_of(term)
    if not isinstance(column, Column):
        raise InvalidInput(f"Cannot judge {predicate}: column {column} is not bound. Call bind first.")
    derived = case.derived(term, column)
    if derived is None:
        return constant(case.zones.num_zones, Verdict.UNKNOWN)
    between, kinds = derived
    return _combine(
        _prove_ordinary(predicate, between, case),
        kinds,
        nan_matches=kinds.is_float and matches_value(predicate, float("nan"), case.float_order),
        null_matches=matches_value(predicate, None, case.float_order),
    )


def _prove_ordinary(predicate: Predicate, between: Between, case: _Case) -> Proofs:
    match predicate:
        case And(children):
            return both([_prove_ordinary(child, between, case) for child in children])
        case Or(children):
            return either([_prove_ordinary(child, between, case) for child in children])
        case AlwaysTrue() | AlwaysFalse() | Unknown() | Not():
            raise AssertionError(f"{predicate} is not about one term")
        case _:
            return judge_ordinary(predicate, between, case.zones.num_zones, case.float_order)


def _combine(ordinary: Proofs, kinds: Kinds, *, nan_matches: bool, null_matches: bool) -> Proofs:
    """No row matches if each kind is absent or does not match; every row, if each kind is absent or matches.

    A proof already lost asks for no more counts.
    """
    none = pc.or_(ordinary.none, kinds.no_ordinary)
    # Where only ordinary values match, a zone without any has none to match, or no rows at all.
    every = pc.or_(ordinary.every, kinds.no_ordinary) if nan_matches or null_matches else ordinary.every
    absences: tuple[tuple[bool, Callable[[], Bits]], ...] = (
        (nan_matches, lambda: kinds.no_nan),
        (null_matches, lambda: kinds.no_null),
    )
    for matches, absent in absences:
        if matches:
            none = pc.and_(none, absent()) if has_any(none) else none
        else:
            every = pc.and_(every, absent()) if has_any(every) else every
    return Proofs(none, every)
