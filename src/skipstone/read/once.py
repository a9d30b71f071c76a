"""Values that several threads ask for and one of them makes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Once(Generic[K, V]):
    """Each value is made once, by the first who asks; making one does not hold up the making of others."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[K, Future[V]] = {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        with self._lock:
            found = self._values.get(key)
            is_mine = found is None
            future: Future[V] = Future() if found is None else found
            if is_mine:
                self._values[key] = future
        if is_mine:
            try:
                future.set_result(make())
            except BaseException as error:  # whoever waits gets it too
                future.set_exception(error)
        return future.result()
