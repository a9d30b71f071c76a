"""Small files on their way to storage while the next ones are made.

Making a file keeps the processor busy, storing it mostly waits: for a file system, or for an answer from far away.
Files go in lots: threads are then handed work rarely, and what makes files is not pushed out of the processor's caches
by the system's work for each. Fewer than a lot are stored by the thread that made them.

Law: when `finish` returns, every file is stored; when `stop` returns, nothing is on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final, TypeAlias

from skipstone.storage.protocol import Storage

_LOT_FILES: Final = 25
_LOT_BYTES: Final = 4 * 1024 * 1024
_THREADS_MAX: Final = 8

Store: TypeAlias = Callable[[str, bytes], None]


class SmallFiles:
    """Files to be stored, each by one call. For use by one thread."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._waiting: list[tuple[str, bytes]] = []
        self._waiting_bytes = 0
        self._pool: ThreadPoolExecutor | None = None
        self._pending: list[Future[None]] = []

    def add(self, path: str, data: bytes) -> None:
        """Store a file, now or later."""
        self._waiting.append((path, data))
        self._waiting_bytes += len(data)
        if len(self._waiting) >= _LOT_FILES or self._waiting_bytes >= _LOT_BYTES:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS_MAX, thread_name_prefix="skipstone-store")
            self._pending.append(self._pool.submit(self._store, self._take()))

    def finish(self) -> None:
        """Store what is left and wait for the rest; the first failure is raised."""
        try:
            self._store(self._take())
            for future in self._pending:
                future.result()
        finally:
            self.stop()

    def stop(self) -> None:
        """Begin nothing more, and wait for what was begun."""
        self._take()
        pending, self._pending = self._pending, []
        for future in pending:
            future.cancel()
        wait(pending)
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _take(self) -> list[tuple[str, bytes]]:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        return waiting

    def _store(self, files: Sequence[tuple[str, bytes]]) -> None:
        for path, data in files:
            self._storage.write_new(path, data)
