"""How large the pieces are that Spark cuts files into, so that all cores end together.

Spark packs files up to a fixed size and may leave one task alone with a third of the time. Planned sizes are known:
how Spark would pack them is computed for a few sizes of pieces, and the one whose last core ends first is taken.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

# A few tasks a core even out files of unlike sizes; more only cost their start.
_ROUNDS: Final = (1, 2, 3, 4, 5, 6)
_ROUNDS_UNSEEN: Final = 4
_SPLIT_BYTES_MIN: Final = 8 << 20
_SPLIT_BYTES_MAX: Final = 128 << 20
# What opening one more file is worth in bytes: many small files share a task, but not too many.
OPEN_COST_BYTES: Final = 1 << 20
# What one more task is worth in bytes.
_TASK_COST_BYTES: Final = 3 << 19
# Cores are not equally fast: how much of a task's time the slowest may be late.
_LATE_SHARE: Final = 0.1
# More than this many pieces are even enough without a look at them.
_PIECES_SEEN_MAX: Final = 512


def split_bytes(sizes: Sequence[int], *, cores: int) -> int:
    """The most bytes for one task over files of these sizes."""
    work = sum(sizes) + len(sizes) * OPEN_COST_BYTES
    rounds_min = -(-work // (cores * _SPLIT_BYTES_MAX))
    if rounds_min > _ROUNDS_UNSEEN or max(len(sizes), cores * max(_ROUNDS)) > _PIECES_SEEN_MAX:
        return _even(work, cores * max(_ROUNDS_UNSEEN, rounds_min))
    choices = sorted({_even(work, cores * rounds) for rounds in _ROUNDS}, reverse=True)
    return min(choices, key=lambda most: _cost(list(_tasks(sizes, most)), cores))


def _even(work: int, tasks: int) -> int:
    return max(_SPLIT_BYTES_MIN, min(-(-work // tasks), _SPLIT_BYTES_MAX))


def _tasks(sizes: Sequence[int], most: int) -> Iterator[int]:
    """The bytes of each task as Spark packs them: large pieces first, a task is closed when the next does not fit."""
    pieces = [min(most, size - start) for size in sizes for start in range(0, size, most)]
    packed, is_open = 0, False
    for piece in sorted(pieces, reverse=True):
        if is_open and packed + piece > most:
            yield packed
            packed = 0
        packed += piece + OPEN_COST_BYTES
        is_open = True
    if is_open:
        yield packed


def _cost(tasks: Sequence[int], cores: int) -> float:
    """When the last core is done, in bytes, if each takes the next task as soon as it is free."""
    ends = [0] * cores
    for task in tasks:
        heapq.heapreplace(ends, ends[0] + task + _TASK_COST_BYTES)
    return max(ends) + _LATE_SHARE * max(tasks, default=0)
