"""The judge: one function for every level of statistics.

    judge(predicate, zone_map, float_order) -> one verdict per zone

The law: a zone gets NO_ROW_MATCHES only if no row in it can match, and EVERY_ROW_MATCHES only if all do, for every
content its facts allow. Everything else is UNKNOWN. Forgetting a fact can only turn a verdict into UNKNOWN.

The rows of a zone fall into three kinds by the value of a leaf's column: null, NaN, and ordinary values, which the
bounds enclose. A leaf treats all nulls alike and all NaNs alike, so a proof about a zone is three small proofs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skipstone.errors import InvalidInput
from skipstone.metadata.types import DoubleType, FloatType
from skipstone.predicate.evaluate import evaluate_leaf
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Leaf,
    Not,
    Or,
    Predicate,
    Unknown,
    column_of,
)
from skipstone.zones.arrow import Bits, Counts, pa, pc
from skipstone.zones.bounds import Between
from skipstone.zones.ordinary import judge_ordinary
from skipstone.zones.terms import facts_of_term
from skipstone.zones.verdict import Proofs, Verdict, bits, both, constant, either
from skipstone.zones.zone_map import ColumnFacts, ZoneMap


def judge(predicate: Predicate, zones: ZoneMap, float_order: FloatOrder = FloatOrder.SPARK) -> npt.NDArray[np.int8]:
    """One verdict per zone for a bound, normalised predicate, as the integers of `Verdict`."""
    return prove(predicate, zones, float_order).verdicts()


def prove(predicate: Predicate, zones: ZoneMap, float_order: FloatOrder = FloatOrder.SPARK) -> Proofs:
    """The same as bitmaps, for callers that combine proofs of several levels."""
    proofs = _prove(predicate, zones, float_order)
    empty = _known(zones.row_count, lambda rows: pc.equal(rows, 0))
    return proofs if empty is None else Proofs(pc.or_(proofs.none, empty), proofs.every)


def _prove(predicate: Predicate, zones: ZoneMap, float_order: FloatOrder) -> Proofs:
    match predicate:
        case AlwaysTrue():
            return constant(zones.num_zones, Verdict.EVERY_ROW_MATCHES)
        case AlwaysFalse() | Unknown():
            return constant(zones.num_zones, Verdict.NO_ROW_MATCHES)
        case And(children):
            return both([_prove(c, zones, float_order) for c in children])
        case Or(children):
            return either([_prove(c, zones, float_order) for c in children])
        case Not():
            raise InvalidInput(f"Cannot judge {predicate}: expected a bound predicate without NOT. Call bind first.")
        case _:
            return _prove_leaf(predicate, zones, float_order)


def _prove_leaf(leaf: Leaf, zones: ZoneMap, float_order: FloatOrder) -> Proofs:
    column = column_of(leaf.term)
    if not isinstance(column, Column):
        raise InvalidInput(f"Cannot judge {leaf}: column {column} is not bound. Call bind first.")
    source = zones.columns.get(column.field_id)
    if source is None:
        return constant(zones.num_zones, Verdict.UNKNOWN)
    facts = facts_of_term(leaf.term, source)
    kinds = _kinds(facts, zones, is_nested=column.is_nested)
    ordinary = judge_ordinary(leaf, Between.of(facts), zones.num_zones, float_order)
    nan_matches = evaluate_leaf(leaf, float("nan"), float_order) is True if _is_float(facts) else False
    null_matches = evaluate_leaf(leaf, None, float_order) is True
    return _combine(ordinary, kinds, nan_matches=nan_matches, null_matches=null_matches)


def _is_float(facts: ColumnFacts) -> bool:
    return isinstance(facts.type, FloatType | DoubleType)


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Which kinds of values are proven absent, zone by zone."""

    no_ordinary: Bits
    no_nan: Bits
    no_null: Bits


def _combine(ordinary: Proofs, kinds: _Kinds, *, nan_matches: bool, null_matches: bool) -> Proofs:
    """No row matches if each kind is absent or does not match; every row, if each kind is absent or matches."""
    none = pc.or_(kinds.no_ordinary, ordinary.none)
    every = pc.or_(kinds.no_ordinary, ordinary.every)
    for matches, absent in ((nan_matches, kinds.no_nan), (null_matches, kinds.no_null)):
        if matches:
            none = pc.and_(none, absent)
        else:
            every = pc.and_(every, absent)
    return Proofs(none, every)


def _kinds(facts: ColumnFacts, zones: ZoneMap, *, is_nested: bool) -> _Kinds:
    num_zones = zones.num_zones
    no = bits(num_zones, False)
    nulls, values, rows = _count(facts.null_count), _count(facts.value_count), _count(zones.row_count)
    nans = _count(facts.nan_count) if _is_float(facts) else pa.repeat(pa.scalar(0, pa.int64()), num_zones)

    non_null = None if nulls is None or values is None else pc.subtract(values, nulls)
    # More nulls or NaNs than values is nonsense; nothing follows from it.
    odd = None if non_null is None else pc.less(non_null, 0)
    if non_null is not None and nans is not None:
        odd = pc.or_kleene(odd, pc.less(non_null, nans))

    all_null = _sure(None if non_null is None else pc.equal(non_null, 0), odd, no)
    no_nan = pc.or_(_sure(None if nans is None else pc.equal(nans, 0), odd, no), all_null)
    all_nan = no if non_null is None or nans is None else _sure(pc.equal(non_null, nans), odd, no)
    no_null = _sure(None if nulls is None else pc.equal(nulls, 0), odd, no)
    if is_nested:
        # A null parent hides the value from its own counts: only a count of every row is proof.
        full = no if values is None or rows is None else _sure(pc.equal(values, rows), odd, no)
        no_null = pc.and_(no_null, full)
    return _Kinds(no_ordinary=pc.or_(all_null, all_nan), no_nan=no_nan, no_null=no_null)


def _count(counts: Counts | None) -> Counts | None:
    """Counts with negative ones, which other writers use for unknown, made null."""
    if counts is None:
        return None
    negative = pc.less(counts, 0)
    return pc.if_else(negative, pa.scalar(None, pa.int64()), counts) if pc.any(negative).as_py() else counts


def _sure(proof: Bits | None, odd: Bits | None, no: Bits) -> Bits:
    """A proof without nulls: unknown, or resting on odd facts, is no proof."""
    if proof is None:
        return no
    certain = proof if proof.null_count == 0 else pc.fill_null(proof, False)
    if odd is None:
        return certain
    return pc.and_not(certain, odd if odd.null_count == 0 else pc.fill_null(odd, False))


def _known(counts: Counts | None, test: object) -> Bits | None:
    if counts is None:
        return None
    return pc.fill_null(test(counts), False)  # type: ignore[operator]
