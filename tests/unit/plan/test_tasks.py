"""Plans cut into pieces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput
from skipstone.plan.tasks import split


class Plan:
    """As much of a plan as cutting looks at."""

    def __init__(self, files: list[tuple[int, list[int] | None]]) -> None:
        self.files = pa.table(
            {
                "file_size_in_bytes": pa.array([size for size, _ in files], pa.int64()),
                "split_offsets": pa.array([offsets for _, offsets in files], pa.list_(pa.int64())),
            }
        )


def pieces(files: list[tuple[int, list[int] | None]], target: int) -> list[tuple[int, int, int]]:
    plan: Any = Plan(files)
    table = split(plan, target_size_in_bytes=target)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_a_file_is_cut_only_at_its_offsets() -> None:
    assert pieces([(100, [4, 40, 80])], 40) == [(0, 0, 40), (0, 40, 40), (0, 80, 20)]


def test_small_row_groups_go_together() -> None:
    assert pieces([(100, [4, 20, 40, 60, 80])], 50) == [(0, 0, 60), (0, 60, 40)]


def test_a_file_without_offsets_stays_whole() -> None:
    assert pieces([(100, None), (50, [])], 10) == [(0, 0, 100), (1, 0, 50)]


@pytest.mark.parametrize("offsets", [[4, 80, 40], [4, 4], [4, 100], [-1, 50]])
def test_odd_offsets_leave_the_file_whole(offsets: list[int]) -> None:
    assert pieces([(100, offsets)], 10) == [(0, 0, 100)]


def test_pieces_cover_every_byte_once() -> None:
    files = [(1000, list(range(4, 1000, 7))), (5, None), (300, [4, 150])]
    found = pieces(files, 64)
    for i, (size, _) in enumerate(files):
        mine = [(offset, length) for file, offset, length in found if file == i]
        assert mine[0][0] == 0
        assert all(a + n == b for (a, n), (b, _) in pairwise(mine))
        assert sum(mine[-1]) == size


def test_no_files_no_pieces() -> None:
    assert pieces([], 10) == []


def test_a_target_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected 1 or more"):
        pieces([(1, None)], 0)
