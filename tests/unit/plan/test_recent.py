"""Values by the identity of what they were made of."""

from __future__ import annotations

from typing import Any

from skipstone.plan.recent import Recent


def made(recent: Recent, what: str, things: list[Any]) -> list[str]:
    calls: list[str] = []
    recent.derived(what, things, lambda: calls.append(what))
    return calls


def test_the_same_things_are_worked_on_once() -> None:
    recent, first, second = Recent(4), [1], [2]
    assert made(recent, "a", [first, second]) == ["a"]
    assert made(recent, "a", [first, second]) == []


def test_equal_but_other_things_are_worked_on_anew() -> None:
    recent, first = Recent(4), [1]
    made(recent, "a", [first])
    assert made(recent, "a", [list(first)]) == ["a"]
    assert made(recent, "b", [first]) == ["b"]


def test_things_stay_as_long_as_their_value_so_that_no_other_takes_their_identity() -> None:
    recent = Recent(1_000)
    assert all(made(recent, "a", [[number]]) == ["a"] for number in range(500))


def test_the_least_recently_used_goes_first() -> None:
    recent = Recent(2)
    first, second, third = [1], [2], [3]
    made(recent, "a", [first])
    made(recent, "a", [second])
    made(recent, "a", [first])
    made(recent, "a", [third])
    assert made(recent, "a", [first]) == []
    assert made(recent, "a", [second]) == ["a"]
