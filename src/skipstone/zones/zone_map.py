"""Zone maps: what is known about each column of each zone, as Arrow columns.

A zone is any unit of storage that can be skipped whole: a manifest, a partition, a data file, a row group, a page.
A fact is known or null. Null means unknown, never zero: a missing null count must not let anything conclude that the
column has no nulls. Facts that contradict each other are odd, and odd facts become unknown.

The law of bounds: every value of the column in the zone that is neither null nor NaN lies between `lower` and `upper`.
Bounds may be looser than the values; `lower_exact` and `upper_exact` say where they are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from skipstone.errors import InvalidInput
from skipstone.metadata.types import PrimitiveType
from skipstone.metadata.values import bound_type
from skipstone.zones.arrow import Array, Bits, Counts, Scalar, pa, pc


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """Facts about one column, one entry a zone in each array. A missing array is a fact nobody knows.

    `value_count` counts values with nulls and NaNs. For a field inside a struct it leaves out rows whose parent is
    null, so it may be less than the zone's row count.
    `files_covered` says, for a zone merged from several files, how many of them had bounds for the column at all.
    """

    type: PrimitiveType
    lower: Array | None = None
    upper: Array | None = None
    null_count: Counts | None = None
    nan_count: Counts | None = None
    value_count: Counts | None = None
    lower_exact: Bits | None = None
    upper_exact: Bits | None = None
    files_covered: Counts | None = None

    def take(self, indices: Array) -> ColumnFacts:
        return self._map(lambda array: array.take(indices))

    def filter(self, mask: Bits) -> ColumnFacts:
        return self._map(lambda array: array.filter(mask))

    def forget(self, *names: str) -> ColumnFacts:
        """The same facts without some: tests and options use it to see what a fact is worth."""
        unknown: dict[str, Any] = dict.fromkeys(names)
        return replace(self, **unknown)

    def _map(self, change: Any) -> ColumnFacts:
        changed = {n: change(a) for n in FACTS if (a := getattr(self, n)) is not None}
        return replace(self, **changed)


FACTS = (
    "lower",
    "upper",
    "null_count",
    "nan_count",
    "value_count",
    "lower_exact",
    "upper_exact",
    "files_covered",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneMap:
    """Facts about zones. `row_count` is null where it is unknown; a missing column has no facts at all."""

    num_zones: int
    row_count: Counts | None = None
    columns: Mapping[int, ColumnFacts] = field(default_factory=dict)
    # What the judge derived from the facts: zones that are kept are judged by one filter after the other.
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for field_id, facts in self.columns.items():
            for name in FACTS:
                array = getattr(facts, name)
                if array is not None and len(array) != self.num_zones:
                    raise InvalidInput(
                        f"Invalid zone map: expected {self.num_zones} zones, got {len(array)} entries of {name} "
                        f"for field {field_id}."
                    )

    def take(self, indices: Array) -> ZoneMap:
        return self._map(len(indices), lambda array: array.take(indices), lambda facts: facts.take(indices))

    def filter(self, mask: Bits) -> ZoneMap:
        kept = pc.sum(mask).as_py() or 0
        return self._map(kept, lambda array: array.filter(mask), lambda facts: facts.filter(mask))

    def forget(self, field_id: int, *names: str) -> ZoneMap:
        """The same zones without some facts of a column, or without any when none are named."""
        columns = dict(self.columns)
        facts = columns.pop(field_id, None)
        if facts is not None and names:
            columns[field_id] = facts.forget(*names)
        return replace(self, columns=columns)

    def with_column(self, field_id: int, facts: ColumnFacts) -> ZoneMap:
        return replace(self, columns={**self.columns, field_id: facts})

    def _map(self, num_zones: int, change: Any, change_facts: Any) -> ZoneMap:
        return ZoneMap(
            num_zones=num_zones,
            row_count=None if self.row_count is None else change(self.row_count),
            columns={i: change_facts(f) for i, f in self.columns.items()},
        )


def constant_facts(type_: PrimitiveType, value: Scalar, row_count: Counts) -> ColumnFacts:
    """Facts of a column that has one value in every row: an identity partition, a default, a missing column."""
    num_zones = len(row_count)
    zero = pa.repeat(pa.scalar(0, pa.int64()), num_zones)
    is_null = not value.is_valid
    is_nan = not is_null and pa.types.is_floating(value.type) and value.as_py() != value.as_py()
    bound = pa.nulls(num_zones, bound_type(type_)) if is_null or is_nan else pa.repeat(value, num_zones)
    certain = pa.repeat(pa.scalar(True), num_zones)
    return ColumnFacts(
        type=type_,
        lower=bound,
        upper=bound,
        null_count=row_count if is_null else zero,
        nan_count=row_count if is_nan else zero,
        value_count=row_count,
        lower_exact=certain,
        upper_exact=certain,
    )


def concat(maps: Iterable[ZoneMap]) -> ZoneMap:
    """All zones of several maps, in order. A fact that one map lacks is unknown for its zones."""
    parts = list(maps)
    field_ids = sorted({i for m in parts for i in m.columns})
    columns = {i: _concat_facts([(m.num_zones, m.columns.get(i)) for m in parts]) for i in field_ids}
    return ZoneMap(
        num_zones=sum(m.num_zones for m in parts),
        row_count=_concat_arrays([(m.num_zones, m.row_count) for m in parts]),
        columns=columns,
    )


def _concat_facts(parts: list[tuple[int, ColumnFacts | None]]) -> ColumnFacts:
    types = {f.type for _, f in parts if f is not None}
    if len(types) != 1:
        raise InvalidInput(f"Cannot join zone maps: expected one type for a column, got {sorted(map(str, types))}.")
    joined = {name: _concat_arrays([(n, None if f is None else getattr(f, name)) for n, f in parts]) for name in FACTS}
    return ColumnFacts(type=types.pop(), **joined)


def _concat_arrays(parts: list[tuple[int, Array | None]]) -> Array | None:
    known = next((a for _, a in parts if a is not None), None)
    if known is None:
        return None
    return pa.concat_arrays([pa.nulls(n, known.type) if a is None else a for n, a in parts])
