"""Answers that are given again: the same question, asked while nothing was committed to the store.

Planners ask for the same partitions query after query. An answer is good only for the state of the store in which it
was made; a database that does not tell its state has nothing remembered.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Final

from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Struct
from skipstone.hive.thrift.interface import Encoded

_ANSWERS_MAX: Final = 128
_ANSWER_BYTES_MAX: Final = 1 << 20


class Remembered:
    """The last answers by their questions. Safe for many threads."""

    def __init__(self, store: HiveStore) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._state: object | None = None
        self._answers: dict[bytes, Struct] = {}

    def answer(self, question: bytes, make: Callable[[], Struct]) -> Struct:
        """The answer to a question; one that is an encoded value, and not a fault, may be given again."""
        # Asked before the store is read: a commit in between makes the answer one for a state that is gone.
        state = self._store.state()
        if state is None:
            return make()
        key = hashlib.blake2b(question, digest_size=32).digest()
        with self._guard:
            known = self._answers.get(key) if state == self._state else None
        if known is not None:
            return known
        answer = make()
        value = getattr(answer, "success", None)
        if isinstance(value, Encoded) and len(value) <= _ANSWER_BYTES_MAX:
            self._keep(state, key, answer)
        return answer

    def _keep(self, state: object, key: bytes, answer: Struct) -> None:
        with self._guard:
            if state != self._state:
                self._state, self._answers = state, {}
            self._answers[key] = answer
            if len(self._answers) > _ANSWERS_MAX:
                del self._answers[next(iter(self._answers))]
