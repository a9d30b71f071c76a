"""Whether anybody has committed anything to a SQLite file: the base of answers that may be given again.

SQLite tells a connection when another one has committed, whichever process it is of. So the connection here does
nothing but ask.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa


class CommitWatch:
    """What was read after one `state` is still so if the next `state` is equal."""

    def __init__(self, engine: Callable[[], sa.Engine]) -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._process_id = 0
        self._connection: Any = None
        self._opened = 0
        # Connections of the process that forked: closing them here would disturb it.
        self._inherited: list[object] = []

    def state(self) -> tuple[int, int, int]:
        """Which connection was asked, and the number that SQLite gives it: numbers of two mean nothing together."""
        with self._guard:
            if self._connection is None or self._process_id != os.getpid():
                self._open()
            number: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
            return self._process_id, self._opened, number

    def close(self) -> None:
        with self._guard:
            if self._connection is not None and self._process_id == os.getpid():
                self._connection.close()
                self._connection = None

    def _open(self) -> None:
        self._inherited.append(self._connection)
        pooled = self._engine().raw_connection()
        self._connection = pooled.driver_connection
        pooled.detach()
        self._process_id = os.getpid()
        self._opened += 1
