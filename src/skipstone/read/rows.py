"""The rows of a plan as Arrow batches.

For each data file: the columns wanted, those the residual filter and equality deletes need, and the metadata columns
are projected by field id; deleted and non-matching rows are dropped; the wanted columns are what is left.

Spec: "Column Projection", "Row Lineage".
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.reserved import DELETED
from skipstone.metadata.schemas.projection import Projection
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import Field, StructType
from skipstone.plan.scan import ScanPlan
from skipstone.plan.tasks import split
from skipstone.predicate.arrow_filter import matches
from skipstone.predicate.nodes import TRUE, Predicate, field_ids
from skipstone.read.ahead import in_order
from skipstone.read.equality_deletes import EqualityDeletes, key_columns, united
from skipstone.read.metadata_columns import supplied_columns
from skipstone.read.opened import PlacedBatch
from skipstone.read.planned_file import Piece, opened_file
from skipstone.read.position_deletes import PositionDeletes, Positions
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute


_NOTHING_GONE: Final = np.empty(0, np.int64)
# Files are cut into pieces of about this size, so that several threads can share one.
_PIECE_BYTES: Final = 32 << 20
# What may wait, decoded, to be taken.
_AHEAD_BYTES: Final = 512 << 20


def read_plan(
    plan: ScanPlan,
    storage: Storage,
    *,
    wanted: StructType,
    threads: int | None = None,
    limit: int | None = None,
) -> Iterator[Any]:
    """Batches of the wanted columns, files in the plan's order.

    `wanted` may name metadata columns by their ids. With `_deleted` among them, deleted rows are handed out as well.
    """
    left = limit
    if left == 0:
        return
    threads = threads or os.cpu_count() or 1
    pieces = pieces_of(plan)
    reader = _Reader(plan, storage, wanted, use_threads=len(pieces) < threads)
    jobs = [partial(reader.read, piece) for piece in pieces]
    with closing(in_order(jobs, threads=threads, bytes_max=_AHEAD_BYTES)) as batches:
        for batch in batches:
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            if batch.num_rows:
                yield batch
            if left == 0:
                return


def pieces_of(plan: ScanPlan) -> list[Piece]:
    """All files of the plan, in pieces that several threads can share."""
    pieces = split(plan, target_size_in_bytes=_PIECE_BYTES)
    rows = pieces.column("file").to_pylist()
    starts = pieces.column("offset").to_pylist()
    # The next piece begins where one ends, and the last has no end: whatever the entry says about the file's size, no
    # row group is left out.
    ends = [
        following if row == next_row else None
        for row, next_row, following in zip(rows, [*rows, None][1:], [*starts, None][1:], strict=True)
    ]
    return [Piece(*piece) for piece in zip(rows, starts, ends, strict=True)]


@dataclass(frozen=True, slots=True)
class _File:
    """One data file of the plan, taken out of its columns."""

    row: int
    path: str
    delete_rows: list[int]
    residual: Predicate


class _Reader:
    def __init__(self, plan: ScanPlan, storage: Storage, wanted: StructType, *, use_threads: bool) -> None:
        self.use_threads = use_threads
        self.plan = plan
        self.storage = storage
        self.wanted = wanted
        # Who asks whether rows are deleted gets the deleted ones too.
        places = [i for i, f in enumerate(wanted.fields) if f.id == DELETED.id]
        self.deleted_column = places[0] if places else None
        self.positions = PositionDeletes(plan, storage)
        self.equality = EqualityDeletes(plan, storage)

    def read(self, piece: Piece) -> Iterator[Any]:
        file = self._file(piece.row)
        by_value, by_position = self._split(file.delete_rows)
        struct = self._needed(file, by_value)
        with opened_file(self.plan, self.storage, file.row, struct, use_threads=self.use_threads) as opened:
            projection = opened.projection
            stretches = opened.stretches(piece, file.residual)
            gone = self.positions.of(file.path, by_position) if stretches else _NOTHING_GONE
            for stretch in stretches:
                residual = TRUE if stretch.every_row_matches else file.residual
                for batch in opened.batches(stretch):
                    yield self._finish(replace(file, residual=residual), projection, batch, gone, by_value)

    def _file(self, row: int) -> _File:
        files = self.plan.files
        return _File(
            row=row,
            path=files.column("file_path")[row].as_py(),
            delete_rows=files.column("deletes")[row].as_py(),
            residual=self.plan.residual_of(row),
        )

    def _split(self, delete_rows: list[int]) -> tuple[list[int], list[int]]:
        content = self.plan.deletes.column("content")
        by_value = [r for r in delete_rows if content[r].as_py() == FileContent.EQUALITY_DELETES]
        return by_value, [r for r in delete_rows if r not in by_value]

    def _needed(self, file: _File, by_value: list[int]) -> StructType:
        """The wanted fields first, then those that only filters and deletes look at."""
        fields: dict[int, Field] = {f.id: f for f in self.wanted.fields}
        extra = key_columns(self.equality.field_ids(by_value), self.plan.metadata)
        schema = self.plan.schema
        for field_id in field_ids(file.residual):
            top = next(iter(reversed([*schema.ancestors(field_id)])), schema.field(field_id))
            extra.append(top)
        for field in united(extra):
            # A wanted struct may have been reduced to some of its fields: then it is read whole as well.
            if field.id not in fields:
                fields[field.id] = field
            elif fields[field.id] != field:
                fields[-field.id] = field
        return StructType(tuple(fields.values()))

    def _finish(
        self, file: _File, projection: Projection, batch: PlacedBatch, gone: Positions, by_value: list[int]
    ) -> Any:
        there = range(batch.position, batch.position + batch.columns.num_rows)
        supplied = supplied_columns(self.plan, file.row, self.wanted, there)
        rows: Any = project_arrow(projection, batch.columns, columns=projection.file_columns, metadata=supplied)
        deleted = self._deleted(rows, batch.position, gone, by_value)
        keep = self._matching(file.residual, rows)
        rows = rows.select(list(range(len(self.wanted.fields))))
        if self.deleted_column is not None and deleted is not None:
            rows = rows.set_column(self.deleted_column, rows.schema.field(self.deleted_column), pa.array(deleted))
        elif deleted is not None:
            keep = ~deleted if keep is None else keep & ~deleted
        return rows if keep is None or keep.all() else rows.filter(pa.array(keep))

    def _deleted(self, rows: Any, position: int, gone: Positions, by_value: list[int]) -> Any:
        """Which rows are deleted; None for none of them."""
        deleted: Any = self.equality.deleted(rows, by_value) if by_value else None
        first, last = np.searchsorted(gone, (position, position + rows.num_rows))
        if last > first:
            deleted = np.zeros(rows.num_rows, bool) if deleted is None else deleted
            deleted[gone[first:last] - position] = True
        return deleted

    def _matching(self, residual: Predicate, rows: Any) -> Any:
        """Which rows match; None for all of them."""
        if residual == TRUE:
            return None
        match: Any = matches(residual, rows, float_order=self.plan.float_order)
        return match.to_numpy(zero_copy_only=False)
