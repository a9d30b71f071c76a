"""Files in the order of the index, cut into blocks: the smallest zones above a file.

Files are sorted by partition, then by the table's sort order as far as lower bounds tell, then as in the manifest. A
block is a run of at most `BLOCK_FILES` files. Large partitions have blocks of their own; small ones share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.index.entry_facts import LiveEntries

pa: Any = pyarrow
pc: Any = pyarrow.compute

BLOCK_FILES: Final = 256
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """`order` sorts the entries; of the sorted ones, `partition_starts` and `starts` are where each run begins."""

    order: Ints
    partition_starts: Ints
    starts: Ints

    @property
    def cut(self) -> str:
        """Tells one way to cut a manifest from another: the number of a block means nothing without it."""
        digest = blake2b(self.order.astype("<i8").tobytes(), digest_size=8)
        digest.update(self.starts.astype("<i8").tobytes())
        return digest.hexdigest()


def cut_blocks(entries: LiveEntries, *, sort_id: int | None = None, block_files: int | None = None) -> Blocks:
    order, is_first = _sorted(entries, sort_id)
    partition_starts = np.flatnonzero(is_first).astype(np.int64)
    return Blocks(
        order=order,
        partition_starts=partition_starts,
        starts=_cut(partition_starts, len(order), block_files or BLOCK_FILES),
    )


def numbered(starts: Ints, length: int) -> Ints:
    """The number of the run that each of `length` sorted entries is in."""
    marks = np.zeros(length, np.int64)
    marks[starts[1:]] = 1
    return np.cumsum(marks)


def _sorted(entries: LiveEntries, sort_id: int | None) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The order, and where in it a partition begins."""
    keys: list[Ints] = [_codes(entries.partition.field(i)) for i in range(entries.partition.type.num_fields)]
    by_partition = len(keys)
    name = f"{sort_id}.lower"
    if sort_id is not None and name in entries.table.column_names:
        keys.append(_codes(entries.table.column(name).combine_chunks()))
    order: Ints = np.lexsort(tuple(reversed(keys))) if keys else np.arange(len(entries), dtype=np.int64)
    is_first = np.zeros(len(order), bool)
    is_first[:1] = True
    for key in keys[:by_partition]:
        is_first[1:] |= key[order][1:] != key[order][:-1]
    return order, is_first


def _codes(values: Any) -> Ints:
    """Numbers that sort like the values, nulls first; equal values have the same."""
    if pa.types.is_null(values.type) or values.null_count == len(values):
        return np.zeros(len(values), np.int64)
    if pa.types.is_floating(values.type):
        # By bits, so that -0.0 and 0.0 stay apart, as do no two NaNs.
        values = pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)
        values = values.view(pa.int32() if values.type == pa.float32() else pa.int64())
    encoded = values.dictionary_encode()
    ranks = np.empty(len(encoded.dictionary), np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(1, len(ranks) + 1)
    at = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(values.is_null().to_numpy(zero_copy_only=False), 0, ranks[at])


def _cut(partition_starts: Ints, length: int, block_files: int) -> Ints:
    starts: list[int] = []
    ends = np.append(partition_starts[1:], length).tolist()
    filled = 0  # files in the open block; 0 where none is open
    for start, end in zip(partition_starts.tolist(), ends, strict=True):
        size = end - start
        if size >= block_files // 2:
            pieces = -(-size // block_files)
            starts.extend(start + size * i // pieces for i in range(pieces))
            filled = 0
        elif filled and filled + size <= block_files:
            filled += size
        else:
            starts.append(start)
            filled = size
    return np.array(starts, np.int64)
