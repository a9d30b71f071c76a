"""Statistics over many partitions, added up by the database where it can.

Counts, lows, highs and lengths come out of one grouped query. Decimals, which are stored as text, bit vectors
and histograms are merged here. A partition that exists and has no statistics of a column leaves that column's lows and
highs unknown.
"""

# ruff: noqa: SIM300 -- a column in capitals is no constant
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.hive.histogram import merge_histograms
from skipstone.hive.ndv import merge_bit_vectors, parse_bit_vector
from skipstone.hive.statistics import EMPTY_VECTOR, LONG_MAX, ColumnStatistics, merge_statistics, without_bounds
from skipstone.hive.store.layout import ENGINE_DEFAULT, Tables
from skipstone.hive.store.lookups import partition_ids, table_row
from skipstone.hive.store.rows import statistics_in, value_columns
from skipstone.hive.types import Kind, kind_of

_MANY = 2_000
_TOTALS = ("NUM_NULLS", "NUM_TRUES", "NUM_FALSES")
# As text: what a database takes a parameter for depends on its driver, and not every type can be shifted by any other.
_HALF_BITS: sa.ColumnElement[int] = sa.literal_column("32", sa.BigInteger)
_LOW_HALF: sa.ColumnElement[int] = sa.literal_column("4294967295", sa.BigInteger)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """Statistics of columns over partitions, and how many partitions had statistics of every column asked for."""

    statistics: tuple[ColumnStatistics, ...]
    partitions_found: int
    is_complete: bool


