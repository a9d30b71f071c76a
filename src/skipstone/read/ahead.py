"""Jobs that give batches, worked on by several threads and handed out in order.

Laws: the order is that of the jobs. What waits to be taken stays below a number of bytes, but for one batch; only a few
jobs beyond the one being handed out are begun. When the taker stops, so do the workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import Any, TypeAlias

Job: TypeAlias = Callable[[], Iterator[Any]]


def in_order(jobs: Sequence[Job], *, threads: int, bytes_max: int) -> Generator[Any]:
    """The batches of the first job, then of the second, and so on."""
    if threads <= 1 or len(jobs) <= 1:
        for job in jobs:
            yield from job()
        return
    work = _Work(len(jobs), threads, bytes_max)
    pool = ThreadPoolExecutor(max_workers=min(threads, len(jobs)), thread_name_prefix="skipstone-read")
    try:
        for number, job in enumerate(jobs):
            pool.submit(work.run, number, job)
        for number in range(len(jobs)):
            yield from work.taken(number)
    finally:
        work.stop()
        pool.shutdown(wait=True, cancel_futures=True)


class _Work:
    """What the workers share. The pool begins jobs in order, so the one handed out is never left waiting."""

    def __init__(self, num_jobs: int, threads: int, bytes_max: int) -> None:
        self._changed = Condition()
        self._waiting: list[deque[Any]] = [deque() for _ in range(num_jobs)]
        self._is_done = [False] * num_jobs
        self._errors: dict[int, BaseException] = {}
        self._current = 0
        self._held_bytes = 0
        self._bytes_max = bytes_max
        self._jobs_ahead = threads + 2
        self._stopped = False

    def run(self, number: int, job: Job) -> None:
        try:
            if self._may_begin(number):
                for batch in job():
                    if not self._put(number, batch):
                        return
        except BaseException as error:  # handed to the taker, whatever it is
            self._errors[number] = error
        finally:
            with self._changed:
                self._is_done[number] = True
                self._changed.notify_all()

    def _may_begin(self, number: int) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or number <= self._current + self._jobs_ahead)
            return not self._stopped

    def _put(self, number: int, batch: Any) -> bool:
        size = batch.nbytes

        def has_room() -> bool:
            is_next = number == self._current and not self._waiting[number]
            return self._stopped or is_next or self._held_bytes + size <= self._bytes_max

        with self._changed:
            self._changed.wait_for(has_room)
            if not self._stopped:
                self._waiting[number].append(batch)
                self._held_bytes += size
                self._changed.notify_all()
            return not self._stopped

    def taken(self, number: int) -> Iterator[Any]:
        with self._changed:
            self._current = number
            self._changed.notify_all()
        waiting = self._waiting[number]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: waiting or self._is_done[number])
                if not waiting:
                    break
                batch = waiting.popleft()
                self._held_bytes -= batch.nbytes
                self._changed.notify_all()
            yield batch
        if number in self._errors:
            raise self._errors[number]

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
