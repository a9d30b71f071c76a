"""Which kinds of values a column is proven to lack, zone by zone, from its counts.

The rows of a zone fall into three kinds by the value of a column: null, NaN, and ordinary values, which the bounds
enclose. Counts that cannot all be right, negative ones among them (other writers use -1), prove nothing. Each proof is
made when it is first asked for.
"""

from __future__ import annotations

from functools import cached_property

from skipstone.metadata.types import DoubleType, FloatType
from skipstone.zones.arrow import Bits, Counts, certain, has_any, pc
from skipstone.zones.verdict import bits
from skipstone.zones.zone_map import ColumnFacts, ZoneMap


class Kinds:
    """Proofs of absence for one column, or for a term of it."""

    def __init__(self, facts: ColumnFacts, zones: ZoneMap, *, is_nested: bool) -> None:
        self._nulls = facts.null_count
        self._nans = facts.nan_count
        self._own_values = facts.value_count
        self._rows = zones.row_count
        self._num_zones = zones.num_zones
        self._is_nested = is_nested
        self.is_float = isinstance(facts.type, FloatType | DoubleType)

    @cached_property
    def no_ordinary(self) -> Bits:
        """All values are null or NaN."""
        if not self.is_float:
            return self._all_null
        return self._sure(_test(pc.equal, self._non_null, self._nans), otherwise=self._all_null)

    @cached_property
    def no_nan(self) -> Bits:
        if not self.is_float:
            return bits(self._num_zones, True)
        return self._sure(_test(pc.equal, self._nans, 0), otherwise=self._all_null)

    @cached_property
    def no_null(self) -> Bits:
        proof = self._sure(_test(pc.equal, self._nulls, 0))
        if not self._is_nested or not has_any(proof):
            return proof
        # A null parent hides the value from its own counts: only a count of every row is proof.
        full = _test(pc.equal, self._own_values, self._rows)
        return self._no if full is None else pc.and_(proof, certain(full))

    @cached_property
    def _all_null(self) -> Bits:
        return self._sure(_test(pc.equal, self._nulls, self._values))

    @cached_property
    def _odd(self) -> Bits:
        """Counts that cannot all be right."""
        too_many = pc.greater if self._is_nested else pc.not_equal  # a null parent leaves values out, nothing adds any
        odd = [
            _test(pc.less, self._nulls, 0),
            _test(pc.greater, self._nulls, self._values),
            _test(too_many, self._own_values, self._rows),
        ]
        if self.is_float:
            odd += [_test(pc.less, self._nans, 0), _test(pc.less, self._non_null, self._nans)]
        found = self._no
        for test in odd:
            found = found if test is None else pc.or_(found, certain(test))
        return found

    def _sure(self, proof: Bits | None, *, otherwise: Bits | None = None) -> Bits:
        sure = self._no if proof is None else certain(proof)
        if has_any(sure):
            sure = pc.and_not(sure, self._odd)
        return sure if otherwise is None else pc.or_(sure, otherwise)

    @cached_property
    def _no(self) -> Bits:
        return bits(self._num_zones, False)

    @cached_property
    def _values(self) -> Counts | None:
        """How many values there are at most: where the column's own count is unknown, one a row."""
        own, rows = self._own_values, self._rows
        if own is None or rows is None:
            return rows if own is None else own
        return own if own.null_count == 0 else pc.coalesce(own, rows)

    @cached_property
    def _non_null(self) -> Counts | None:
        return _test(pc.subtract, self._values, self._nulls)


def _test(operation: object, left: Counts | None, right: Counts | int | None) -> Bits | None:
    """An operation on counts; None, which is unknown everywhere, if a side is."""
    return None if left is None or right is None else operation(left, right)  # type: ignore[operator]
