"""Projections through every transform: exact expected predicates on the partition tuple."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.support.predicate_schema import SALES, sql

from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
)
from skipstone.predicate import evaluate, project_inclusive, project_strict

BUCKET = BucketTransform(16)
DAY_US = 86_400_000_000


def spec(name: str, transform: Transform) -> PartitionSpec:
    source = SALES.field(name).id
    return PartitionSpec(
        spec_id=0, fields=(PartitionField(source_ids=(source,), field_id=1000, name="p", transform=transform),)
    )


@pytest.mark.parametrize(
    ("column", "transform", "text", "inclusive", "strict"),
    [
        # identity: the leaf itself
        ("id", IDENTITY, "id < 5", "p < 5", "p < 5"),
        ("big", IDENTITY, "big IS NULL", "p IS NULL", "p IS NULL"),
        ("region", IDENTITY, "region LIKE 'a%b'", "p LIKE 'a%b'", "p LIKE 'a%b'"),
        ("ts", IDENTITY, "days(ts) = DATE '1970-01-02'", "day(p) = 1", "day(p) = 1"),
        # bucket: equality only
        ("big", BUCKET, "big = 34", "p = 3", "false"),
        ("big", BUCKET, "big != 34", "true", "p != 3"),
        ("big", BUCKET, "big IN (34, 35, 36)", "p IN (3, 5, 14)", "false"),
        ("big", BUCKET, "big NOT IN (34, 35, 36)", "true", "p NOT IN (3, 5, 14)"),
        ("big", BUCKET, "big < 34", "true", "false"),
        ("big", BUCKET, "big IS NULL", "p IS NULL", "p IS NULL"),
        ("big", BUCKET, "bucket(16, big) = 3", "p = 3", "p = 3"),
        ("big", BUCKET, "bucket(8, big) = 3", "true", "false"),
        # truncate of numbers; near the ends results wrap around in other writers
        ("big", TruncateTransform(16), "big = 34", "p = 32", "false"),
        ("big", TruncateTransform(16), "big < 32", "p <= 16", "p < 32"),
        ("big", TruncateTransform(16), "big <= 31", "p <= 16", "p < 32"),
        ("big", TruncateTransform(16), "big <= 34", "p <= 32", "p < 32"),
        ("big", TruncateTransform(16), "big > 31", "p >= 32", "p > 16"),
        ("big", TruncateTransform(16), "big >= 34", "p >= 32", "p > 32"),
        ("big", TruncateTransform(16), "big >= -1", "p >= -16", "p > -16"),
        ("big", TruncateTransform(10), "big < 20", f"p <= 10 OR p > {2**63 - 8}", "p < 20"),
        ("big", TruncateTransform(10), "big > 20", "p >= 20", f"p > 20 AND p <= {2**63 - 8}"),
        ("big", TruncateTransform(10), f"big = {-(2**63)}", "true", "false"),
        ("big", TruncateTransform(10), "truncate(10, big) = 20", "p = 20", "p = 20"),
        ("price", TruncateTransform(50), "price = 10.65", "p = 10.50", "false"),
        ("price", TruncateTransform(50), "price < 10.50", "p <= 10.00", "p < 10.50"),
        ("price", TruncateTransform(50), "price = -9999999.99", "true", "false"),
        # truncate of text
        ("region", TruncateTransform(2), "region = 'abc'", "p = 'ab'", "false"),
        ("region", TruncateTransform(2), "region < 'abc'", "p <= 'ab'", "p < 'ab'"),
        ("region", TruncateTransform(2), "region > 'abc'", "p >= 'ab'", "p > 'ab'"),
        ("region", TruncateTransform(2), "startswith(region, 'a')", "p STARTS WITH 'a'", "p STARTS WITH 'a'"),
        ("region", TruncateTransform(2), "startswith(region, 'abc')", "p = 'ab'", "false"),
        ("region", TruncateTransform(2), "region NOT LIKE 'a%'", "p NOT STARTS WITH 'a'", "p NOT STARTS WITH 'a'"),
        ("region", TruncateTransform(2), "region NOT LIKE 'abc%'", "true", "p != 'ab'"),
        ("region", TruncateTransform(2), "region LIKE 'a%c'", "p STARTS WITH 'a'", "false"),
        ("region", TruncateTransform(2), "region LIKE '%c'", "true", "false"),
        ("region", TruncateTransform(2), "startswith(region, '😀😀😀')", "p = '😀😀'", "false"),
        ("region", TruncateTransform(2), "startswith(region, '😀😀')", "p STARTS WITH '😀😀'", "p STARTS WITH '😀😀'"),
        # time: floors; below 1970 other writers stored results one too high
        ("ts", DAY, "ts < '1970-01-03'", "p <= 1", "p < 2"),
        ("ts", DAY, "ts <= '1970-01-03'", "p <= 2", "p < 2"),
        ("ts", DAY, "ts > '1970-01-03'", "p >= 2", "p > 2"),
        ("ts", DAY, "ts >= '1970-01-03'", "p >= 2", "p > 1"),
        ("ts", DAY, "ts = '1970-01-03 10:00:00'", "p = 2", "false"),
        ("ts", DAY, "ts != '1970-01-03 10:00:00'", "true", "p != 2"),
        ("ts", DAY, "ts = '1969-12-31 10:00:00'", "p IN (-1, 0)", "false"),
        ("ts", DAY, "ts != '1969-12-31 10:00:00'", "true", "p NOT IN (-1, 0)"),
        ("ts", DAY, "ts < '1969-12-31'", "p <= -1", "p < -1"),
        ("ts", DAY, "ts > '1969-12-31 10:00:00'", "p >= -1", "p > 0"),
        ("ts", DAY, "days(ts) = DATE '1970-01-03'", "p = 2", "p = 2"),
        ("ts", DAY, "year(ts) = 1971", "p >= 365 AND p <= 729", "p > 364 AND p < 730"),
        ("ts", YEAR, "ts >= '1971-01-01'", "p >= 1", "p > 0"),
        ("ts", YEAR, "days(ts) = DATE '1971-03-01'", "p >= 1 AND p <= 1", "p > 1 AND p < 1"),
        ("ts", MONTH, "ts < '1970-03-01'", "p <= 1", "p < 2"),
        ("ts", HOUR, "ts >= '1970-01-01 05:30:00'", "p >= 5", "p > 5"),
        ("d", MONTH, "d = '1970-02-10'", "p = 1", "false"),
        ("ns", DAY, "ns < '1970-01-02'", "p <= 0", "p < 1"),
        # the day of a date is the date, which nobody rounded
        ("d", DAY, "d < '1969-12-31'", "p <= -2", "p < -1"),
        ("d", DAY, "d > '1969-12-31'", "p >= 0", "p > -1"),
        ("d", DAY, "d = '1582-10-14'", "p = -141428", "false"),
        ("d", DAY, "d != '1582-10-14'", "true", "p != -141428"),
        ("d", MONTH, "d < '1969-12-01'", "p <= -1", "p < -1"),
        # nothing to say
        ("big", VOID, "big = 5", "true", "false"),
        ("big", VOID, "big IS NULL", "true", "false"),
        ("big", UnknownTransform("zorder"), "big = 5", "true", "false"),
        ("region", IDENTITY, "big = 5", "true", "false"),
    ],
)  # fmt: skip
def test_projection(column: str, transform: Transform, text: str, inclusive: str, strict: str) -> None:
    by = spec(column, transform)
    assert str(project_inclusive(sql(text), by, SALES)) == inclusive
    assert str(project_strict(sql(text), by, SALES)) == strict


def test_field_of_several_sources_says_nothing() -> None:
    field = PartitionField(source_ids=(1, 2), field_id=1000, name="p", transform=UnknownTransform("zorder[2]"))
    several = PartitionSpec(spec_id=0, fields=(field,))
    assert str(project_inclusive(sql("id = 5 AND big = 5"), several, SALES)) == "true"
    assert str(project_strict(sql("big = 5"), several, SALES)) == "false"


def test_fields_on_one_column_are_all_used() -> None:
    fields = tuple(
        PartitionField(source_ids=(18,), field_id=1000 + i, name=str(t), transform=t) for i, t in enumerate((YEAR, DAY))
    )
    both = PartitionSpec(spec_id=0, fields=fields)
    assert str(project_inclusive(sql("ts >= '1971-01-02'"), both, SALES)) == "year >= 1 AND day >= 366"
    assert str(project_strict(sql("ts >= '1971-01-02'"), both, SALES)) == "year > 1 OR day > 365"


def test_connectors_are_kept() -> None:
    by = spec("big", BUCKET)
    assert str(project_inclusive(sql("big = 34 OR region = 'x'"), by, SALES)) == "true"
    assert str(project_inclusive(sql("big = 34 AND region = 'x'"), by, SALES)) == "p = 3"


@pytest.mark.parametrize("text", ["ts > '290000-01-01'", "ts < '290000-01-01'", "hours(ts) > 2147483000"])
def test_results_beyond_their_type_are_left_out(text: str) -> None:
    """Hours of far timestamps leave int, so nothing is said about them."""
    for transform in (HOUR, DAY, YEAR):
        for projected in (project_inclusive(sql(text), spec("ts", transform), SALES),):
            for leaf in getattr(projected, "children", (projected,)):
                assert -(2**31) <= getattr(leaf, "value", 0) < 2**31


def test_year_far_outside_the_column_folds() -> None:
    by = spec("ns", DAY)
    assert str(project_inclusive(sql("year(ns) = 5000"), by, SALES)) == "false"
    assert evaluate(project_inclusive(sql("year(ns) < 5000"), by, SALES), {1000: 5}) is True


def test_decimal_step_keeps_the_scale() -> None:
    assert Decimal("10.49").as_tuple().exponent == -2
    projected = project_inclusive(sql("price < 10.50"), spec("price", TruncateTransform(1)), SALES)
    assert str(projected) == "p <= 10.49"
