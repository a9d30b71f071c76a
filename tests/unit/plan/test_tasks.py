"""Plans cut into pieces."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
from skipstone.errors import InvalidInput
from skipstone.plan.tasks import pack_weights, split


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


def packed(weights: list[int], *, target: int, lookback: int) -> list[list[int]]:
    """The tasks, each as the weights in it."""
    numbers = pack_weights(weights, target, lookback)
    return [[w for w, n in zip(weights, numbers, strict=True) if n == task] for task in range(max(numbers) + 1)]


def test_pieces_go_to_the_first_open_task_that_has_room() -> None:
    assert packed([1, 2, 3, 4, 5], target=5, lookback=1) == [[1, 2], [3], [4], [5]]
    assert packed([1, 2, 3, 4, 5], target=6, lookback=5) == [[1, 2, 3], [4], [5]]
    assert packed([36, 36, 36, 36, 65, 65, 128, 65], target=128, lookback=2) == [
        [36, 36, 36],
        [36, 65],
        [65],
        [128],
        [65],
    ]
    assert packed([36, 36, 36, 36, 65, 65, 128, 128], target=64, lookback=1) == [
        [36], [36], [36], [36], [65], [65], [128], [128]
    ]  # fmt: skip


def test_tasks_follow_the_tables_properties(tmp_path: Path) -> None:
    table = _many_files(tmp_path, files=12)
    size = max(table.inspect.files().column("file_size_in_bytes").to_pylist())

    def sizes() -> list[int]:
        found = table.scan().tasks()
        assert found.column_names == ["task", "file_path", "offset", "length"]
        assert sorted(found.column("file_path").to_pylist()) == sorted(
            table.scan().plan().files.column("file_path").to_pylist()
        )
        numbers = found.column("task").to_pylist()
        return [numbers.count(n) for n in range(max(numbers) + 1)]

    table.set_properties({"read.split.target-size": str(4 * size), "read.split.open-file-cost": "0"})
    assert sizes() == [4, 4, 4]
    table.set_properties({"read.split.open-file-cost": str(2 * size)})
    assert sizes() == [2] * 6
    table.set_properties({"read.split.target-size": "1"})
    assert sizes() == [1] * 12


def test_deletes_weigh_with_the_files_they_belong_to(tmp_path: Path) -> None:
    table = _many_files(tmp_path, files=4, properties={"write.delete.mode": "merge-on-read"}, format_version=3)
    table.delete("id = 0 OR id = 11")
    table.set_properties({"read.split.target-size": "6000", "read.split.open-file-cost": "2000"})
    numbers = table.scan().tasks().column("task").to_pylist()
    # Two of four files have a vector to open as well: 4000 and 2000 fill a task.
    assert [numbers.count(n) for n in range(max(numbers) + 1)] == [2, 2]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_batches_are_no_larger_than_the_table_asks(tmp_path: Path, file_format: str) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    table = lake.create_table("db.t", [("id", "long")], properties={"write.format.default": file_format})
    table.append(pa.table({"id": range(25)}))
    assert [b.num_rows for b in table.scan().to_batches()] == [25]
    table.set_properties({f"read.{file_format}.vectorization.batch-size": "10"})
    assert [b.num_rows for b in table.scan().to_batches()] == [10, 10, 5]
    assert table.scan().to_arrow().column("id").to_pylist() == list(range(25))


def _many_files(tmp_path: Path, *, files: int, **more: Any) -> skipstone.Table:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    table = lake.create_table("db.t", [("part", "int"), ("id", "long")], partition_by=["part"], **more)
    table.append(pa.table({"part": [i // 10 for i in range(10 * files)], "id": range(10 * files)}))
    return table
