"""Zones merged into larger ones, and bounds made shorter.

Law (covering): what holds for every row of every member holds in the merged facts. A bound of the whole is known only
if every member that may hold ordinary values has it; a count only if every member has it. Members known to have no
rows add nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from skipstone.errors import InvalidInput
from skipstone.metadata.types import (
    BinaryType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    StringType,
    UnknownType,
    VariantType,
)
from skipstone.metadata.values import bound_type, truncate_upper
from skipstone.zones.arrow import Array, Bits, Counts, has_any, pa, pc
from skipstone.zones.bounds import without_odd
from skipstone.zones.merge_boxes import merge_boxes
from skipstone.zones.verdict import bits
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

# Counts whose sum could exceed this are nonsense, and would overflow.
_SUM_MAX: Final = 1 << 62
_UNKNOWN: Final = pa.scalar(None, pa.int64())
_ZERO: Final = pa.scalar(0, pa.int64())


def merge_zones(zones: ZoneMap, group: Array, num_groups: int) -> ZoneMap:
    """One zone a group. `group` holds the group number, from 0, of each zone; a zone without one is left out.

    A group without members is a zone without rows.
    """
    if len(group) != zones.num_zones:
        raise InvalidInput(f"Cannot merge zones: expected {zones.num_zones} group numbers, got {len(group)}.")
    group = group.cast(pa.int64())
    if group.null_count:
        members = group.is_valid()
        zones, group = zones.filter(members), group.filter(members)
    numbers = group.to_numpy()
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < num_groups:
        raise InvalidInput(f"Cannot merge zones: expected group numbers from 0 to {num_groups - 1}.")
    groups = Groups(group, num_groups)
    rows = _count(zones.row_count, zones.num_zones)
    empty = pc.fill_null(pc.equal(rows, 0), False)
    columns = {i: _merge_facts(f, groups, rows, empty) for i, f in zones.columns.items()}
    return ZoneMap(num_zones=num_groups, row_count=groups.sum(rows), columns=columns)


_INT64 = np.iinfo(np.int64)
# What leaves a fold as it is, and the fold.
_FOLDS: Final[dict[str, tuple[int, Any]]] = {
    "min": (_INT64.max, np.minimum),
    "max": (_INT64.min, np.maximum),
    "sum": (0, np.add),
}


class Groups:
    """Zones by group, and what is folded over the zones of each."""

    def __init__(self, group: Array, num_groups: int) -> None:
        self.group = group
        self.num_groups = num_groups
        numbers = group.to_numpy()
        is_sorted = bool(np.all(numbers[1:] >= numbers[:-1]))
        # Zones in the order of their groups, and where each group that has members starts.
        self._order = None if is_sorted else np.argsort(numbers, kind="stable")
        ordered = numbers if self._order is None else numbers[self._order]
        self._starts = (
            np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else ordered
        )
        self._sizes = np.bincount(numbers, minlength=num_groups)
        self._present = ordered[self._starts] if len(ordered) else ordered

    def fold(self, values: Array, how: Literal["min", "max", "sum"]) -> Array:
        """`min`, `max` or `sum` of the known values of each group; null where there is none."""
        if pa.types.is_int64(values.type):
            return self._fold_numbers(values, how)
        if pa.types.is_integer(values.type) or pa.types.is_temporal(values.type):
            plain = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
            return self._fold_numbers(plain.cast(pa.int64()), how).cast(plain.type).view(values.type)
        folded = pa.table({"g": self.group, "v": values}).group_by("g", use_threads=False).aggregate([("v", how)])
        place = np.full(self.num_groups, -1, dtype=np.int64)
        place[folded.column("g").to_numpy()] = np.arange(folded.num_rows)
        column = folded.column(f"v_{how}").combine_chunks()
        return column.take(pa.array(place, mask=place < 0))

    def _fold_numbers(self, values: Array, how: Literal["min", "max", "sum"]) -> Array:
        """The same for whole numbers, several times as fast."""
        identity, fold = _FOLDS[how]
        numbers = values.fill_null(identity).to_numpy(zero_copy_only=False)
        found = np.full(self.num_groups, identity, dtype=np.int64)
        if len(self._starts):
            found[self._present] = fold.reduceat(numbers if self._order is None else numbers[self._order], self._starts)
        known = self._count(values.is_valid())
        return pa.array(found, mask=known == 0)

    def _count(self, proof: Bits) -> npt.NDArray[np.int64]:
        """How many members of each group the proof holds for."""
        held = proof.true_count
        if held == 0:
            return np.zeros(self.num_groups, dtype=np.int64)
        if held == len(proof):
            return self._sizes
        chosen = self.group.to_numpy()[proof.to_numpy(zero_copy_only=False)]
        return np.bincount(chosen, minlength=self.num_groups)

    def any(self, proof: Bits) -> Bits:
        """Whether the proof holds for one member at least."""
        return pa.array(self._count(proof) > 0)

    def sum(self, counts: Counts) -> Counts:
        """The sum where every member's count is known; 0 for a group without members."""
        total = pc.fill_null(self.fold(counts, "sum"), 0).cast(pa.int64())
        return pc.if_else(self.any(counts.is_null()), _UNKNOWN, total)


