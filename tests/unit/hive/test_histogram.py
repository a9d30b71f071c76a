"""Histograms of parts merge into one of all, wherever statistics are merged."""

from __future__ import annotations

import pytest

from skipstone.hive.histogram import Histogram, merge_histograms, parse_histogram
from skipstone.hive.objects import Column, HiveDatabase, HiveTable
from skipstone.hive.statistics import ColumnStatistics, merge_statistics
from skipstone.hive.store import HiveStore
from skipstone.hive.types import Kind

PARTS = [range(1000), range(1000, 3000), range(1000, 3000)]


def part(values: range, *, has_histogram: bool = True) -> ColumnStatistics:
    histogram = Histogram.of(values).serialize() if has_histogram else None
    return ColumnStatistics(
        column="i", type="int", kind=Kind.LONG, num_nulls=0, num_distincts=5, low=values[0], high=values[-1],
        histogram=histogram,
    )  # fmt: skip


def check(data: bytes | None) -> None:
    merged = parse_histogram(data)
    assert merged is not None
    assert (merged.count, merged.low, merged.high) == (5000, 0.0, 2999.0)
    assert merged.quantile(0.2) == pytest.approx(1000, abs=100)


def test_merged_statistics_have_the_histogram_of_all_values() -> None:
    check(merge_statistics([part(values) for values in PARTS]).histogram)


def test_the_store_merges_the_histograms_of_partitions() -> None:
    store = HiveStore("sqlite://")
    store.create_database(HiveDatabase(name="db"))
    columns, keys = (Column(name="i", type="int"),), (Column(name="p", type="int"),)
    store.create_table(HiveTable(database="db", name="t", columns=columns, partition_keys=keys))
    names = [f"p={number}" for number in range(len(PARTS))]
    store.add_partition_names("db", "t", names)
    statistics = {name: [part(values)] for name, values in zip(names, PARTS, strict=True)}
    store.put_partition_statistics("db", "t", statistics, now=1)
    check(store.aggregate("db", "t", names, ["i"]).statistics[0].histogram)
    store.put_partition_statistics("db", "t", {"p=0": [part(PARTS[0], has_histogram=False)]}, now=1)
    assert store.aggregate("db", "t", names, ["i"]).statistics[0].histogram is None


@pytest.mark.parametrize("odd", [None, b"", b"no histogram at all", Histogram.of([1.0]).serialize()[:9]])
def test_a_part_without_one_or_with_a_damaged_one_leaves_none(odd: bytes | None) -> None:
    assert merge_histograms([Histogram.of([1.0]).serialize(), odd]) is None
    assert merge_histograms([]) is None
