"""The rules of min-max skipping, each with the exact set of zones that is left to read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.support.zones import bounds_array

from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DATE, LONG, STRING, Field
from skipstone.metadata.values import from_python
from skipstone.predicate import bind, parse_sql
from skipstone.zones import ColumnFacts, ZoneMap, judge

SCHEMA = Schema(
    fields=(
        Field(id=1, name="a", type=LONG, required=False),
        Field(id=2, name="b", type=STRING, required=False),
        Field(id=3, name="d", type=DATE, required=False),
    )
)
A = [(1, 10), (11, 20), (15, 30), (20, 20), (31, 40), None]
B = [("AT", "DE"), ("EU", "EU"), ("EU", "US"), ("FR", "IT"), ("AA", "ZZ"), ("EU", "EU")]
NULLS = [0, 3, 0, 0, 1, 10]
ROWS = 10


def zones() -> ZoneMap:
    rows = pa.array([ROWS] * 6, pa.int64())
    a = ColumnFacts(
        type=LONG,
        lower=bounds_array(LONG, [r and r[0] for r in A]),
        upper=bounds_array(LONG, [r and r[1] for r in A]),
        null_count=pa.array(NULLS, pa.int64()),
        value_count=rows,
    )
    b = ColumnFacts(
        type=STRING,
        lower=bounds_array(STRING, [r[0] for r in B]),
        upper=bounds_array(STRING, [r[1] for r in B]),
        null_count=pa.array([0] * 6, pa.int64()),
        value_count=rows,
    )
    return ZoneMap(num_zones=6, row_count=rows, columns={1: a, 2: b})


RULES = [
    # Equality: skip if max < value or min > value.
    ("a = 20", {1, 2, 3}, {3}),
    ("a = 5", {0}, set()),
    ("a = 0", set(), set()),
    ("a = 41", set(), set()),
    ("a = 10", {0}, set()),
    ("a = 11", {1}, set()),
    # Greater than: skip if max <= value.
    ("a > 20", {2, 4}, set()),
    ("a > 19", {1, 2, 3, 4}, {3}),
    ("a >= 20", {1, 2, 3, 4}, {3}),
    ("a > 40", set(), set()),
    ("a > 10", {1, 2, 3, 4}, {2, 3}),
    # Less than: skip if min >= value.
    ("a < 15", {0, 1}, {0}),
    ("a < 16", {0, 1, 2}, {0}),
    ("a <= 15", {0, 1, 2}, {0}),
    ("a < 1", set(), set()),
    ("a < 31", {0, 1, 2, 3}, {0, 2, 3}),
    # Between: skip if max < low or min > high.
    ("a BETWEEN 10 AND 11", {0, 1}, set()),
    ("a BETWEEN 12 AND 14", {1}, set()),
    ("a BETWEEN 15 AND 30", {1, 2, 3}, {2, 3}),
    ("a BETWEEN 41 AND 50", set(), set()),
    ("a NOT BETWEEN 10 AND 20", {0, 2, 4}, set()),
    # Is not null: skip if every value is null.
    ("a IS NOT NULL", {0, 1, 2, 3, 4}, {0, 2, 3}),
    # Is null: skip if no value is null.
    ("a IS NULL", {1, 4, 5}, {5}),
    # Compound: skip if any single part excludes the zone.
    ("a > 10 AND b = 'EU'", {1, 2, 4}, set()),
    ("a > 10 AND b > 'FR'", {2, 3, 4}, set()),
    ("a < 5 AND b = 'EU'", set(), set()),
    ("a = 20 AND b >= 'EU'", {1, 2, 3}, {3}),
    # Or: skip only if all parts exclude it.
    ("a = 5 OR b = 'EU'", {0, 1, 2, 4, 5}, {1, 5}),
    ("a > 30 OR a < 11", {0, 4}, {0}),
    ("a IN (5, 35)", {0, 4}, set()),
    ("a NOT IN (20, 21)", {0, 1, 2, 4}, {0}),
    ("a != 20", {0, 1, 2, 4}, {0}),
    ("NOT (a = 20)", {0, 1, 2, 4}, {0}),
    ("b LIKE 'E%'", {1, 2, 4, 5}, {1, 5}),
]


@pytest.mark.parametrize(("text", "kept", "whole"), RULES, ids=[text for text, _, _ in RULES])
def test_rule_keeps_exactly_these_zones_and_these_match_whole(text: str, kept: set[int], whole: set[int]) -> None:
    verdicts = judge(bind(parse_sql(text), SCHEMA), zones())
    assert set(np.flatnonzero(verdicts).tolist()) == kept
    assert set(np.flatnonzero(verdicts == 2).tolist()) == whole


def months(order: list[int]) -> ZoneMap:
    """Twelve zones of a year of days, ordered by date or each with days of all months."""
    first = [from_python(DATE, f"2026-{m:02d}-01") for m in range(1, 13)]
    last = [*(day - 1 for day in first[1:]), from_python(DATE, "2026-12-31")]
    lower, upper = ([first[i] for i in order], [last[i] for i in order])
    if not order:
        lower, upper = [first[0]] * 12, [last[-1]] * 12
    facts = ColumnFacts(type=DATE, lower=bounds_array(DATE, lower), upper=bounds_array(DATE, upper))
    return ZoneMap(num_zones=12, columns={3: facts})


MARCH = "d BETWEEN DATE '2026-03-01' AND DATE '2026-03-31'"


def test_data_ordered_by_date_leaves_one_month_of_twelve() -> None:
    assert np.flatnonzero(judge(bind(parse_sql(MARCH), SCHEMA), months(list(range(12))))).tolist() == [2]


def test_unordered_data_leaves_every_zone() -> None:
    assert np.flatnonzero(judge(bind(parse_sql(MARCH), SCHEMA), months([]))).tolist() == list(range(12))


def test_a_date_after_the_maximum_skips_the_file() -> None:
    april = [i for i in range(12) if i <= 3]
    assert judge(bind(parse_sql("d >= DATE '2026-05-01'"), SCHEMA), months(list(range(12))))[april].tolist() == [0] * 4
