"""Forcing files to disk, many at a time.

Large files are on their way as soon as they are written. Small ones wait until somebody settles, or until there are
many: a file system flushes them together then, and whoever writes them is not interrupted for each.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

_THREADS: Final = 16
_LARGE_BYTES: Final = 1024 * 1024
_SMALL_FILES_MAX: Final = 1_000


class Flushing:
    """The files of this process that are on their way to disk. A forked or unpickled copy starts with none."""

    def __init__(self) -> None:
        self._start()

    def __reduce__(self) -> tuple[object, ...]:
        return (Flushing, ())

    def _start(self) -> None:
        self._process_id = os.getpid()
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._small: list[str] = []
        self._pending: list[Future[None]] = []

    def add(self, path: str, size_in_bytes: int) -> None:
        """A file that must be on disk before anything refers to it."""
        self._check_process()
        with self._lock:
            if size_in_bytes >= _LARGE_BYTES:
                self._submit([path])
            else:
                self._small.append(path)
            if len(self._small) >= _SMALL_FILES_MAX:
                self._submit_small()

    def settle(self) -> None:
        """Wait for all files added so far; the first failure is raised."""
        self._check_process()
        with self._lock:
            self._submit_small()
            waiting = list(self._pending)
        failures = [error for future in waiting if (error := future.exception()) is not None]
        # Only now: another thread that settles at the same time must wait for these files too.
        with self._lock:
            self._pending = [future for future in self._pending if future not in waiting]
        for error in failures:
            raise error

    def _submit_small(self) -> None:
        small, self._small = self._small, []
        for start in range(min(_THREADS, len(small))):
            self._submit(small[start::_THREADS])

    def _submit(self, paths: Sequence[str]) -> None:
        # What is safe already need not be remembered until somebody settles.
        self._pending = [f for f in self._pending if not f.done() or f.exception() is not None]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="skipstone-flush")
        self._pending.append(self._pool.submit(_force, paths))

    def _check_process(self) -> None:
        # Threads do not survive a fork; the files of the parent are the parent's to settle.
        if self._process_id != os.getpid():
            self._start()


def _force(paths: Sequence[str]) -> None:
    for path in paths:
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            # Deleted or renamed since.
            continue
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
