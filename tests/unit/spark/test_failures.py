"""Errors of ours that Spark carries in its own."""

from __future__ import annotations

from skipstone.errors import InvalidInput, Unsupported
from skipstone.spark.failures import ours_in


def test_an_error_of_an_expression_comes_out_as_it_was_raised() -> None:
    found = ours_in("[USER_RAISED_EXCEPTION] <skipstone:Cannot write column 'x': null.:skipstone> SQLSTATE: P0001")
    assert isinstance(found, InvalidInput)
    assert str(found) == "Cannot write column 'x': null."


def test_an_error_of_a_task_keeps_its_kind() -> None:
    found = ours_in("Traceback ...\nskipstone.errors.Unsupported: Cannot write ORC: no.\n  at java")
    assert isinstance(found, Unsupported)
    assert str(found) == "Cannot write ORC: no."


def test_errors_of_others_stay_theirs() -> None:
    assert ours_in("java.io.IOException: disk full") is None
    assert ours_in("skipstone.errors.what_exists: no") is None