def _merge_facts(facts: ColumnFacts, groups: Groups, rows: Counts, empty: Bits) -> ColumnFacts:
    length = len(empty)
    nulls, nans, values = (_count(c, length) for c in (facts.null_count, facts.nan_count, facts.value_count))
    is_float = isinstance(facts.type, FloatType | DoubleType)
    odd = _odd_counts(nulls, nans if is_float else _zeros(length), values, rows)
    if has_any(odd):
        nulls, nans, values = (pc.if_else(odd, _UNKNOWN, counts) for counts in (nulls, nans, values))
    if not is_float:
        nans = _zeros(length)  # whatever a writer says: a count of them must not make ordinary values none
    needed = pc.invert(pc.or_(empty, _no_ordinary(nulls, nans, values)))
    lower, upper = _bounds(facts, groups, needed)
    return ColumnFacts(
        type=facts.type,
        lower=lower,
        upper=upper,
        null_count=groups.sum(_or_zero(nulls, empty)),
        nan_count=groups.sum(_or_zero(nans, empty)),
        value_count=groups.sum(_or_zero(values, empty)),
        lower_exact=_exact(facts.lower_exact, lower, groups, needed),
        upper_exact=_exact(facts.upper_exact, upper, groups, needed),
        files_covered=_covered(facts, groups, length),
    )


def _odd_counts(nulls: Counts, nans: Counts, values: Counts, rows: Counts) -> Bits:
    """Members whose counts cannot all be right: in a sum they could make up for those of others."""
    told = pc.add(pc.coalesce(nulls, _ZERO), pc.coalesce(nans, _ZERO))
    too_many = pc.fill_null(pc.greater(told, pc.coalesce(values, rows)), False)
    return pc.or_(too_many, pc.fill_null(pc.greater(values, rows), False))


def _no_ordinary(nulls: Counts, nans: Counts, values: Counts) -> Bits:
    return pc.fill_null(pc.equal(pc.subtract(pc.subtract(values, nulls), nans), 0), False)


def _bounds(facts: ColumnFacts, groups: Groups, needed: Bits) -> tuple[Array | None, Array | None]:
    if isinstance(facts.type, VariantType | UnknownType) or (facts.lower is None and facts.upper is None):
        return None, None
    missing = pa.nulls(len(needed), bound_type(facts.type))
    lower = missing if facts.lower is None else facts.lower
    upper = missing if facts.upper is None else facts.upper
    if isinstance(facts.type, GeometryType | GeographyType):
        return merge_boxes(lower, upper, groups, needed, wraps=isinstance(facts.type, GeographyType))
    lower, upper = without_odd(lower, upper)
    return _bound(lower, "min", groups, needed), _bound(upper, "max", groups, needed)


def _bound(bound: Array, how: Literal["min", "max"], groups: Groups, needed: Bits) -> Array:
    told = pc.if_else(needed, bound, pa.scalar(None, bound.type))
    unsure = groups.any(pc.and_(needed, bound.is_null()))
    folded = _fold_floats(told, how, groups) if pa.types.is_floating(told.type) else groups.fold(told, how)
    return pc.if_else(unsure, pa.scalar(None, bound.type), folded)


