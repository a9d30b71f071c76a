"""A plan cut into pieces of work of about one size, and pieces put together in tasks.

A file is cut only where its writer said it can be (`split_offsets`), so that every row group belongs to one piece.
Tasks are packed as Iceberg packs them, by the table properties `read.split.*`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.tables.properties import SPLIT_LOOKBACK, SPLIT_OPEN_FILE_COST, SPLIT_SIZE, hint_value
from skipstone.plan.scan import ScanPlan

pa: Any = pyarrow
pc: Any = pyarrow.compute


def split(plan: ScanPlan, *, target_size_in_bytes: int) -> Any:
    """One row a piece: `file` (row of the plan's files), `offset` and `length` in bytes."""
    if target_size_in_bytes < 1:
        raise InvalidInput(f"Cannot split a plan into pieces of {target_size_in_bytes} bytes: expected 1 or more.")
    sizes = plan.files.column("file_size_in_bytes").to_numpy()
    files, starts = _cuts(plan.files.column("split_offsets").combine_chunks(), sizes)
    is_last = np.append(files[1:] != files[:-1], True) if len(files) else np.empty(0, bool)
    ends = np.where(is_last, sizes[files], np.append(starts[1:], 0)) if len(files) else starts
    # Neighbouring row groups whose first bytes fall into the same stretch of the target size go together.
    stretch = starts // target_size_in_bytes
    opens = np.ones(len(files), bool)
    opens[1:] = (files[1:] != files[:-1]) | (stretch[1:] != stretch[:-1])
    first = np.flatnonzero(opens)
    last = np.append(first[1:] - 1, len(files) - 1) if len(first) else first
    return pa.table(
        {
            "file": pa.array(files[first], pa.int32()),
            "offset": pa.array(starts[first], pa.int64()),
            "length": pa.array(ends[last] - starts[first], pa.int64()),
        }
    )


def pack(plan: ScanPlan) -> Any:
    """One row a piece, as `split` says, with the `task` it belongs to; tasks are numbered from 0.

    A piece weighs its bytes and those of its delete files, and at least what opening so many files costs. It goes to
    the first of the last few tasks that has room, so that files that lie together stay together.
    """
    properties = plan.metadata.properties
    target = hint_value(properties, SPLIT_SIZE)
    pieces = split(plan, target_size_in_bytes=target)
    weights = _weights(plan, pieces, hint_value(properties, SPLIT_OPEN_FILE_COST))
    numbers = pack_weights(weights, target, hint_value(properties, SPLIT_LOOKBACK))
    return pieces.add_column(0, "task", pa.array(numbers, pa.int32())).sort_by("task")


def _weights(plan: ScanPlan, pieces: Any, open_cost: int) -> list[int]:
    files = pieces.column("file").to_numpy()
    deletes = plan.files.column("deletes").combine_chunks()
    counts = deletes.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(counts)
    # Deletion vectors share a file: each weighs what it takes of it.
    own = plan.deletes.column("content_size_in_bytes")
    sizes = pc.coalesce(own, plan.deletes.column("file_size_in_bytes")).to_numpy()
    before = np.concatenate([[0], np.cumsum(sizes[deletes.flatten().to_numpy()])])
    delete_bytes = before[ends] - before[ends - counts]
    weights = np.maximum(pieces.column("length").to_numpy() + delete_bytes[files], (counts[files] + 1) * open_cost)
    return [int(w) for w in weights]


def pack_weights(weights: list[int], target: int, lookback: int) -> list[int]:
    """The task of each piece. With too many tasks open, the heaviest is closed."""
    is_open: dict[int, int] = {}
    numbers: list[int] = []
    count = 0
    for weight in weights:
        number = next((n for n, held in is_open.items() if held + weight <= target), None)
        if number is None:
            number, count = count, count + 1
            is_open[number] = 0
        is_open[number] += weight
        numbers.append(number)
        if len(is_open) > lookback:
            del is_open[max(is_open, key=lambda n: is_open[n])]
    return numbers


def _cuts(offsets: Any, sizes: Any) -> tuple[Any, Any]:
    """Every file with the bytes it can be cut at, the first of which is its beginning.

    Offsets that are not ascending, or not inside the file, are a writer's mistake: such a file stays whole.
    """
    files: list[Any] = []
    starts: list[Any] = []
    flat = offsets.values.to_numpy(zero_copy_only=False) if len(offsets) else np.empty(0, np.int64)
    bounds = offsets.offsets.to_numpy() if len(offsets) else np.zeros(1, np.int64)
    counts = np.diff(bounds)
    owner = np.repeat(np.arange(len(counts)), counts)
    flat = flat[bounds[0] : bounds[-1]].astype(np.int64)
    descends = np.zeros(len(flat), bool)
    descends[1:] = (flat[1:] <= flat[:-1]) & (owner[1:] == owner[:-1])
    odd = np.zeros(len(counts), bool)
    odd[owner[descends | (flat < 0) | (flat >= sizes[owner])]] = True
    usable = ~odd[owner]
    is_first = np.ones(len(flat), bool)
    is_first[1:] = owner[1:] != owner[:-1]
    inner = usable & ~is_first
    files = [np.arange(len(counts)), owner[inner]]
    starts = [np.zeros(len(counts), np.int64), flat[inner]]
    all_files, all_starts = np.concatenate(files), np.concatenate(starts)
    order = np.lexsort((all_starts, all_files))
    return all_files[order], all_starts[order]
