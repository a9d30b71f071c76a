"""Bound predicates as text for people: what is shown means the same when it is written again."""

from __future__ import annotations

import pytest
from tests.support.predicate_schema import sql

from skipstone.predicate.shown import shown


@pytest.mark.parametrize(
    "text",
    [
        "d >= '2024-02-29'",
        "d IN ('1969-12-31', '2024-02-29')",
        "t = '12:30:00.000001'",
        "ts < '2024-01-05T10:00:00'",
        "tz >= '2024-01-05T00:00:00+00:00' AND tz < '2024-01-06T00:00:00+00:00'",
        "ns != '2024-01-05T00:00:00.000000001'",
        "u = '00000000-0000-0000-0000-000000000001'",
        "ok = true OR price = 1.50",
        "NOT (x > 1.5) AND region = 'it''s'",
    ],
)
def test_what_is_shown_can_be_asked(text: str) -> None:
    bound = sql(text)
    assert sql(shown(bound)) == bound
    assert shown(sql(shown(bound))) == shown(bound)


def test_moments_are_shown_as_moments() -> None:
    assert (
        shown(sql("ts >= '2024-01-05 10:00:00' AND d IS NOT NULL")) == "ts >= '2024-01-05T10:00:00' AND d IS NOT NULL"
    )
    assert shown(sql("days(ts) = DATE '1970-01-02'")) == "day(ts) = '1970-01-02'"
    assert shown(sql("d = NULL")) == "false"
