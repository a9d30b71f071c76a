"""SQL expressions where a value is expected: `table.update("id = 3", {"n": skipstone.expr("n + 1")}, spark=spark)`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SqlExpression:
    """A text that Spark evaluates for each row, as opposed to a value that is a text."""

    text: str


def expr(text: str) -> SqlExpression:
    """An expression over a row's columns, for updates and merges that Spark carries out."""
    return SqlExpression(text)
