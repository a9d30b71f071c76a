"""How large the pieces are that Spark cuts files into, so that all cores end together.

Spark packs files up to a fixed size and may leave one task alone with a third of the time. Planned sizes are known:
how Spark would pack them is computed for a few sizes of pieces, and the one whose last core ends first is taken.

Spark cuts anywhere, but a row group goes whole to the piece that holds its middle, and the others start for nothing.
Where a file's row groups begin (`split_offsets`) is only looked at for speed: it may be wrong, and no row is lost.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Final

# A few tasks a core even out files of unlike sizes; more only cost their start.
_ROUNDS: Final = (1, 2, 3, 4, 5, 6)
_ROUNDS_UNSEEN: Final = 4
_SPLIT_BYTES_MIN: Final = 8 << 20
_SPLIT_BYTES_MAX: Final = 128 << 20
# Files of one row group, which no cut divides, are left whole up to here.
_WHOLE_BYTES_MAX: Final = 1 << 30
# What opening one more file is worth in bytes: many small files share a task, but not too many.
OPEN_COST_BYTES: Final = 1 << 20
# What one more task is worth in bytes.
_TASK_COST_BYTES: Final = 3 << 19
# Cores are not equally fast: how much of a task's time the slowest may be late.
_LATE_SHARE: Final = 0.1
# More than this many pieces are even enough without a look at them.
_PIECES_SEEN_MAX: Final = 512


@dataclass(frozen=True, slots=True)
class Split:
    """The most bytes for one task, and whether there may be fewer tasks than cores."""

    bytes_max: int
    is_whole_files: bool = False


def split_of(sizes: Sequence[int], offsets: Sequence[Sequence[int] | None] = (), *, cores: int) -> Split:
    """How to cut files of these sizes. `offsets` say where the row groups of each begin, as far as that is known."""
    work = sum(sizes) + len(sizes) * OPEN_COST_BYTES
    rounds_min = -(-work // (cores * _SPLIT_BYTES_MAX))
    if rounds_min > _ROUNDS_UNSEEN or max(len(sizes), cores * max(_ROUNDS)) > _PIECES_SEEN_MAX:
        return Split(_even(work, cores * max(_ROUNDS_UNSEEN, rounds_min)))
    groups = [_row_groups(s, o) for s, o in zip_longest(sizes, offsets[: len(sizes)])]
    choices = {_even(work, cores * rounds) for rounds in _ROUNDS}
    whole = max(sizes, default=0)
    fits = _SPLIT_BYTES_MIN < whole <= _WHOLE_BYTES_MAX and all(len(g) == 1 for g in groups)
    choices |= {whole} if fits else set()
    best = min(sorted(choices, reverse=True), key=lambda most: _cost(list(_tasks(sizes, groups, most)), cores))
    return Split(best, is_whole_files=fits and best == whole)


def _row_groups(size: int, offsets: Sequence[int] | None) -> list[tuple[int, int]]:
    """The middle and the bytes of each row group; none if that is not known."""
    starts = list(offsets or ())
    if not starts or starts != sorted(starts) or not 0 <= starts[0] <= starts[-1] < size:
        return []
    return [((a + b) // 2, b - a) for a, b in pairwise([*starts, size])]


def _even(work: int, tasks: int) -> int:
    return max(_SPLIT_BYTES_MIN, min(-(-work // tasks), _SPLIT_BYTES_MAX))


def _tasks(sizes: Sequence[int], groups: Sequence[list[tuple[int, int]]], most: int) -> Iterator[int]:
    """The bytes of each task as Spark packs them: large pieces first, a task is closed when the next does not fit."""
    pieces = [piece for size, known in zip(sizes, groups) for piece in _pieces(size, known, most)]
    packed, read, is_open = 0, 0, False
    for length, held in sorted(pieces, key=lambda piece: -piece[0]):
        if is_open and packed + length > most:
            yield read
            packed, read = 0, 0
        packed += length + OPEN_COST_BYTES
        read += held + OPEN_COST_BYTES
        is_open = True
    if is_open:
        yield read


def _pieces(size: int, groups: list[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """The length of each piece of a file, and the bytes of the row groups in it."""
    for start in range(0, size, most):
        length = min(most, size - start)
        held = sum(count for middle, count in groups if start <= middle < start + length) if groups else length
        yield length, held


def _cost(tasks: Sequence[int], cores: int) -> float:
    """When the last core is done, in bytes, if each takes the next task as soon as it is free."""
    ends = [0] * cores
    for task in tasks:
        heapq.heapreplace(ends, ends[0] + task + _TASK_COST_BYTES)
    return max(ends) + _LATE_SHARE * max(tasks, default=0)
