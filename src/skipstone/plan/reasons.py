"""Which facts skipped zones, and why a part of a filter could not decide others.

Facts are told apart by forgetting them: a zone that is kept without a fact was skipped by it. Missing facts are told
apart by supposing them: a zone that would be skipped if it had no NaN is kept because its NaN count is unknown. The
judge does both, for all zones at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.like import literal_prefix
from skipstone.predicate.nodes import (
    And,
    Column,
    Compare,
    In,
    IsNan,
    IsNull,
    Leaf,
    Like,
    Or,
    Predicate,
    StartsWith,
    Transformed,
    VariantGet,
    column_of,
    field_ids,
    leaves,
)
from skipstone.predicate.one_term import joined_by_term, only_term
from skipstone.zones.judge import prove
from skipstone.zones.terms import facts_of_term
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute

Mask = npt.NDArray[np.bool_]

FACT_NAMES: Final = {
    "lower": "lower bound",
    "upper": "upper bound",
    "null_count": "null count",
    "nan_count": "NaN count",
}

NO_STATISTICS: Final = "no statistics"
NO_BOUNDS: Final = "no bounds"
OVERLAP: Final = "overlap: the value lies between the bounds"
TRUNCATED: Final = "truncated: the bounds are cut before the value differs"
NAN_UNKNOWN: Final = "NaN count unknown"
NULLS_UNKNOWN: Final = "null count unknown"
HAS_NULLS: Final = "it holds nulls"
HAS_NAN: Final = "it holds NaN"
FUNCTION: Final = "function: it does not keep the order of values"
PATTERN: Final = "pattern: it has no fixed beginning"
VARIANT: Final = "variant: no bounds of this field"
RENAMED: Final = "name mapping: the metrics may be of another column"
OTHER_TYPE: Final = "type: no facts of the column's type"

_CUT_LENGTH: Final = 16  # the length that most writers cut bounds to


def facts_used(part: Predicate, zones: ZoneMap, skipped: Mask, float_order: FloatOrder) -> dict[str, int]:
    """For each kind of fact, how many skipped zones are kept without it."""
    found: dict[str, int] = {}
    for fact, name in FACT_NAMES.items():
        poorer = zones
        for field_id in field_ids(part):
            poorer = poorer.forget(field_id, fact)
        lost = int((skipped & ~_none(part, poorer, float_order)).sum())
        if lost:
            found[name] = lost
    return found


def why_kept(
    part: Predicate, zones: ZoneMap, undecided: Mask, float_order: FloatOrder, *, remapped: Collection[int] = ()
) -> dict[str, int]:
    """For each reason, how many undecided zones it kept, told for each column where a part reads several."""
    terms = list(_by_term(part))
    found: dict[str, int] = {}
    for piece in terms:
        # Of several alternatives, those that rule the zone out are no reason to keep it.
        here = undecided & ~_none(piece, zones, float_order)
        for reason, mask in _reasons(piece, zones, here, float_order, remapped):
            count = int(mask.sum())
            if count:
                name = reason if len(terms) == 1 else f"{column_of(next(leaves(piece)).term)}: {reason}"
                found[name] = found.get(name, 0) + count
    return found


def _by_term(part: Predicate) -> Iterator[Predicate]:
    if only_term(part) is not None:
        yield part
    elif isinstance(part, And | Or):
        for piece in joined_by_term(part):
            yield from _by_term(piece)


def _reasons(
    piece: Predicate, zones: ZoneMap, here: Mask, float_order: FloatOrder, remapped: Collection[int]
) -> Iterator[tuple[str, Mask]]:
    """Reasons with the zones they explain; each zone goes to the first that does."""
    left = here.copy()
    for reason, mask in _candidates(piece, zones, float_order, remapped):
        yield reason, left & mask
        left &= ~mask
    yield OVERLAP, left


def _candidates(
    piece: Predicate, zones: ZoneMap, float_order: FloatOrder, remapped: Collection[int]
) -> Iterator[tuple[str, Mask]]:
    leaf = next(leaves(piece))
    column = column_of(leaf.term)
    assert isinstance(column, Column)
    every = np.ones(zones.num_zones, bool)
    source = zones.columns.get(column.field_id)
    if column.field_id in remapped:
        yield RENAMED, every
    if source is None:
        yield NO_STATISTICS, every
        return
    if source.type != column.type:
        yield OTHER_TYPE, every
        return
    yield NO_STATISTICS, _unknown(source, "lower", "upper", "null_count", "nan_count")
    yield from _missing_counts(piece, zones, column, float_order)
    if isinstance(leaf, IsNull | IsNan):
        yield (HAS_NULLS if isinstance(leaf, IsNull) else HAS_NAN), every
        return
    bounds = facts_of_term(leaf.term, source)
    match leaf.term:
        case VariantGet():
            yield VARIANT, _unknown(bounds, "lower", "upper")
        case Transformed(transform, _) if not transform.preserves_order:
            yield FUNCTION, ~_unknown(source, "lower", "upper")
    if isinstance(leaf, Like) and not literal_prefix(leaf.pattern, leaf.escape):
        yield PATTERN, every
    yield NO_BOUNDS, _unknown(bounds, "lower", "upper")
    yield TRUNCATED, _cut_short(leaf, bounds)


def _missing_counts(
    piece: Predicate, zones: ZoneMap, column: Column, float_order: FloatOrder
) -> Iterator[tuple[str, Mask]]:
    """Zones that would be skipped if an unknown count were zero."""
    facts = zones.columns[column.field_id]
    for fact, reason in (("nan_count", NAN_UNKNOWN), ("null_count", NULLS_UNKNOWN)):
        unknown = _unknown(facts, fact)
        if unknown.any():
            counts = getattr(facts, fact)
            zero = pa.repeat(pa.scalar(0, pa.int64()), zones.num_zones)
            supposed = ColumnFacts(**{**_as_dict(facts), fact: zero if counts is None else pc.coalesce(counts, zero)})
            yield reason, unknown & _none(piece, zones.with_column(column.field_id, supposed), float_order)


def _as_dict(facts: ColumnFacts) -> dict[str, Any]:
    return {name: getattr(facts, name) for name in facts.__dataclass_fields__}


def _unknown(facts: ColumnFacts, *names: str) -> Mask:
    """Where none of some facts is known."""
    known = [getattr(facts, n) for n in names]
    arrays = [a for a in known if a is not None]
    if not arrays:
        return _ALL
    missing: Mask = np.logical_and.reduce([a.is_null().to_numpy(zero_copy_only=False) for a in arrays])
    return missing


# Broadcasts over any number of zones.
_ALL: Final = np.ones(1, bool)


def _cut_short(leaf: Leaf, facts: ColumnFacts) -> Mask:
    """Where a bound is as long as writers cut them, and agrees with the literal up to there."""
    match leaf:
        case Compare(value=str() as text) | StartsWith(prefix=str() as text):
            texts = [text]
        case In(values=values) if len(values) <= 100:
            texts = [v for v in values if isinstance(v, str)]
        case _:
            return ~_ALL
    found: Any = ~_ALL
    for bound in (facts.lower, facts.upper):
        if bound is not None and pa.types.is_string(bound.type):
            is_long = pc.greater_equal(pc.utf8_length(bound), _CUT_LENGTH)
            start = pc.utf8_slice_codeunits(bound, 0, _CUT_LENGTH - 1)
            same = pc.is_in(start, value_set=pa.array([t[: _CUT_LENGTH - 1] for t in texts], pa.string()))
            found = found | pc.fill_null(pc.and_kleene(is_long, same), False).to_numpy(zero_copy_only=False)
    cut: Mask = found
    return cut


def _none(part: Predicate, zones: ZoneMap, float_order: FloatOrder) -> Mask:
    none: Mask = prove(part, zones, float_order).none.to_numpy(zero_copy_only=False)
    return none
