"""Rows of a plan's files by their positions, for those who have found out which rows they want.

Law: the row at a position is the one that reading the whole file gives there; deletes and filters are not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import StructType
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan
from skipstone.read.metadata_columns import supplied_columns
from skipstone.read.opened import rows_only
from skipstone.read.planned_file import Piece, opened_file
from skipstone.read.position_deletes import Positions
from skipstone.read.rows import pieces_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow


def read_rows_at(
    plan: ScanPlan, storage: Storage, *, wanted: StructType, positions: Mapping[int, Positions], threads: int = 0
) -> Any:
    """The columns wanted, of the rows at ascending `positions` by the file's place in the plan: as a table, file by
    file in the plan's order."""
    places = sorted(positions)
    chosen = plan.taking(places).unfiltered()
    threads = threads or os.cpu_count() or 1
    pieces = pieces_of(chosen)

    def read(piece: Piece) -> list[Any]:
        # Row groups are of unlike sizes: threads of pyarrow's that are done with their own help with the others'.
        return _read(chosen, storage, piece, wanted, positions[places[piece.row]], use_threads=threads > 1)

    batches = [batch for of_piece in in_parallel(read, pieces, threads) for batch in of_piece]
    table = pa.Table.from_batches(batches, to_arrow_schema(wanted))
    expected = sum(map(len, positions.values()))
    if table.num_rows != expected:
        paths = ", ".join(chosen.files.column("file_path").to_pylist()[:3])
        raise FormatViolation(
            f"Cannot read rows by position of {paths}: expected {expected:,} rows, got {table.num_rows:,}. A file is "
            "not what it was when it was planned."
        )
    return table


def _read(
    plan: ScanPlan, storage: Storage, piece: Piece, wanted: StructType, positions: Positions, *, use_threads: bool
) -> list[Any]:
    found = []
    with opened_file(plan, storage, piece.row, wanted, use_threads=use_threads) as opened:
        projection = opened.projection
        for stretch in opened.stretches(piece):
            of_stretch = _between(positions, stretch.position, stretch.position + stretch.stop)
            left = len(of_stretch)
            for batch in opened.batches(stretch) if left else ():
                asked = _between(of_stretch, batch.position, batch.position + batch.columns.num_rows)
                left -= len(asked)
                if len(asked):
                    # Taken as they are stored, so that only they are made into what is wanted.
                    rows = _taken(batch.columns, asked - batch.position)
                    supplied = supplied_columns(plan, piece.row, wanted, asked)
                    found.append(project_arrow(projection, rows, columns=projection.file_columns, metadata=supplied))
                if not left:
                    break
    return found


def _taken(batch: Any, indices: Positions) -> Any:
    # A batch without columns forgets how many rows are taken.
    return batch.take(pa.array(indices)) if batch.num_columns else rows_only(len(indices))


def _between(positions: Positions, start: int, stop: int) -> Positions:
    first, last = np.searchsorted(positions, (start, stop))
    return positions[first:last]
