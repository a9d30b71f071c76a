"""Forcing files to disk in the background, many at a time."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

_THREADS: Final = 8


class Flushing:
    """The files of this process that are on their way to disk. A forked or unpickled copy starts with none."""

    def __init__(self) -> None:
        self._process_id = os.getpid()
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pending: list[Future[None]] = []

    def __reduce__(self) -> tuple[object, ...]:
        return (Flushing, ())

    def add(self, path: str) -> None:
        """Begin to force a file to disk."""
        self._check_process()
        with self._lock:
            # What is safe already need not be remembered until somebody settles.
            self._pending = [f for f in self._pending if not f.done() or f.exception() is not None]
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="skipstone-flush")
            self._pending.append(self._pool.submit(_force, path))

    def settle(self) -> None:
        """Wait for all files added so far; the first failure is raised."""
        self._check_process()
        with self._lock:
            waiting = list(self._pending)
        failures = [error for future in waiting if (error := future.exception()) is not None]
        # Only now: another thread that settles at the same time must wait for these files too.
        with self._lock:
            self._pending = [future for future in self._pending if future not in waiting]
        for error in failures:
            raise error

    def _check_process(self) -> None:
        # Threads do not survive a fork; the files of the parent are the parent's to settle.
        if self._process_id != os.getpid():
            self._process_id = os.getpid()
            self._lock = threading.Lock()
            self._pool = None
            self._pending = []


def _force(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        # Deleted or renamed since.
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