def _fold_floats(values: Array, how: Literal["min", "max"], groups: Groups) -> Array:
    """By the total order, in which -0.0 comes before 0.0: as integers that sort like the numbers."""
    wide = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False).view(np.int64)
    keys = np.where(wide < 0, wide ^ np.int64(0x7FFFFFFFFFFFFFFF), wide)
    folded = groups.fold(pa.array(keys, mask=values.is_null().to_numpy(zero_copy_only=False)), how)
    found = folded.fill_null(0).to_numpy(zero_copy_only=False)
    back = np.where(found < 0, found ^ np.int64(0x7FFFFFFFFFFFFFFF), found).view(np.float64)
    return pa.array(back, mask=folded.is_null().to_numpy(zero_copy_only=False)).cast(values.type)


def _exact(exact: Bits | None, merged: Array | None, groups: Groups, needed: Bits) -> Bits | None:
    """Exact if all the bounds it was chosen from are; otherwise nobody knows."""
    if exact is None or merged is None:
        return None
    doubtful = groups.any(pc.and_(needed, pc.invert(pc.fill_null(exact, False))))
    return pc.if_else(pc.or_(doubtful, merged.is_null()), pa.scalar(None, pa.bool_()), True)


def _covered(facts: ColumnFacts, groups: Groups, length: int) -> Counts:
    if facts.files_covered is not None:
        covered = pc.fill_null(facts.files_covered, 0)
    else:
        covered = bits(length, False)
        for bound in (facts.lower, facts.upper):
            covered = covered if bound is None else pc.or_(covered, bound.is_valid())
        covered = covered.cast(pa.int64())
    return pc.fill_null(groups.fold(covered, "sum"), 0).cast(pa.int64())


def _count(counts: Counts | None, length: int) -> Counts:
    if counts is None:
        return pa.nulls(length, pa.int64())
    odd = pc.or_kleene(pc.less(counts, 0), pc.greater(counts, _SUM_MAX // max(1, length)))
    return pc.if_else(odd, _UNKNOWN, counts)


def _or_zero(counts: Counts, empty: Bits) -> Counts:
    return pc.if_else(empty, 0, counts)


def _zeros(length: int) -> Counts:
    return pa.repeat(pa.scalar(0, pa.int64()), length)


def truncate(zones: ZoneMap, width: int) -> ZoneMap:
    """The same zones with string and binary bounds of at most `width` code points or bytes.

    Bounds only become looser; those that changed are no longer exact. An upper bound that has no shorter form is
    forgotten.
    """
    if width < 1:
        raise InvalidInput(f"Invalid truncation width: expected 1 or more, got {width}.")
    columns = dict(zones.columns)
    for field_id, facts in zones.columns.items():
        if isinstance(facts.type, StringType | BinaryType):
            columns[field_id] = _truncate(facts, width)
    return replace(zones, columns=columns)


def _truncate(facts: ColumnFacts, width: int) -> ColumnFacts:
    is_text = isinstance(facts.type, StringType)
    length = pc.utf8_length if is_text else pc.binary_length
    lower, upper, lower_exact, upper_exact = facts.lower, facts.upper, facts.lower_exact, facts.upper_exact
    if lower is not None:
        cut = pc.utf8_slice_codeunits(lower, 0, width) if is_text else pc.binary_slice(lower, 0, width)
        lower_exact = _still_exact(lower_exact, pc.greater(length(lower), width))
        lower = cut
    if upper is not None:
        long = pc.fill_null(pc.greater(length(upper), width), False)
        if pc.any(long).as_py():
            shorter = [truncate_upper(facts.type, v, width) for v in upper.filter(long).to_pylist()]
            upper_exact = _still_exact(upper_exact, long)
            upper = pc.replace_with_mask(upper, long, pa.array(shorter, upper.type))
    return replace(facts, lower=lower, upper=upper, lower_exact=lower_exact, upper_exact=upper_exact)


def _still_exact(exact: Bits | None, changed: Bits) -> Bits | None:
    return None if exact is None else pc.if_else(pc.fill_null(changed, False), False, exact)
