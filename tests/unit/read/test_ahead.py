"""Jobs on threads: order, bounded memory, errors, and stopping early."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from skipstone.read.ahead import in_order
from skipstone.read.once import Once


@dataclass(frozen=True)
class Batch:
    job: int
    number: int
    nbytes: int = 10


def batches(job: int, count: int, seen: list[Batch] | None = None) -> Iterator[Batch]:
    for number in range(count):
        batch = Batch(job, number)
        if seen is not None:
            seen.append(batch)
        yield batch


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("bytes_max", [0, 25, 10_000])
def test_batches_come_in_the_order_of_the_jobs(threads: int, bytes_max: int) -> None:
    counts = [3, 0, 7, 1, 0, 4, 20, 2]
    jobs = [partial(batches, job, count) for job, count in enumerate(counts)]
    found = [(b.job, b.number) for b in in_order(jobs, threads=threads, bytes_max=bytes_max)]
    assert found == [(job, n) for job, count in enumerate(counts) for n in range(count)]


def test_no_jobs_give_nothing() -> None:
    assert list(in_order([], threads=4, bytes_max=10)) == []


def test_what_waits_is_bounded_while_nobody_takes() -> None:
    made: list[Batch] = []
    jobs = [partial(batches, job, 50, made) for job in range(20)]
    with_room_for = 5
    taker = in_order(jobs, threads=3, bytes_max=10 * with_room_for)
    next(taker)
    taker.close()  # the workers have stopped when this returns
    # Those that wait, one in the hands of each worker, the one taken, and one that is always let through.
    assert len(made) <= with_room_for + 3 + 2


def test_error_comes_after_the_batches_before_it_and_stops_the_rest() -> None:
    def fails() -> Iterator[Batch]:
        yield Batch(1, 0)
        raise ValueError("damaged")

    begun: list[Batch] = []
    jobs = [partial(batches, 0, 2), fails, *(partial(batches, j, 1, begun) for j in range(2, 500))]
    taken: list[tuple[int, int]] = []
    with pytest.raises(ValueError, match="damaged"):
        taken.extend((b.job, b.number) for b in in_order(jobs, threads=2, bytes_max=100))
    assert taken == [(0, 0), (0, 1), (1, 0)]
    assert len(begun) < 20


def test_generators_are_closed_when_the_taker_stops() -> None:
    closed = []

    def job(number: int) -> Iterator[Batch]:
        try:
            yield from batches(number, 100)
        finally:
            closed.append(number)

    taker = in_order([partial(job, n) for n in range(2)], threads=2, bytes_max=20)
    next(taker)
    taker.close()
    assert set(closed) <= {0, 1} and 0 in closed


def test_once_makes_a_value_once_for_all_threads() -> None:
    once: Once[str, int] = Once()
    made: list[int] = []
    gate = threading.Barrier(4)

    def ask() -> None:
        gate.wait()
        once.get("a", lambda: made.append(1) or len(made))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1] and once.get("a", lambda: 99) == 1


def test_once_hands_an_error_to_everybody() -> None:
    once: Once[str, int] = Once()

    def fail() -> int:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            once.get("a", fail)
