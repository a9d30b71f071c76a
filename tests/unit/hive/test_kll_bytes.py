"""A sketch of doubles and its bytes as one of floats tell the same ranks."""

from __future__ import annotations

import datasketches
import numpy as np
import pytest

from skipstone.errors import FormatViolation
from skipstone.hive.kll_bytes import parse_doubles

SIZES = [1, 2, 7, 199, 200, 201, 1000, 12_345, 300_000]


def sketch(size: int) -> datasketches.kll_doubles_sketch:
    made = datasketches.kll_doubles_sketch(200)
    made.update(np.random.default_rng(size).permutation(size).astype(np.float64))
    return made


@pytest.mark.parametrize("size", SIZES)
def test_as_floats_every_rank_stays(size: int) -> None:
    doubles = sketch(size)
    values = parse_doubles(doubles.serialize())
    assert values is not None
    floats = datasketches.kll_floats_sketch.deserialize(values.serialize_floats())
    assert bytes(floats.serialize()) == values.serialize_floats()
    assert (floats.n, floats.num_retained) == (size, doubles.num_retained)
    assert (floats.get_min_value(), floats.get_max_value()) == (0.0, size - 1.0)
    for value in np.linspace(-1, size, 50):
        assert floats.get_rank(float(np.float32(value))) == doubles.get_rank(float(np.float32(value)))


@pytest.mark.parametrize("size", SIZES)
def test_a_sketch_of_one_value_in_eight_is_one_of_all(size: int) -> None:
    doubles = sketch(size)
    values = parse_doubles(doubles.serialize())
    assert values is not None
    data = values.raised(3).serialize_floats()
    floats = datasketches.kll_floats_sketch.deserialize(data)
    assert floats.n == 8 * size
    assert floats.get_rank(size / 3) == doubles.get_rank(size / 3)
    # It takes part in everything that sketches do.
    other = datasketches.kll_floats_sketch(200)
    other.update(np.full(8 * size, 2.0 * size, np.float32))
    other.merge(floats)
    assert other.n == 16 * size
    assert other.get_rank(1.5 * size) == pytest.approx(0.5, abs=0.0165)


@pytest.mark.parametrize("size", [12_345, 300_000])
@pytest.mark.parametrize("difference", [-9, -8, -5, -1, 0, 1, 2, 7, 13])
def test_a_sample_is_made_to_count_for_exactly_so_many_values(size: int, difference: int) -> None:
    doubles = sketch(size)
    values = parse_doubles(doubles.serialize())
    assert values is not None
    data = values.raised(3).counting(8 * size + difference).serialize_floats()
    floats = datasketches.kll_floats_sketch.deserialize(data)
    assert floats.n == 8 * size + difference
    assert bytes(floats.serialize()) == data
    for share in (0.1, 0.5, 0.9):
        assert floats.get_rank(size * share) == pytest.approx(doubles.get_rank(size * share), abs=0.0002)


def test_a_sketch_of_quite_another_number_of_values_stays_as_it_is() -> None:
    values = parse_doubles(sketch(1000).serialize())
    assert values is not None
    assert values.counting(1100) is values
    assert values.counting(1000) is values


def test_an_empty_sketch_has_no_values_and_a_damaged_one_is_refused() -> None:
    assert parse_doubles(datasketches.kll_doubles_sketch(200).serialize()) is None
    good = bytes(sketch(1000).serialize())
    for bad in (b"", good[:7], good[:19], good[:100], good[:-1], b"\5\1\7" + good[3:], good[:8] + b"\1" + good[9:]):
        with pytest.raises(FormatViolation, match="Invalid quantiles sketch"):
            parse_doubles(bad)
