"""Threads that share the work on one file. With one, all is done by the caller, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Hands:
    """A context: what was begun in it is done, or has failed, when it ends."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="skipstone-analyse") if threads > 1 else None

    def begin(self, work: Callable[[], R]) -> Callable[[], R]:
        """Do something beside what follows; call the result to wait for its own, or for what it raised."""
        if self._pool is None:
            done = work()
            return lambda: done
        return self._pool.submit(work).result

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """The results for all items, in order."""
        return list(map(work, items) if self._pool is None else self._pool.map(work, items))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
