"""A catalog's database with failures at chosen calls: statements and commits, not done or done with the answer lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from skipstone.catalog import SqlCatalog


class FaultyDatabase:
    """Stands between a catalog and its SQLite driver. The planned fault happens once."""

    def __init__(self, catalog: SqlCatalog) -> None:
        dialect: Any = catalog._database._engine.dialect
        self._ahead: tuple[int, bool] | None = None
        self._calls = 0
        dialect.do_execute = self._guarded(dialect.do_execute)
        dialect.do_commit = self._guarded(dialect.do_commit)

    def plan(self, number: int, *, is_answer_lost: bool) -> None:
        """Fail the `number`-th call from now, counted from 1."""
        self._calls = 0
        self._ahead = (number, is_answer_lost)

    def heal(self) -> None:
        self._ahead = None

    @property
    def is_fault_ahead(self) -> bool:
        return self._ahead is not None

    def _guarded(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **named: Any) -> Any:
            self._calls += 1
            if self._ahead is None or self._ahead[0] != self._calls:
                return call(*arguments, **named)
            is_answer_lost = self._ahead[1]
            self._ahead = None
            if is_answer_lost:
                call(*arguments, **named)
            raise sqlite3.OperationalError("a fault was injected here")

        return guarded
