"""Where the rows are whose values are among some listed ones, looked for in nothing but the columns of those values.

Law: a row is found exactly when it is there (no delete removes it) and has a listed value in every column asked about.
The plan's predicate is looked at for which parts of files need not be read, and for nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import (
    DateType,
    Field,
    IntType,
    LongType,
    StructType,
    TimestampType,
    TimestamptzType,
)
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan
from skipstone.read.opened import Stretch
from skipstone.read.planned_file import Piece, PlannedFile, opened_file
from skipstone.read.position_deletes import PositionDeletes, Positions
from skipstone.read.rows import pieces_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

# A list may be prepared for each look, which takes as long as looking at a hundred thousand rows.
_ROWS_AT_ONCE: Final = 1 << 20
# Keys that are numbers: how far apart they may lie.
_WHOLE: Final = (IntType, LongType, DateType, TimestampType, TimestamptzType)
_SPAN_ALWAYS: Final = 1 << 16
_SPAN_FOR_EACH: Final = 256


@dataclass(frozen=True, kw_only=True)
class Keys:
    """All values that a column may have in the rows that are wanted, null among them if it may be null."""

    field: Field
    values: Any

    def among(self, column: Any) -> npt.NDArray[np.bool_]:
        """Which values of a column are among them."""
        found: npt.NDArray[np.bool_]
        if self._marks is None or column.null_count or not len(column):
            found = pc.is_in(column, value_set=self.values).to_numpy()
            return found
        least, marks = self._marks
        numbers = _numbers(column)
        if int(numbers.min()) >= least and int(numbers.max()) < least + len(marks):
            found = marks[numbers - least]
            return found
        is_inside = (numbers >= least) & (numbers < least + len(marks))
        found = is_inside & marks[np.where(is_inside, numbers, least) - least]
        return found

    @cached_property
    def _marks(self) -> tuple[int, npt.NDArray[np.bool_]] | None:
        """The least key, and for it and each whole number from there to the greatest whether it is a key.

        None where keys are no whole numbers or lie far apart; Arrow looks each value up then.
        """
        given = self.values.drop_null()
        if not isinstance(self.field.type, _WHOLE) or not len(given):
            return None
        numbers = _numbers(given)
        least = int(numbers.min())
        span = int(numbers.max()) - least + 1
        if span > max(_SPAN_ALWAYS, _SPAN_FOR_EACH * len(numbers)):
            return None
        marks = np.zeros(span, np.bool_)
        marks[numbers - least] = True
        return least, marks


def _numbers(column: Any) -> npt.NDArray[np.int64]:
    """Values without nulls as whole numbers."""
    width = pa.int64() if column.type.bit_width == 64 else pa.int32()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [chunk.view(width).to_numpy() for chunk in chunks]
    return (parts[0] if len(parts) == 1 else np.concatenate(parts)).astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Positions by the file's place in the plan, and the columns of the keys, file by file in the plan's order."""

    positions: Mapping[int, Positions]
    columns: Any


def find_keyed_rows(plan: ScanPlan, storage: Storage, keys: tuple[Keys, ...], *, rows_max: int) -> KeyedRows | None:
    """The rows with these keys; None if they are more than `rows_max`, or some are deleted by their values."""
    if FileContent.EQUALITY_DELETES in plan.deletes.column("content").to_pylist():
        return None
    pieces, threads = pieces_of(plan), os.cpu_count() or 1
    search = _Search(plan, storage, keys, use_threads=threads > 1)
    counts: list[int] = []

    def find(piece: Piece) -> list[tuple[Positions, Any]]:
        found = []
        for positions, columns in search.find(piece):
            counts.append(len(positions))
            found.append((positions, columns))
            if sum(counts) > rows_max:
                break
        return found

    by_piece = in_parallel(find, pieces, threads)
    if sum(counts) > rows_max:
        return None
    by_file: dict[int, list[Positions]] = {}
    for piece, found in zip(pieces, by_piece, strict=True):
        by_file.setdefault(piece.row, []).extend(positions for positions, _ in found)
    tables = [columns for found in by_piece for _, columns in found]
    return KeyedRows(
        {row: all_ for row, parts in by_file.items() if len(all_ := np.concatenate(parts or [_NONE]))},
        pa.concat_tables(tables) if tables else None,
    )


_NONE: Final = np.empty(0, np.int64)


class _Search:
    def __init__(self, plan: ScanPlan, storage: Storage, keys: tuple[Keys, ...], *, use_threads: bool) -> None:
        self.plan = plan
        self.storage = storage
        self.keys = keys
        self.wanted = StructType(tuple({k.field.id: k.field for k in keys}.values()))
        self.use_threads = use_threads
        self.deletes = PositionDeletes(plan, storage)

    def find(self, piece: Piece) -> Iterator[tuple[Positions, Any]]:
        with opened_file(self.plan, self.storage, piece.row, self.wanted, use_threads=self.use_threads) as opened:
            path, deletes = (self.plan.files.column(n)[piece.row].as_py() for n in ("file_path", "deletes"))
            for stretch in opened.stretches(piece, self.plan.residual_of(piece.row)):
                gone = self.deletes.of(path, deletes)
                for start, rows in _tables(opened, stretch):
                    places = np.flatnonzero(self._has_keys(rows))
                    there = places[~np.isin(places + start, gone)] if len(gone) else places
                    if len(there):
                        yield there + start, rows.take(pa.array(there))

    def _has_keys(self, rows: Any) -> npt.NDArray[np.bool_]:
        places = {f.id: i for i, f in enumerate(self.wanted.fields)}
        return reduce(np.logical_and, (k.among(rows.column(places[k.field.id])) for k in self.keys))


def _tables(opened: PlannedFile, stretch: Stretch) -> Iterator[tuple[int, Any]]:
    """Rows that follow one another, as tables, and the position of the first."""
    waiting: list[Any] = []
    rows = start = 0
    for batch in opened.batches(stretch):
        start = start if waiting else batch.position
        waiting.append(project_arrow(opened.projection, batch.columns, columns=opened.projection.file_columns))
        rows += batch.columns.num_rows
        if rows >= _ROWS_AT_ONCE:
            yield start, pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield start, pa.Table.from_batches(waiting)
