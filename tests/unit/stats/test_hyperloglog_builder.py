"""A bit vector built in the pass over a column is the one that Hive's hashes of its values give."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.metadata import types
from skipstone.stats.hyperloglog import HyperLogLog, HyperLogLogBuilder
from skipstone.stats.hyperloglog.hashing import hash_doubles, hash_longs, hash_texts

LONGS = [None, 0, -1, 1, 2**63 - 1, -(2**63)]
DOUBLES = [None, 0.0, -0.0, float("nan"), float("inf"), 1e-300, 0.1, -2.5]
DECIMALS = [None, "0", "-0.01", "12345678901234.56", "99999999999999999999999999999999999.99", "-90071992547409.93"]
TEXTS = [None, "", "a", "abcdefgh", "abcdefghi", "grüße 🪨 " * 5, "x" * 1000]


def built(type_: types.PrimitiveType, *arrays: Any) -> HyperLogLog:
    builder = HyperLogLogBuilder()
    for array in arrays:
        builder.add(type_, array)
    return builder.finish()


@pytest.mark.parametrize("count", [0, 1, 153, 154, 5_000])
def test_whole_numbers_sparse_and_dense(count: int) -> None:
    values = np.arange(count, dtype=np.int64) * 7_919 - 1_000
    made = built(types.LongType(), pa.array(values[: count // 3]), pa.array(values[count // 3 :]))
    assert made == HyperLogLog.of(hash_longs(values))
    assert HyperLogLog.parse(made.serialize()) == made


def test_longs_ints_and_dates_are_hashed_as_numbers() -> None:
    known = [v for v in LONGS if v is not None]
    assert built(types.LongType(), pa.array(LONGS, pa.int64())) == HyperLogLog.of(hash_longs(np.array(known)))
    ints = HyperLogLog.of(hash_longs(np.array([5, -7])))
    assert built(types.IntType(), pa.array([None, 5, -7], pa.int32())) == ints
    days = pa.array([date(1970, 1, 6), date(1969, 12, 25), None])
    assert built(types.DateType(), days) == ints


def test_timestamps_are_hashed_in_seconds_rounded_down() -> None:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    moments = [start + timedelta(microseconds=m) for m in (5_999_999, -6_000_001)]
    expected = HyperLogLog.of(hash_longs(np.array([5, -7])))
    assert built(types.TimestamptzType(), pa.array([None, *moments], pa.timestamp("us", "UTC"))) == expected
    nanos = pa.array([5_999_999_999, -6_000_000_001], pa.timestamp("ns"))
    assert built(types.TimestampNsType(), nanos) == expected


@pytest.mark.parametrize(("unit", "divisor"), [("us", 10**6), ("ns", 10**9)])
def test_seconds_are_rounded_down_over_the_whole_range(unit: str, divisor: int) -> None:
    random = np.random.default_rng(7)
    near = random.integers(-(2**63) // divisor + 1, 2**63 // divisor, 3_000) * divisor
    wide = random.integers(-(2**63), 2**63 - 1, 3_000, endpoint=True)
    values = np.concatenate([near, near - 1, near + 1, wide, [-(2**63), 2**63 - 1, -1, 0, divisor - 1, -divisor]])
    type_ = types.TimestampType() if unit == "us" else types.TimestampNsType()
    for part in (values, values[-6:]):
        made = built(type_, pa.array(part).view(pa.timestamp(unit)))
        assert made == HyperLogLog.of(hash_longs(part // divisor))


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 400)), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_batches_of_any_size_come_to_the_same(parts: list[tuple[int, int]]) -> None:
    """Few values and many, before and after a sketch is full, over the ends of blocks."""
    arrays = [np.arange(count, dtype=np.int64) % distinct * 977 for count, distinct in parts]
    assert built(types.LongType(), *map(pa.array, arrays)) == HyperLogLog.of(hash_longs(np.concatenate(arrays)))


def test_floats_and_decimals_are_hashed_as_doubles() -> None:
    known = np.array([v for v in DOUBLES if v is not None])
    assert built(types.DoubleType(), pa.array(DOUBLES)) == HyperLogLog.of(hash_doubles(known))
    singles = pa.array([0.1, None, 2.5], pa.float32())
    as_wide = np.array([0.1, 2.5], np.float32).astype(np.float64)
    assert built(types.FloatType(), singles) == HyperLogLog.of(hash_doubles(as_wide))
    decimals = [None if v is None else Decimal(v) for v in DECIMALS]
    as_doubles = np.array([float(v) for v in decimals if v is not None])
    column = pa.array([Decimal(1), *decimals], pa.decimal128(38, 2))[1:]
    assert built(types.DecimalType(38, 2), column) == HyperLogLog.of(hash_doubles(as_doubles))


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string()])
def test_texts_count_the_empty_one_as_well(layout: pa.DataType) -> None:
    column = pa.array(["before", *TEXTS], layout)[1:]
    assert built(types.StringType(), column) == HyperLogLog.of(hash_texts(pa.array(TEXTS, layout).drop_null()))


@pytest.mark.parametrize("layout", [pa.uuid(), pa.binary(16)])
def test_a_uuid_is_hashed_as_the_text_that_hive_takes_it_for(layout: pa.DataType) -> None:
    given = [UUID(int=number * 0x1234567890ABCDEF01234567) for number in range(1, 400)]
    stored = pa.array([b"before".ljust(16), *(one.bytes for one in given), None], pa.binary(16))
    column = pa.ExtensionArray.from_storage(layout, stored) if layout == pa.uuid() else stored
    expected = HyperLogLog.of(hash_texts(pa.array([str(one) for one in given])))
    assert built(types.UuidType(), column[1:40], column[40:]) == expected


@settings(deadline=None)
@given(texts=st.lists(st.text(max_size=20), max_size=400), start=st.integers(0, 3))
def test_texts_of_any_length_are_hashed_to_their_last_byte(texts: list[str], start: int) -> None:
    column = pa.array(texts, pa.string())[start:]
    assert built(types.StringType(), column) == HyperLogLog.of(hash_texts(column))


@settings(deadline=None)
@given(values=st.lists(st.integers(-200, 200) | st.integers(-(2**63), 2**63 - 1), max_size=600))
def test_numbers_that_come_again_change_nothing(values: list[int]) -> None:
    column = np.array(values, np.int64)
    made = built(types.LongType(), pa.array(column), pa.array(column[::-1].copy()))
    assert made == HyperLogLog.of(hash_longs(column))
    seconds = column // 1_000_000
    assert built(types.TimestampType(), pa.array(column).view(pa.timestamp("us"))) == HyperLogLog.of(
        hash_longs(seconds)
    )
