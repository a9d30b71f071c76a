"""Laws of Hive's statistics: parts add up to the whole, sketches merge, and nothing changes on the wire or in SQL."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hive import fill

from skipstone.hive.ndv import FlajoletMartin, HyperLogLog, merge_bit_vectors, parse_bit_vector
from skipstone.hive.objects import Column, HiveTable
from skipstone.hive.statistics import ColumnStatistics, merge_statistics
from skipstone.hive.store import HiveStore, Layout
from skipstone.hive.thrift import api
from skipstone.hive.thrift.binary import Input
from skipstone.hive.types import Kind
from skipstone.hive.wire import from_wire, to_wire
from skipstone.stats.hyperloglog.hashing import hash_longs

LONGS = st.integers(-(2**63), 2**63 - 1)
PARTS = st.lists(st.lists(st.none() | st.integers(-1000, 1000), max_size=60), min_size=1, max_size=5)


def brute_force(values: list[int | None]) -> ColumnStatistics:
    known = np.array([v for v in values if v is not None], np.int64)
    sketch = HyperLogLog.of(hash_longs(known))
    return ColumnStatistics(
        column="i",
        type="int",
        kind=Kind.LONG,
        num_nulls=len(values) - len(known),
        num_distincts=sketch.estimate(),
        low=int(known.min()) if len(known) else None,
        high=int(known.max()) if len(known) else None,
        bit_vector=sketch.serialize(),
    )


@settings(deadline=None)
@given(parts=PARTS)
def test_merged_partitions_are_the_table(parts: list[list[int | None]]) -> None:
    whole = [value for part in parts for value in part]
    assert merge_statistics([brute_force(part) for part in parts]) == brute_force(whole)


@settings(max_examples=15, deadline=None)
@given(parts=PARTS, layout=st.sampled_from(Layout))
def test_partitions_added_up_in_sql_are_the_table(parts: list[list[int | None]], layout: Layout) -> None:
    store = HiveStore("sqlite://", layout=layout)
    fill(store)
    keys = (Column(name="p", type="int"),)
    store.create_table(HiveTable(database="db", name="u", columns=(Column(name="i", type="int"),), partition_keys=keys))
    given_parts = {f"p={number}": [brute_force(part)] for number, part in enumerate(parts)}
    store.add_partition_names("db", "u", given_parts)
    store.put_partition_statistics("db", "u", given_parts, now=1)
    added = store.aggregate("db", "u", list(given_parts), ["i"])
    assert list(added.statistics) == [brute_force([value for part in parts for value in part])]
    store.close()


@settings(deadline=None)
@given(left=st.lists(LONGS, max_size=400), right=st.lists(LONGS, max_size=400))
def test_a_merged_sketch_is_the_sketch_of_all_values(left: list[int], right: list[int]) -> None:
    sketches = [HyperLogLog.of(hash_longs(np.array(values, np.int64))) for values in (left, right)]
    merged = merge_bit_vectors(sketches)
    assert merged == HyperLogLog.of(hash_longs(np.array([*left, *right], np.int64)))
    assert parse_bit_vector(merged.serialize()) == merged
    assert merged.estimate() >= 1


@given(count=st.integers(1, 30_000), start=st.integers(-(2**40), 2**40))
@settings(max_examples=25, deadline=None)
def test_the_estimate_is_within_the_sketchs_error(count: int, start: int) -> None:
    sketch = HyperLogLog.of(hash_longs(np.arange(start, start + count)))
    # 1.04 / sqrt(1024) is 3.25 %; five times that never happens by chance.
    assert abs(sketch.estimate() - count) <= max(2, 0.165 * count)


@settings(deadline=None)
@given(vectors=st.lists(st.integers(0, 2**31 - 1), min_size=16, max_size=16))
def test_an_old_sketch_goes_through_unchanged_and_merges(vectors: list[int]) -> None:
    sketch = FlajoletMartin(vectors=np.array(vectors, np.uint32))
    assert parse_bit_vector(sketch.serialize()) == sketch
    assert merge_bit_vectors([sketch, sketch]) == sketch
    assert merge_bit_vectors([sketch, HyperLogLog.empty()]) is None
    assert sketch.estimate() >= 1


COUNTS = st.integers(0, 2**63 - 1)
BLOBS = st.none() | st.just(HyperLogLog.empty().serialize())
STATISTICS = st.one_of(
    st.builds(
        ColumnStatistics, column=st.text(max_size=9), type=st.just("bigint"), kind=st.just(Kind.LONG),
        num_nulls=COUNTS, num_distincts=COUNTS, low=st.none() | LONGS, high=st.none() | LONGS, bit_vector=BLOBS,
    ),
    st.builds(
        ColumnStatistics, column=st.text(max_size=9), type=st.just("double"), kind=st.just(Kind.DOUBLE),
        num_nulls=COUNTS, num_distincts=COUNTS, low=st.none() | st.floats(allow_nan=False), bit_vector=BLOBS,
    ),
    st.builds(
        ColumnStatistics, column=st.text(max_size=9), type=st.just("decimal(38,9)"), kind=st.just(Kind.DECIMAL),
        num_nulls=COUNTS, num_distincts=COUNTS, high=st.decimals(allow_nan=False, allow_infinity=False, places=9),
    ),
    st.builds(
        ColumnStatistics, column=st.text(max_size=9), type=st.just("string"), kind=st.just(Kind.STRING),
        num_nulls=COUNTS, num_distincts=COUNTS, avg_length=st.floats(0, 1e9), max_length=COUNTS,
    ),
)  # fmt: skip


@settings(deadline=None)
@given(statistics=STATISTICS)
def test_statistics_go_over_the_wire_unchanged(statistics: ColumnStatistics) -> None:
    out = bytearray()
    to_wire(statistics).write(out)
    found = from_wire(api.ColumnStatisticsObj.read(Input(bytes(out))))
    if isinstance(statistics.high, Decimal) and statistics.high == 0:
        # A zero has no sign on the wire.
        found, statistics = replace(found, high=None), replace(statistics, high=None)
    assert found == statistics
