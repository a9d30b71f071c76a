"""Statistics of every kind, and a table that has a column of every type."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from skipstone.hive.ndv import HyperLogLog
from skipstone.hive.objects import Column, HiveDatabase, HiveTable
from skipstone.hive.statistics import ColumnStatistics
from skipstone.hive.store import HiveStore
from skipstone.hive.types import kind_of
from skipstone.stats.hyperloglog.hashing import hash_longs

TYPES = {
    "bo": "boolean", "ti": "tinyint", "si": "smallint", "i": "int", "bi": "bigint", "f": "float", "d": "double",
    "de": "decimal(38,18)", "s": "string", "vc": "varchar(20)", "ch": "char(5)", "bn": "binary", "dt": "date",
    "ts": "timestamp",
}  # fmt: skip
ODD_NAMES = ["A'b", 'quo"te', "UPPER", "naïve日本", "x; drop table TBLS --", "per%cent_", "back`tick", "slash/sl\\ash"]


def statistics_of(column: str, type_: str, number: int = 3) -> ColumnStatistics:
    """Statistics of a column that has values up to a number."""
    kind = kind_of(type_)
    assert kind is not None
    low: int | float | Decimal | None = None
    high = low
    match kind.value:
        case "longStats" | "dateStats" | "timestampStats":
            low, high = -number, number
        case "doubleStats":
            low, high = -float(number), number + 0.25
        case "decimalStats":
            low, high = Decimal(-number) / 4, Decimal(number) / 8
    is_text = kind.value in ("stringStats", "binaryStats")
    has_count = kind.value not in ("booleanStats", "binaryStats")
    return ColumnStatistics(
        column=column,
        type=type_,
        kind=kind,
        num_nulls=number,
        num_distincts=number if has_count else None,
        low=low,
        high=high,
        avg_length=number / 2 if is_text else None,
        max_length=number if is_text else None,
        num_trues=number if kind.value == "booleanStats" else None,
        num_falses=1 if kind.value == "booleanStats" else None,
    )


def every_type(number: int = 3) -> list[ColumnStatistics]:
    return [statistics_of(name, type_, number) for name, type_ in TYPES.items()]


def by_name(statistics: Iterable[ColumnStatistics]) -> list[ColumnStatistics]:
    return sorted(statistics, key=lambda one: one.column)


def sketch(*values: int) -> bytes:
    return HyperLogLog.of(hash_longs(np.array(values, np.int64))).serialize()


def fill(store: HiveStore, *, partitions: int = 0) -> None:
    """The database `db` with the table `t`, partitioned by `p` if partitions are asked for."""
    store.create_database(HiveDatabase(name="db", location="/lake/db.db"))
    keys = (Column(name="p", type="int"),) if partitions else ()
    columns = tuple(Column(name=name, type=type_) for name, type_ in TYPES.items())
    store.create_table(HiveTable(database="db", name="t", columns=columns, partition_keys=keys))
    if partitions:
        store.add_partition_names("db", "t", [f"p={number}" for number in range(partitions)])
