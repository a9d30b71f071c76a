"""A data or delete file opened for reading, whatever its format.

Every format answers the same questions: which columns there are (with field ids), which stretches of rows can be read
on their own and may hold a match, and the batches of chosen columns with the position of their first row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import pyarrow

from skipstone.errors import FormatViolation
from skipstone.metadata.schemas.projection import Projection
from skipstone.metadata.types import StructType
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate

pa: Any = pyarrow

# A batch holds at most so many rows, and fewer where rows are wide.
BATCH_ROWS_MAX = 131_072
BATCH_ROWS_MIN = 1_024
BATCH_BYTES = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a file: the rows that match, where they can be told apart, in a span of its bytes."""

    projection: Projection
    predicate: Predicate = TRUE
    float_order: FloatOrder = FloatOrder.IEEE
    # A stretch belongs to the span in which its first byte lies; no end means up to the end of the file.
    first_byte: int = 0
    end_byte: int | None = None

    def has_byte(self, offset: int) -> bool:
        return self.first_byte <= offset and (self.end_byte is None or offset < self.end_byte)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A row group, stripe, or series of blocks; of its rows only those from `start` up to `stop` can match."""

    number: int
    position: int  # of its first row in the file
    start: int
    stop: int
    every_row_matches: bool = False


@dataclass(frozen=True, slots=True)
class PlacedBatch:
    """Some of the file's columns, and the position in the file of the first row."""

    position: int
    columns: Any


Batches: TypeAlias = Iterator[PlacedBatch]


class OpenedFile(Protocol):
    struct: StructType
    num_rows: int

    def stretches(self, question: Question) -> list[Stretch]:
        """The stretches that may hold a match."""

    def batches(self, columns: Sequence[int], stretch: Stretch) -> Batches:
        """The given top-level columns, by their places in the file, of one stretch."""

    def close(self) -> None: ...


def rows_only(num_rows: int) -> Any:
    """A batch without columns that knows how many rows it has."""
    return pa.RecordBatch.from_arrays([pa.nulls(num_rows)], ["none"]).select([])


def batch_rows(num_rows: int, num_bytes: int, rows_max: int = BATCH_ROWS_MAX) -> int:
    """How many rows of a stretch go into one batch."""
    if num_rows <= 0 or num_bytes <= 0:
        return rows_max
    return min(rows_max, max(BATCH_ROWS_MIN, BATCH_BYTES * num_rows // num_bytes))


def cut(position: int, batch: Any, stretch: Stretch) -> PlacedBatch | None:
    """The part of a batch, which starts at `position` of the stretch, that can match."""
    start = max(stretch.start - position, 0)
    stop = min(stretch.stop - position, batch.num_rows)
    if start >= stop:
        return None
    part = batch if (start, stop) == (0, batch.num_rows) else batch.slice(start, stop - start)
    return PlacedBatch(stretch.position + position + start, part)


def damaged(path: str, where: str, error: Exception) -> FormatViolation:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return FormatViolation(f"Cannot read {path}, {where}: {reason}. The file is damaged.")
