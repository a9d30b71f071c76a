"""Values that rows keep when a statement changes others of theirs, read here once it is known which rows those are.

To carry every column through a join for one row in a hundred takes Spark longer than all else that a merge does. So the
join is asked without the columns that only stay as they are; those are read beside it, of the rows that can be left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.reserved import FILE, POS
from skipstone.metadata.types import Field, StructType
from skipstone.read.position_deletes import Positions
from skipstone.read.rows_at import read_rows_at
from skipstone.scan import Scan
from skipstone.spark.row_changes import path_of
from skipstone.spark.session import cores_of
from skipstone.spark.settled import ACTION
from skipstone.spark.shown_arrow import shown_batch, spark_arrow_schema

pa: Any = pyarrow
pc: Any = pyarrow.compute

# More cores than this for each of ours read everything sooner than we read some of it.
_TIMES_OURS_MAX: Final = 2


def reads_sooner_here(spark: Any) -> bool:
    """Whether this process reads a few columns, or a few rows, sooner than Spark's tasks read all."""
    return cores_of(spark) <= _TIMES_OURS_MAX * (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptValues:
    """For each action the columns that its rows keep: null in the rows that come of the join until they are filled in.

    `numbered` are the paths of files that rows tell by number.
    """

    scan: Scan
    fields: Mapping[int, Sequence[Field]]
    numbered: Sequence[str] = ()

    @contextmanager
    def reading(self, positions: Mapping[int, Positions]) -> Iterator[Callable[[Any], Any]]:
        """What fills the values in, of rows that are among those at these positions of the plan's files.

        They are read meanwhile: while Spark plans and joins, most of this machine has nothing to do.
        """
        wanted = StructType(tuple({f.id: f for fields in self.fields.values() for f in fields}.values()))
        with ThreadPoolExecutor(1, thread_name_prefix="skipstone-kept") as pool:
            values = pool.submit(self._read, positions, wanted) if wanted.fields and positions else None
            yield lambda table: table if values is None else self._filled(table, wanted, positions, values.result())

    def _read(self, positions: Mapping[int, Positions], wanted: StructType) -> Any:
        """The columns as Spark hands them over."""
        found = read_rows_at(self.scan.plan(), self.scan.storage, wanted=wanted, positions=positions)
        shown = shown_batch(found.combine_chunks().to_batches()[0], wanted, spark_arrow_schema(wanted))
        return pa.Table.from_batches([shown])

    def _filled(self, table: Any, wanted: StructType, positions: Mapping[int, Positions], values: Any) -> Any:
        """The rows with the values they keep."""
        actions = table.column(ACTION)
        for i, field in enumerate(wanted.fields):
            keeps = pa.array([action for action, fields in self.fields.items() if field in fields], pa.int32())
            is_kept = pc.is_in(actions, value_set=keeps)
            rows = np.flatnonzero(is_kept.to_numpy())
            places = np.full(table.num_rows, -1)
            places[rows] = self._places(table.take(pa.array(rows)), positions)
            at = table.schema.get_field_index(field.name)
            known = table.column(at)
            kept = values.column(i).take(pa.array(places, mask=places < 0)).cast(known.type)
            table = table.set_column(at, table.schema.field(at), pc.if_else(is_kept, kept, known))
        return table

    def _places(self, marks: Any, positions: Mapping[int, Positions]) -> npt.NDArray[np.int64]:
        """Where rows are among those that were read, which come file by file."""
        told = marks.column(FILE.name).combine_chunks().dictionary_encode()
        paths = pa.array([path_of(name, self.numbered) for name in told.dictionary.to_pylist()], pa.string())
        numbers = pc.index_in(paths, value_set=self.scan.plan().files.column("file_path")).to_numpy()
        starts = np.cumsum([0, *(len(of_file) for of_file in positions.values())])
        found = np.empty(marks.num_rows, np.int64)
        files, places = numbers[told.indices.to_numpy()], marks.column(POS.name).to_numpy()
        for start, (file, of_file) in zip(starts, positions.items()):
            mine = files == file
            found[mine] = start + np.searchsorted(of_file, places[mine])
        return found
