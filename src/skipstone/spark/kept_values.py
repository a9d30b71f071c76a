"""Values that rows keep when a statement changes others of theirs, read here once it is known which rows those are.

To carry every column through a join for one row in a hundred takes Spark longer than all else that a merge does. So the
join is asked without the columns that only stay as they are; those are read afterwards, of the rows that are left.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.metadata.reserved import FILE, POS
from skipstone.metadata.types import Field, StructType
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
    """For each action the columns that its rows keep: null in the rows that come of the join until they are read.

    `numbered` are the paths of files that rows tell by number.
    """

    scan: Scan
    fields: Mapping[int, Sequence[Field]]
    numbered: Sequence[str] = ()

    def filled(self, table: Any) -> Any:
        """The rows with the values they keep."""
        actions = table.column(ACTION)
        keeping = pa.array([i for i, fields in self.fields.items() if fields], pa.int32())
        rows = np.flatnonzero(pc.is_in(actions, value_set=keeping).to_numpy())
        if not len(rows):
            return table
        wanted = tuple({f.id: f for fields in self.fields.values() for f in fields}.values())
        values = self._read(table.select([FILE.name, POS.name]).take(pa.array(rows)), wanted)
        places = np.full(table.num_rows, -1)
        places[rows] = np.arange(len(rows))
        for i, field in enumerate(wanted):
            keeps = pa.array([a for a, fields in self.fields.items() if field in fields], pa.int32())
            at = table.schema.get_field_index(field.name)
            known, is_kept = table.column(at), pc.is_in(actions, value_set=keeps)
            kept = values.column(i).take(pa.array(places, mask=places < 0)).cast(known.type)
            table = table.set_column(at, table.schema.field(at), pc.if_else(is_kept, kept, known))
        return table

    def _read(self, marks: Any, wanted: tuple[Field, ...]) -> Any:
        """The columns of rows at these places, in their order, as Spark hands columns over."""
        plan = self.scan.plan()
        told = marks.column(FILE.name).combine_chunks().dictionary_encode()
        paths = pa.array([path_of(name, self.numbered) for name in told.dictionary.to_pylist()], pa.string())
        files = pc.index_in(paths, value_set=plan.files.column("file_path")).to_numpy()
        file, position = files[told.indices.to_numpy()], marks.column(POS.name).to_numpy()
        order = np.lexsort((position, file))
        is_new = np.ones(len(order), bool)
        is_new[1:] = (np.diff(file[order]) != 0) | (np.diff(position[order]) != 0)
        once = order[is_new]
        first = np.flatnonzero(np.diff(file[once], prepend=-1))
        asked = dict(zip(file[once][first].tolist(), np.split(position[once], first[1:]), strict=True))
        struct = StructType(wanted)
        found = read_rows_at(plan, self.scan.storage, wanted=struct, positions=asked)
        shown = shown_batch(found.combine_chunks().to_batches()[0], struct, spark_arrow_schema(struct))
        back = np.empty(len(order), np.int64)
        back[order] = np.cumsum(is_new) - 1
        return pa.Table.from_batches([shown]).take(pa.array(back))
