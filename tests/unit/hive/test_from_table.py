"""Our statistics in Hive's form: what is rounded or lost, and only there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from skipstone.hive.from_table import hive_statistics
from skipstone.hive.types import Kind
from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimeType,
    UuidType,
)
from skipstone.stats.column_statistics import ColumnStatistics
from skipstone.stats.labels import Accuracy, Labelled


def ours(type_: PrimitiveType, **facts: Any) -> ColumnStatistics:
    labelled = {name: Labelled(value, Accuracy.EXACT) for name, value in facts.items()}
    labelled.setdefault("value_count", Labelled(6, Accuracy.EXACT))
    labelled.setdefault("null_count", Labelled(1, Accuracy.EXACT))
    return ColumnStatistics(field_id=1, name="c", type=type_, **labelled)


@pytest.mark.parametrize(
    ("type_", "low", "high", "expected"),
    [
        (LongType(), -(2**63), 2**63 - 1, (-(2**63), 2**63 - 1)),
        (DateType(), -1, 18628, (-1, 18628)),
        (TimestampType(), -500_000, 1_609_459_201_999_999, (-1, 1609459201)),
        (DoubleType(), -2.5, 9.5, (-2.5, 9.5)),
        (DecimalType(10, 2), Decimal("-3.10"), Decimal("100.00"), (Decimal("-3.1"), Decimal("100"))),
        (
            DecimalType(38, 38),
            Decimal("-0." + "9" * 38),
            Decimal("0." + "0" * 37 + "1"),
            (Decimal("-0." + "9" * 38), Decimal("0." + "0" * 37 + "1")),
        ),
        (
            DecimalType(38, 0),
            Decimal("-" + "9" * 38),
            Decimal("1" + "0" * 37),
            (Decimal("-" + "9" * 38), Decimal("1" + "0" * 37)),
        ),
        (DecimalType(38, 2), Decimal("0.00"), Decimal("0.00"), (Decimal(0), Decimal(0))),
    ],
)
def test_bounds_are_given_as_hive_gives_them(type_: PrimitiveType, low: Any, high: Any, expected: Any) -> None:
    found = hive_statistics(ours(type_, low=low, high=high, ndv=4))
    assert found is not None
    assert (found.low, found.high) == expected
    assert (found.num_nulls, found.num_distincts) == (1, 4)
    if type_ != DecimalType(38, 38):
        assert "E" not in str(found.high)


def test_a_null_counts_as_a_text_of_length_zero() -> None:
    found = hive_statistics(ours(StringType(), average_length=6.0, max_length=10, ndv=4))
    assert found is not None
    assert (found.avg_length, found.max_length) == (5.0, 10)


def test_an_average_is_the_whole_length_divided_once() -> None:
    found = hive_statistics(
        ours(StringType(), average_length=29 / 7, max_length=10, ndv=4, value_count=8),
    )
    assert found is not None
    assert found.avg_length == 29 / 8 != 29 / 7 * 7 / 8


def test_nan_and_infinity_leave_nothing_as_in_hive() -> None:
    assert hive_statistics(ours(DoubleType(), low=1.0, high=2.0, nan_count=1)) is None
    assert hive_statistics(ours(DoubleType(), low=1.0, high=float("inf"))) is None


def test_a_column_of_nulls_has_one_distinct_value_and_no_bounds() -> None:
    found = hive_statistics(ours(LongType(), null_count=6))
    assert found is not None
    assert (found.low, found.high, found.num_nulls, found.num_distincts) == (None, None, 6, 1)


def test_a_type_that_hive_lacks_is_text_there() -> None:
    found = hive_statistics(ours(UuidType(), ndv=3))
    assert found is not None
    assert (found.type, found.kind) == ("string", Kind.STRING)
    assert (found.avg_length, found.max_length) == (30.0, 36)
    fixed = hive_statistics(ours(FixedType(12)))
    assert fixed is not None
    assert (fixed.type, fixed.avg_length, fixed.max_length) == ("binary", 10.0, 12)


@pytest.mark.parametrize("type_", [TimeType(), StringType(), BinaryType(), LongType(), BooleanType()])
def test_what_is_not_known_is_not_given_as_zero(type_: PrimitiveType) -> None:
    assert hive_statistics(ours(type_)) is None
