"""Theta sketches: hashes bit for bit those of other implementations, unions, the compact form, and damage."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

import datasketches
import mmh3
import numpy as np
import pyarrow as pa
import pytest

from skipstone.errors import FormatViolation, Unsupported
from skipstone.metadata import types as t
from skipstone.metadata.formats.arrow_types import to_arrow_type, values_to_array
from skipstone.stats import theta_hash
from skipstone.stats.theta import NOMINAL_ENTRIES, ThetaBuilder, ThetaSketch, parse_theta, union
from skipstone.stats.theta_hash import hash_array, hash_value

NAN = float("nan")
CASES: list[tuple[Any, list[Any]]] = [
    (t.BOOLEAN, [True, False, None]),
    (t.INT, [0, -1, 2**31 - 1, None]),
    (t.LONG, [0, -1, 2**63 - 1, -(2**63)]),
    (t.FLOAT, [0.0, -0.0, 1.5, NAN, float("inf"), None]),
    (t.DOUBLE, [0.0, -0.0, 1.5, NAN, float("-inf")]),
    (t.DATE, [0, -719162, 20000]),
    (t.TIME, [0, 86_399_999_999]),
    (t.TIMESTAMP, [0, -1, 1_700_000_000_000_000]),
    (t.TIMESTAMPTZ_NS, [5, -5]),
    (t.STRING, ["a", "", "übersee 🌊", "x" * 15, "x" * 16, "x" * 17, "y" * 100, None]),
    (t.BINARY, [b"\x00", b"", b"\xff" * 33]),
    (t.FixedType(4), [b"\x00\x01\x02\x03"]),
    (t.UUID, [uuid.UUID(int=7), uuid.UUID(int=2**127)]),
    (t.DecimalType(9, 2), [decimal.Decimal("-1.28"), decimal.Decimal("1.28"), decimal.Decimal("0.00")]),
    (t.DecimalType(38, 10), [decimal.Decimal(10) ** 27, -(decimal.Decimal(10) ** 27), decimal.Decimal(1).scaleb(-10)]),
]


@pytest.mark.parametrize(("type_", "values"), CASES, ids=lambda c: str(c) if isinstance(c, t.PrimitiveType) else "")
@pytest.mark.parametrize("is_compiled", [False, True])
def test_columns_hash_value_by_value_as_single_values_do(
    type_: Any, values: list[Any], is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theta_hash, "_is_compiled", lambda count: is_compiled)
    array = values_to_array(type_, values)
    for start in (0, 1):
        expected = {hash_value(type_, v) for v in values[start:]} - {None}
        assert set(hash_array(type_, array.slice(start)).tolist()) == expected


def test_hashes_are_those_of_murmur_with_the_seed_of_sketches() -> None:
    data = (5).to_bytes(8, "little")
    assert hash_value(t.LONG, 5) == int.from_bytes(mmh3.hash_bytes(data, 9001)[:8], "little") >> 1
    assert hash_value(t.INT, 5) != hash_value(t.LONG, 5)


def test_all_nans_are_one_value_and_zeros_are_two() -> None:
    other_nan = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    array = pa.array([*other_nan.tolist(), NAN, 0.0, -0.0])
    assert len(set(hash_array(t.DOUBLE, array).tolist())) == 3


@pytest.mark.parametrize("type_", [t.VARIANT, t.UNKNOWN, t.GeometryType()])
def test_types_without_a_common_serialization_are_refused(type_: Any) -> None:
    with pytest.raises(Unsupported, match="Cannot count distinct values"):
        hash_array(type_, pa.nulls(1, to_arrow_type(type_)))


@pytest.mark.parametrize("count", [0, 1, 2, 100, NOMINAL_ENTRIES, NOMINAL_ENTRIES + 1, 200_000])
def test_the_library_reads_our_sketches_and_we_read_its(count: int) -> None:
    ours = sketch_of(range(count))
    theirs = datasketches.compact_theta_sketch.deserialize(ours.serialize())
    assert theirs.get_estimate() == pytest.approx(ours.estimate, rel=1e-12)
    assert parse_theta(theirs.serialize()) == ours
    assert ours.is_exact == (count <= NOMINAL_ENTRIES)


def test_a_union_is_the_sketch_of_all_values() -> None:
    parts = [sketch_of(range(i * 5_000, i * 5_000 + 9_000)) for i in range(6)]
    whole = sketch_of(range(34_000))
    joined = union(parts)
    assert joined.theta <= whole.theta
    assert set(joined.hashes.tolist()) <= set(whole.hashes.tolist())
    assert joined.estimate == pytest.approx(34_000, rel=5 * joined.error)
    assert union([sketch_of(range(9)), sketch_of(range(5, 20))]) == sketch_of(range(20))
    assert union([]) == ThetaSketch()


def test_a_sketch_of_another_nominal_size_joins_ours() -> None:
    theirs = datasketches.update_theta_sketch(12)
    for i in range(50_000):
        theirs.update(i)
    joined = union([parse_theta(theirs.compact().serialize()), sketch_of(range(25_000, 75_000))])
    assert joined.estimate == pytest.approx(75_000, rel=5 * joined.error)


def test_ten_million_distinct_values_are_counted_within_two_percent() -> None:
    builder = ThetaBuilder()
    for start in range(0, 10_000_000, 500_000):
        builder.add(t.LONG, pa.array(np.arange(start, start + 500_000)))
    sketch = builder.finish()
    assert abs(sketch.ndv - 10_000_000) < 200_000
    assert sketch.error < 0.008
    low, high = sketch.within(3)
    assert low < 10_000_000 < high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b[:4], "at least 8 bytes"),
        (lambda b: b[:2] + b"\x09" + b[3:], "family"),
        (lambda b: b[:6] + b"\x00\x00" + b[8:], "seed hash"),
        (lambda b: b[:-3], "hashes of 8 bytes"),
        (lambda b: b[:16] + b[24:32] + b[24:], "different hashes"),
        (lambda b: b"\x07" + b[1:], "words before the hashes"),
        (lambda b: b[:1] + b"\x02" + b[2:20], "Invalid"),
    ],
)
def test_damaged_sketches_are_one_clear_error(change: Any, message: str) -> None:
    with pytest.raises(FormatViolation, match=message):
        parse_theta(change(sketch_of(range(10)).serialize()), source="blob")


def sketch_of(values: Any) -> ThetaSketch:
    builder = ThetaBuilder()
    builder.add(t.LONG, pa.array(list(values), pa.int64()))
    return builder.finish()


def test_moments_hash_as_whole_numbers() -> None:
    moment = pa.array([dt.datetime(2026, 11, 16, tzinfo=dt.UTC)], pa.timestamp("us", tz="UTC"))
    assert hash_array(t.TIMESTAMPTZ, moment).tolist() == [hash_value(t.LONG, moment.cast(pa.int64())[0].as_py())]


def test_a_sketch_keeps_the_smallest_hashes_however_often_values_come() -> None:
    random = np.random.default_rng(3)
    for distinct in (5_000, 20_000, 100_000, 1_000_000):
        builder, seen = ThetaBuilder(), set()
        for _ in range(4):
            batch = pa.array(random.integers(0, distinct, 60_000))
            seen.update(hash_array(t.LONG, batch).tolist())
            builder.add(t.LONG, batch)
        sketch, smallest = builder.finish(), sorted(seen)
        is_full = len(smallest) > NOMINAL_ENTRIES
        assert sketch.is_exact == (not is_full)
        if not is_full:
            assert sketch.hashes.tolist() == smallest
            continue
        assert sketch.theta == smallest[NOMINAL_ENTRIES]
        assert sketch.hashes.tolist() == smallest[:NOMINAL_ENTRIES]


@pytest.mark.parametrize("precision", [18, 38])
def test_decimals_of_every_length_hash_as_their_fewest_bytes(precision: int) -> None:
    random = np.random.default_rng(5)
    type_ = t.DecimalType(precision, 2)
    edges = [sign * (1 << bits) + near for bits in range(59) for near in (-1, 0, 1) for sign in (1, -1)]
    unscaled = [*edges, *(random.integers(-(10**17), 10**17, 5_000) >> random.integers(0, 56, 5_000)).tolist()]
    values = [decimal.Decimal(number).scaleb(-2) for number in unscaled]
    found = hash_array(type_, pa.array(values, to_arrow_type(type_)))
    assert found.tolist() == [hash_value(type_, value) for value in values]
