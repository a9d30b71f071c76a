"""Which facts skipped zones, and why a part of a filter could not decide others.

Facts are told apart by forgetting them: a zone that is kept without a fact was skipped by it. Reasons are told apart by
supposing facts: a zone that would be decided if it had no NaN is undecided because it holds some, or because nobody
knows. The judge does both, for all zones at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.types import BinaryType, DoubleType, FixedType, FloatType, PrimitiveType, StringType
from skipstone.metadata.values.truncation import truncate_lower, truncate_upper
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
    NotNan,
    NotNull,
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
ONE_BOUND: Final = "one of the two bounds is unknown"
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

CUT_WIDTH: Final = 16  # what most writers cut bounds to, in code points or bytes
_LITERALS_MAX: Final = 100  # of a list, to look for among bounds


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
    part: Predicate,
    zones: ZoneMap,
    undecided: Mask,
    float_order: FloatOrder,
    *,
    remapped: Collection[int] = (),
    cut_widths: Mapping[int, int | None] | None = None,
) -> dict[str, int]:
    """For each reason, how many undecided zones it kept, told for each column where a part reads several.

    `cut_widths` has what bounds of a column are cut to, by field id; None where they are kept whole.
    """
    terms = list(_by_term(part))
    found: dict[str, int] = {}
    for piece in terms:
        # Of several terms, those that are decided are no reason that the whole is not.
        here = undecided & ~_decided(piece, zones, float_order)
        width = CUT_WIDTH if cut_widths is None else cut_widths.get(_column(piece).field_id, CUT_WIDTH)
        for reason, mask in _reasons(piece, zones, here, float_order, remapped, width):
            count = int(mask.sum())
            if count:
                name = reason if len(terms) == 1 else f"{_column(piece)}: {reason}"
                found[name] = found.get(name, 0) + count
    return found


def _by_term(part: Predicate) -> Iterator[Predicate]:
    if only_term(part) is not None:
        yield part
    elif isinstance(part, And | Or):
        for piece in joined_by_term(part):
            yield from _by_term(piece)


def _column(piece: Predicate) -> Column:
    column = column_of(next(leaves(piece)).term)
    assert isinstance(column, Column)
    return column


def _reasons(
    piece: Predicate,
    zones: ZoneMap,
    here: Mask,
    float_order: FloatOrder,
    remapped: Collection[int],
    cut_width: int | None,
) -> Iterator[tuple[str, Mask]]:
    """Reasons with the zones they explain; each zone goes to the first that does."""
    left = here.copy()
    for reason, mask in _candidates(piece, zones, float_order, remapped, cut_width):
        yield reason, left & mask
        left &= ~mask
    yield OVERLAP, left


def _candidates(
    piece: Predicate, zones: ZoneMap, float_order: FloatOrder, remapped: Collection[int], cut_width: int | None
) -> Iterator[tuple[str, Mask]]:
    column = _column(piece)
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
    yield from _counts_in_the_way(piece, zones, column, float_order)
    # Leaves about nulls and NaN are decided by counts; of the others, the first tells what bounds are needed for.
    valued = [leaf for leaf in leaves(piece) if not isinstance(leaf, IsNull | NotNull | IsNan | NotNan)]
    if not valued:
        return
    leaf = valued[0]
    bounds = facts_of_term(leaf.term, source)
    match leaf.term:
        case VariantGet():
            yield VARIANT, _unknown(bounds, "lower", "upper")
        case Transformed(transform, _) if not transform.preserves_order:
            yield FUNCTION, ~_unknown(source, "lower", "upper")
    if isinstance(leaf, Like) and not literal_prefix(leaf.pattern, leaf.escape):
        yield PATTERN, every
    yield NO_BOUNDS, _unknown(bounds, "lower", "upper")
    yield ONE_BOUND, _unknown(bounds, "lower") | _unknown(bounds, "upper")
    for each in valued:
        yield TRUNCATED, _cut_short(each, bounds, column.type, cut_width)


def _counts_in_the_way(
    piece: Predicate, zones: ZoneMap, column: Column, float_order: FloatOrder
) -> Iterator[tuple[str, Mask]]:
    """Zones that would be decided if a count were zero: it is not, or it is unknown."""
    facts = zones.columns[column.field_id]
    zero = pa.repeat(pa.scalar(0, pa.int64()), zones.num_zones)
    names = ("nan_count", "null_count") if isinstance(column.type, FloatType | DoubleType) else ("null_count",)
    for supposed in [*((name,) for name in names), names]:
        changed = replace(facts, **dict.fromkeys(supposed, zero))
        decided = _decided(piece, zones.with_column(column.field_id, changed), float_order)
        for fact in supposed:
            yield _UNKNOWN_COUNT[fact], decided & _unknown(facts, fact)
        for fact in supposed:
            yield _SOME[fact], decided & _more_than_none(getattr(facts, fact))


_UNKNOWN_COUNT: Final = {"nan_count": NAN_UNKNOWN, "null_count": NULLS_UNKNOWN}
_SOME: Final = {"nan_count": HAS_NAN, "null_count": HAS_NULLS}


def _more_than_none(counts: Any | None) -> Mask:
    if counts is None:
        return ~_ALL
    some: Mask = pc.fill_null(pc.greater(counts, 0), False).to_numpy(zero_copy_only=False)
    return some


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


def _cut_short(leaf: Leaf, facts: ColumnFacts, type_: PrimitiveType, width: int | None) -> Mask:
    """Where a bound is what a text that begins like the literal would have been cut to."""
    match leaf:
        case Compare(value=str() | bytes() as value) | StartsWith(prefix=str() | bytes() as value):
            values = [value]
        case In(values=several) if len(several) <= _LITERALS_MAX:
            values = [v for v in several if isinstance(v, str | bytes)]
        case _:
            values = []
    longer = [v for v in values if width is not None and len(v) > width]
    if width is None or not longer or not isinstance(type_, StringType | BinaryType | FixedType):
        return ~_ALL
    cut: Any = ~_ALL
    for bound, shorten in ((facts.lower, truncate_lower), (facts.upper, truncate_upper)):
        if bound is not None:
            ends = pa.array([shorten(type_, v, width) for v in longer], bound.type)
            cut = cut | pc.is_in(bound, value_set=ends.drop_null()).to_numpy(zero_copy_only=False)
    found: Mask = cut
    return found


def _decided(part: Predicate, zones: ZoneMap, float_order: FloatOrder) -> Mask:
    proofs = prove(part, zones, float_order)
    decided: Mask = pc.or_(proofs.none, proofs.every).to_numpy(zero_copy_only=False)
    return decided


def _none(part: Predicate, zones: ZoneMap, float_order: FloatOrder) -> Mask:
    none: Mask = prove(part, zones, float_order).none.to_numpy(zero_copy_only=False)
    return none
