"""Numbers as keys: sorted as bounds are, and each giving back its value."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skipstone.analysis.collect import ColumnCollector, Wishes
from skipstone.metadata import types as t
from skipstone.metadata.formats.arrow_types import arrow_to_value, to_arrow_type
from skipstone.metadata.values import serialize_value
from skipstone.stats.heavy_values import KEPT_MAX, HeavyBuilder
from skipstone.stats.number_keys import has_keys, key_bytes, key_doubles, keys_of, without_nans
from skipstone.stats.quantiles import RANK_ERROR, as_doubles
from skipstone.stats.sampling import SAMPLE_STRIDES, STRIDE_MAX, Sampler
from skipstone.stats.sorted_numbers import run_starts

VALUES: list[tuple[t.PrimitiveType, list[Any]]] = [
    (t.INT, [3, -(2**31), 2**31 - 1, 0, 3]),
    (t.LONG, [3, -(2**63), 2**63 - 1, 0, -1, 3]),
    (t.DOUBLE, [0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -1.5, 5e-324, math.nan]),
    (t.FLOAT, [0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -1.5]),
    (t.DATE, [0, -1, 20_000]),
    (t.TIMESTAMPTZ, [0, -1, 1_700_000_000_000_000]),
    (t.DecimalType(18, 2), [Decimal("0.00"), Decimal("-9999999999999999.99"), Decimal("1.28"), Decimal("-1.28")]),
]


@pytest.mark.parametrize(("type_", "values"), VALUES, ids=str)
def test_a_key_gives_back_its_value_and_sorts_as_bounds_do(type_: t.PrimitiveType, values: list[Any]) -> None:
    array = pa.array(values, to_arrow_type(type_)).slice(1)
    keys = keys_of(type_, array)
    assert has_keys(type_)
    assert key_bytes(type_, keys) == [serialize_value(type_, arrow_to_value(type_, v)) for v in array]
    ordered = np.sort(keys)
    doubles = key_doubles(type_, without_nans(type_, ordered))
    assert doubles.tolist() == pytest.approx(np.sort(as_doubles(type_, array)).tolist())
    assert bool((np.diff(doubles) >= 0).all())


def test_wide_decimals_and_text_have_no_keys() -> None:
    assert not any(has_keys(type_) for type_ in (t.DecimalType(19, 2), t.STRING, t.BOOLEAN, t.UUID))


@pytest.mark.parametrize("count", [0, 1, 100, 20_000])
@pytest.mark.parametrize("span", [1, 7, 2**11, 2**63 - 1])
def test_runs_of_equal_numbers_begin_where_each_is_seen_first(count: int, span: int) -> None:
    random = np.random.default_rng(count)
    for numbers in (random.integers(-span, span, count), random.integers(0, span, count, np.uint64)):
        ordered = np.sort(numbers)
        _, first = np.unique(ordered, return_index=True)
        assert run_starts(ordered).tolist() == first.tolist()


@pytest.mark.parametrize("rows", [1_000, 80_000, SAMPLE_STRIDES[-1][0], SAMPLE_STRIDES[1][0]])
def test_quantiles_and_frequent_values_of_numbers_keep_their_errors(rows: int) -> None:
    random = np.random.default_rng(5)
    values = np.where(random.random(rows) < 0.3, random.integers(0, 20, rows), random.integers(0, 10**6, rows))
    collector = ColumnCollector(1, t.LONG, rows, Wishes())
    for piece in np.array_split(values, 3):
        collector.add(pa.array(piece))
    found = collector.finish()
    ordered = np.sort(values)
    assert found.quantiles is not None and found.heavy is not None
    for q in (0.05, 0.3, 0.5, 0.9):
        value = found.quantiles.quantiles([q])[0]
        below, upto = (np.searchsorted(ordered, value, side) / rows for side in ("left", "right"))
        assert below - RANK_ERROR <= q <= upto + RANK_ERROR
    true = np.bincount(values[values < 20], minlength=20)
    stride = Sampler(rows).stride
    for value, count in enumerate(true.tolist()):
        listed = found.heavy.counts.get(serialize_value(t.LONG, value), 0)
        slack = 0 if stride == 1 else 4 * math.sqrt(count * stride) + stride
        assert listed - slack <= count <= listed + found.heavy.error + slack
    assert found.heavy.is_sampled == (stride > 1) and stride <= STRIDE_MAX


def test_many_values_that_are_all_frequent_are_listed_within_their_error() -> None:
    values = np.repeat(np.arange(3 * KEPT_MAX), 5_000)
    builder = HeavyBuilder(t.LONG, 1)
    builder.add_sorted(values, 1)
    found = builder.finish()
    assert all(count <= 5_000 <= count + found.error for count in found.counts.values())
    assert found.error >= 5_000 or len(found.counts) == 3 * KEPT_MAX
