"""The order of rows by a column, and where the best row of each zone can lie in it.

The rows of a zone fall into three kinds by the value of a column: ordinary, NaN and null. Kinds come one after another,
and ordinary values among themselves have their own order. Nulls come first or last as asked. Where NaN stands depends
on the float order: above every number for Spark; otherwise it goes with the nulls, next to the numbers, as Arrow sorts.

The law: no row of a zone comes before the zone's best place. A fact that is unknown only moves that place forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.types import (
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    UnknownType,
    VariantType,
)
from skipstone.predicate.arrow_values import comparable_type
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Column
from skipstone.zones.bounds import Between
from skipstone.zones.kinds import Kinds
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute

Kind = Literal["ordinary", "nan", "null"]
Ranks = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]

EMPTY_RANK: Final = 3  # behind every kind: a zone without rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """One column to sort by."""

    column: Column
    descending: bool = False
    nulls_first: bool = False

    def kinds(self, float_order: FloatOrder) -> tuple[Kind, Kind, Kind]:
        """The kinds of values in the order in which their rows come."""
        if float_order is FloatOrder.IEEE:
            return ("null", "nan", "ordinary") if self.nulls_first else ("ordinary", "nan", "null")
        numbers: tuple[Kind, Kind] = ("nan", "ordinary") if self.descending else ("ordinary", "nan")
        return ("null", *numbers) if self.nulls_first else (*numbers, "null")


def check_sortable(type_: PrimitiveType, what: str) -> None:
    """Refuse types whose values have no order."""
    if isinstance(type_, VariantType | GeometryType | GeographyType | UnknownType):
        raise InvalidInput(f"Cannot {what}: values of {type_} have no order. Choose a column of an ordered type.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """A place in the order for each zone, or each row: the rank of its kind, and its value if that is ordinary.

    An ordinary place without a value is before all ordinary values.
    """

    key: SortKey
    ranks: Ranks
    values: Any

    def take(self, rows: npt.NDArray[np.int64]) -> Places:
        return Places(key=self.key, ranks=self.ranks[rows], values=self.values.take(pa.array(rows, pa.int64())))

    def before(self, rank: int, value: Any, *, or_equal: bool) -> Mask:
        """Which places come before one given by its rank and (comparable) value, a null scalar for other kinds."""
        earlier: Mask = self.ranks < rank
        same: Mask = self.ranks == rank
        if not value.is_valid:
            return earlier | same if or_equal else earlier
        if self.key.descending:
            test = pc.greater_equal if or_equal else pc.greater
        else:
            test = pc.less_equal if or_equal else pc.less
        # Unknown is before every value.
        better: Mask = pc.fill_null(test(self.values, value), True).to_numpy(zero_copy_only=False)
        return earlier | (same & better)


def best_places(key: SortKey, zones: ZoneMap, float_order: FloatOrder) -> Places:
    """The first place that a row of each zone can have."""
    facts = zones.columns[key.column.field_id]
    proofs = Kinds(facts, zones, is_nested=key.column.is_nested)
    absent = {"ordinary": proofs.no_ordinary, "nan": proofs.no_nan, "null": proofs.no_null}
    ranks = np.full(zones.num_zones, EMPTY_RANK, np.int8)
    kinds = key.kinds(float_order)
    for rank in (2, 1, 0):
        ranks[~absent[kinds[rank]].to_numpy(zero_copy_only=False)] = rank
    if zones.row_count is not None:
        ranks[pc.fill_null(pc.equal(zones.row_count, 0), False).to_numpy(zero_copy_only=False)] = EMPTY_RANK
    between = Between.of(facts)
    bound = between.upper if key.descending else between.lower
    if bound is None:
        bound = pa.nulls(zones.num_zones, comparable_type(key.column.type))
    is_ordinary = pa.array(ranks == kinds.index("ordinary"))
    return Places(key=key, ranks=ranks, values=pc.if_else(is_ordinary, bound, pa.scalar(None, bound.type)))


def worst_values(key: SortKey, zones: ZoneMap) -> Any:
    """The last place that an ordinary value of each zone can have, null where it is unknown."""
    between = Between.of(zones.columns[key.column.field_id])
    bound = between.lower if key.descending else between.upper
    return pa.nulls(zones.num_zones, comparable_type(key.column.type)) if bound is None else bound


def row_places(key: SortKey, values: Any, float_order: FloatOrder) -> Places:
    """The places of rows by their (comparable) values."""
    kinds = key.kinds(float_order)
    ranks = np.full(len(values), kinds.index("ordinary"), np.int8)
    if isinstance(key.column.type, FloatType | DoubleType):
        is_nan = pc.fill_null(pc.is_nan(values), False)
        ranks[is_nan.to_numpy(zero_copy_only=False)] = kinds.index("nan")
        values = pc.if_else(is_nan, pa.scalar(None, values.type), values)
    if values.null_count:
        ranks[(values.is_null().to_numpy(zero_copy_only=False)) & (ranks != kinds.index("nan"))] = kinds.index("null")
    return Places(key=key, ranks=ranks, values=values)


def sorted_by(places: list[Places]) -> npt.NDArray[np.int64]:
    """Positions from first to last by several keys, equal ones in their old order."""
    columns: dict[str, Any] = {}
    keys: list[tuple[str, str]] = []
    for number, place in enumerate(places):
        rank, known, value = (f"{number}.{part}" for part in ("rank", "known", "value"))
        columns[rank] = pa.array(place.ranks)
        # Only an unknown bound lacks a value among ordinary ones, and it comes first.
        columns[known] = place.values.is_valid().cast(pa.int8())
        columns[value] = place.values
        keys += [(rank, "ascending"), (known, "ascending"), (value, _direction(place.key))]
    columns["position"] = pa.array(np.arange(len(places[0].ranks)))
    order = pc.sort_indices(pa.table(columns), sort_keys=[*keys, ("position", "ascending")])
    return np.asarray(order).astype(np.int64)


def _direction(key: SortKey) -> str:
    return "descending" if key.descending else "ascending"
