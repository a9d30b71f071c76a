"""What is left to check on the rows of one partition."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.predicate_schema import SALES, sql

from skipstone.metadata.partitions.partitioning import UNPARTITIONED, PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import DAY, IDENTITY, VOID, BucketTransform, Transform, UnknownTransform
from skipstone.predicate import FloatOrder, residual


def spec(name: str, transform: Transform) -> PartitionSpec:
    source = SALES.field(name).id
    return PartitionSpec(
        spec_id=0, fields=(PartitionField(source_ids=(source,), field_id=1000, name="p", transform=transform),)
    )


@pytest.mark.parametrize(
    ("column", "transform", "value", "text", "left"),
    [
        ("region", IDENTITY, "x", "region = 'x' AND big > 5", "big > 5"),
        ("region", IDENTITY, "y", "region = 'x' AND big > 5", "false"),
        ("region", IDENTITY, "y", "region = 'x' OR big > 5", "big > 5"),
        ("region", IDENTITY, "x", "region = 'x' OR big > 5", "true"),
        ("region", IDENTITY, None, "region = 'x'", "false"),
        ("region", IDENTITY, None, "region IS NULL", "true"),
        ("region", IDENTITY, None, "region != 'x'", "false"),
        ("region", IDENTITY, None, "region IS NULL OR region = 'x'", "true"),
        ("region", IDENTITY, "apple", "region LIKE 'ap%e'", "true"),
        ("ts", DAY, 2, "ts >= '1970-01-03'", "true"),
        ("ts", DAY, 2, "ts >= '1970-01-03 10:00:00'", "ts >= 208800000000"),
        ("ts", DAY, 1, "ts >= '1970-01-03 10:00:00'", "false"),
        ("ts", DAY, 2, "days(ts) = DATE '1970-01-03'", "true"),
        ("ts", DAY, 2, "days(ts) = DATE '1970-01-04'", "false"),
        ("ts", DAY, -1, "ts >= '1969-12-31'", "ts >= -86400000000"),
        ("big", BucketTransform(16), 3, "big = 34", "big = 34"),
        ("big", BucketTransform(16), 4, "big = 34", "false"),
        ("big", BucketTransform(16), 4, "big != 34", "true"),
        ("big", VOID, None, "big = 34", "big = 34"),
        ("big", VOID, None, "big IS NULL", "big IS NULL"),
        ("big", UnknownTransform("zorder"), 5, "big = 34", "big = 34"),
        ("x", IDENTITY, -0.0, "x = 0.0", "true"),
        ("x", IDENTITY, float("nan"), "x > 5", "true"),
    ],
)  # fmt: skip
def test_residual(column: str, transform: Transform, value: Any, text: str, left: str) -> None:
    assert str(residual(sql(text), spec(column, transform), SALES, {1000: value})) == left


def test_nan_partition_under_ieee_order() -> None:
    by = spec("x", IDENTITY)
    assert str(residual(sql("x > 5"), by, SALES, {1000: float("nan")}, FloatOrder.IEEE)) == "false"


def test_unpartitioned_leaves_everything() -> None:
    predicate = sql("region = 'x' AND big > 5")
    assert residual(predicate, UNPARTITIONED, SALES, {}) == predicate