class AggregateRows:
    """The part of the store that adds up statistics."""

    _database: Database
    _tables: Tables

    def aggregate(
        self,
        database: str,
        table: str,
        partitions: Sequence[str],
        columns: Sequence[str],
        *,
        engine: str = ENGINE_DEFAULT,
    ) -> Aggregate:
        """The statistics of columns over the partitions that exist."""
        columns = list(dict.fromkeys(columns))
        with self._database.reading() as connection:
            row = table_row(connection, self._tables, database, table)
            known = partition_ids(connection, self._tables, row)
            ids = [known[name] for name in dict.fromkeys(partitions) if name in known]
            is_all = len(ids) == len(known)
            which = _Which(tables=self._tables, table_id=row.table_id, ids=None if is_all else ids, engine=engine)
            if not self._tables.layout.has_typed_bounds:
                merged, counts = _merged_here(connection, which, columns)
            else:
                merged, counts = _merged_there(connection, which, columns)
            found = _partitions_found(connection, which, columns, counts, len(ids))
        complete = {name: counts.get(name, 0) == len(ids) for name in counts}
        return Aggregate(
            statistics=tuple(one if complete[one.column] else without_bounds(one) for one in merged),
            partitions_found=found,
            is_complete=all(complete.values()) and len(counts) == len(set(columns)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Which:
    """Which rows: those of some partitions of a table, or of all."""

    tables: Tables
    table_id: int
    ids: list[int] | None
    engine: str

    def filters(self, columns: Iterable[str]) -> list[list[sa.ColumnElement[bool]]]:
        """One set of conditions for each part of the partitions."""
        rows, parts = self.tables.partition_statistics, self.tables.partitions
        common: list[sa.ColumnElement[bool]] = [rows.c.COLUMN_NAME.in_(list(columns))]
        if self.tables.layout.has_engine:
            common.append(rows.c.ENGINE == self.engine)
        if self.ids is None:
            of_table = sa.select(parts.c.PART_ID).where(parts.c.TBL_ID == self.table_id)
            return [[*common, rows.c.PART_ID.in_(of_table)]]
        chunks = [self.ids[start : start + _MANY] for start in range(0, len(self.ids), _MANY)]
        return [[*common, rows.c.PART_ID.in_(chunk)] for chunk in chunks]


_Merged = tuple[list[ColumnStatistics], dict[str, int]]


def _merged_there(connection: sa.Connection, which: _Which, columns: Sequence[str]) -> _Merged:
    """Grouped by the database; one result for each part of the partitions, merged like partitions."""
    rows = which.tables.partition_statistics
    groups: dict[str, list[Mapping[Any, Any]]] = {}
    for where in which.filters(columns):
        query = sa.select(*_sums(rows)).where(*where).group_by(rows.c.COLUMN_NAME, rows.c.COLUMN_TYPE)
        for found in connection.execute(query).mappings():
            groups.setdefault(found["COLUMN_NAME"], []).append(found)
    merged, counts = [], {}
    for name in columns:
        if name not in groups:
            continue
        counts[name] = sum(group["FOUND"] for group in groups[name])
        one = merge_statistics([statistics_in(_as_row(g), which.tables.layout) for g in groups[name]])
        has_all_vectors = sum(group["VECTORS"] for group in groups[name]) == counts[name]
        one = _completed(connection, which, one, has_vectors=has_all_vectors)
        if any(group["HISTOGRAMS"] for group in groups[name]):
            one = replace(one, histogram=merge_histograms(_histograms(connection, which, name)))
        merged.append(one)
    return merged, counts


def _sums(rows: sa.Table) -> list[sa.ColumnElement[Any]]:
    f, c = sa.func, rows.c
    low = [f.min(c[n]).label(n) for n in ("LONG_LOW_VALUE", "DOUBLE_LOW_VALUE")]
    high = [f.max(c[n]).label(n) for n in ("LONG_HIGH_VALUE", "DOUBLE_HIGH_VALUE")]
    largest = [f.max(c[n]).label(n) for n in ("NUM_DISTINCTS", "AVG_COL_LEN", "MAX_COL_LEN")]
    # In two halves: a sum of counts near the end of 64 bits is an error in one database and a wrong number in another.
    totals = [f.sum(c[n].op(">>")(_HALF_BITS)).label(f"{n}_HIGH") for n in _TOTALS]
    totals += [f.sum(c[n].op("&")(_LOW_HALF)).label(f"{n}_LOW") for n in _TOTALS]
    counts = [
        f.count().label("FOUND"),
        f.count(c.BIT_VECTOR).label("VECTORS"),
        f.count(c.HISTOGRAM).label("HISTOGRAMS"),
    ]
    nothing = [sa.null().label(n) for n in ("BIT_VECTOR", "HISTOGRAM")]
    return [c.COLUMN_NAME, c.COLUMN_TYPE, *low, *high, *largest, *totals, *counts, *nothing]


def _as_row(group: Mapping[Any, Any]) -> dict[Any, Any]:
    """A group as one row of statistics, so far without what the database cannot add up."""
    return {**group, **_totals(group), "BIG_DECIMAL_LOW_VALUE": None, "BIG_DECIMAL_HIGH_VALUE": None}


def _totals(group: Mapping[Any, Any]) -> dict[str, int | None]:
    halves = {name: (group[f"{name}_HIGH"], group[f"{name}_LOW"]) for name in _TOTALS}
    return {
        name: None if high is None else min((int(high) << 32) + int(low), LONG_MAX)
        for name, (high, low) in halves.items()
    }


def _completed(
    connection: sa.Connection, which: _Which, one: ColumnStatistics, *, has_vectors: bool
) -> ColumnStatistics:
    """What the database cannot add up: decimals and bit vectors."""
    rows = which.tables.partition_statistics
    if kind_of(one.type) is Kind.DECIMAL:
        lows, highs = [], []
        for where in which.filters([one.column]):
            query = sa.select(rows.c.BIG_DECIMAL_LOW_VALUE, rows.c.BIG_DECIMAL_HIGH_VALUE).where(*where)
            for low, high in connection.execute(query.distinct()):
                lows += [] if low is None else [Decimal(low)]
                highs += [] if high is None else [Decimal(high)]
        one = replace(one, low=min(lows, default=None), high=max(highs, default=None))
    if has_vectors:
        vectors: list[bytes] = []
        for where in which.filters([one.column]):
            vectors += connection.scalars(sa.select(rows.c.BIT_VECTOR).where(*where).distinct())
        vector = merge_bit_vectors(parse_bit_vector(v) for v in vectors)
        if vector is not None:
            one = replace(one, num_distincts=vector.estimate(), bit_vector=vector.serialize())
    return one


def _histograms(connection: sa.Connection, which: _Which, column: str) -> Iterable[bytes | None]:
    """The histograms of all partitions but those that have nothing to be counted."""
    # Two equal ones are of other rows all the same, so both count.
    rows = which.tables.partition_statistics
    has_values = sa.or_(rows.c.BIT_VECTOR.is_(None), rows.c.BIT_VECTOR != EMPTY_VECTOR)
    for where in which.filters([column]):
        yield from connection.scalars(sa.select(rows.c.HISTOGRAM).where(*where, has_values))


def _merged_here(connection: sa.Connection, which: _Which, columns: Sequence[str]) -> _Merged:
    """Row by row, for the lay-out whose lows and highs the database cannot compare."""
    rows = which.tables.partition_statistics
    groups: dict[str, list[ColumnStatistics]] = {}
    for where in which.filters(columns):
        for found in connection.execute(sa.select(*value_columns(rows)).where(*where)).mappings():
            groups.setdefault(found["COLUMN_NAME"], []).append(statistics_in(found, which.tables.layout))
    known = [name for name in columns if name in groups]
    return [merge_statistics(groups[name]) for name in known], {name: len(groups[name]) for name in known}


def _partitions_found(
    connection: sa.Connection, which: _Which, columns: Sequence[str], counts: Mapping[str, int], partitions: int
) -> int:
    """How many partitions have statistics of all the columns."""
    if len(counts) < len(set(columns)):
        return 0
    if all(count == partitions for count in counts.values()):
        return partitions
    rows, found = which.tables.partition_statistics, 0
    for where in which.filters(columns):
        inner = sa.select(rows.c.PART_ID).where(*where).group_by(rows.c.PART_ID)
        full = inner.having(sa.func.count() == len(set(columns))).subquery()
        found += connection.scalar(sa.select(sa.func.count()).select_from(full)) or 0
    return found
