"""ORC data files. Stretches are stripes, skipped by their statistics.

pyarrow keeps timestamps in nanoseconds and refuses a stripe with one beyond their range: columns that hold timestamps
are decoded here then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.orc

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.orc_types import from_orc_schema
from skipstone.predicate.nodes import TRUE, field_ids
from skipstone.read.opened import BATCH_ROWS_MAX, Batches, PlacedBatch, Question, Stretch, cut, damaged, rows_only
from skipstone.read.orc_columns import OrcColumns
from skipstone.storage.protocol import Storage
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.orc_stripes import from_orc_stripes
from skipstone.zones.build.orc_tail import read_orc_tail
from skipstone.zones.judge import prove

pa: Any = pyarrow
orc: Any = pyarrow.orc

_OUT_OF_RANGE = "out of range for nanosecond"


class OrcDataFile:
    def __init__(
        self, storage: Storage, path: str, *, batch_rows_max: int = BATCH_ROWS_MAX, use_threads: bool = False
    ) -> None:
        self._path = path
        self._batch_rows_max = batch_rows_max
        self._input: Any = storage.open(path)
        try:
            self._file = orc.ORCFile(self._input)
            self.struct = from_orc_schema(self._file.schema, source=path)
            self.num_rows = int(self._file.nrows)
            self._names = [f.name for f in self._file.schema]
            self._bytes = FileBytes.of_arrow(self._input, path)
            self._tail = read_orc_tail(self._bytes)
        except BaseException:
            self._input.close()
            raise
        if len(self._tail.stripes) != self._file.nstripes or sum(self._tail.stripe_rows) != self.num_rows:
            self._input.close()
            raise FormatViolation(
                f"Invalid ORC file {path}: expected {self._file.nstripes} stripes of {self.num_rows} rows in all, "
                f"got {len(self._tail.stripes)} of {sum(self._tail.stripe_rows)}."
            )
        self._columns = OrcColumns(self._bytes, self._tail)

    def stretches(self, question: Question) -> list[Stretch]:
        sizes = np.array(self._tail.stripe_rows, np.int64)
        starts = np.cumsum(sizes) - sizes
        inside = np.array([question.has_byte(s.offset) for s in self._tail.stripes], bool)
        none = np.zeros(len(sizes), bool)
        every = np.full(len(sizes), question.predicate == TRUE)
        if question.predicate != TRUE and inside.any():
            wanted = field_ids(question.predicate)
            zones = from_orc_stripes(self._bytes, question.projection, field_ids=wanted)
            if zones is not None:
                proofs = prove(question.predicate, zones, question.float_order)
                none, every = (p.to_numpy(zero_copy_only=False) for p in (proofs.none, proofs.every))
        return [
            Stretch(
                number=number,
                position=int(starts[number]),
                start=0,
                stop=int(sizes[number]),
                every_row_matches=bool(every[number]),
            )
            for number in np.flatnonzero(inside & ~none & (sizes > 0)).tolist()
        ]

    def batches(self, columns: Sequence[int], stretch: Stretch) -> Batches:
        if not columns:
            yield PlacedBatch(stretch.position, rows_only(stretch.stop))
            return
        batch = self._read(columns, stretch.number)
        if batch.num_rows != stretch.stop:
            short = ValueError(f"expected {stretch.stop} rows, got {batch.num_rows}")
            raise damaged(self._path, f"stripe {stretch.number}", short)
        for start in range(0, batch.num_rows, self._batch_rows_max):
            placed = cut(start, batch.slice(start, self._batch_rows_max), stretch)
            if placed is not None:
                yield placed

    def _read(self, columns: Sequence[int], stripe: int) -> Any:
        try:
            return self._read_by_pyarrow(columns, stripe)
        except pa.ArrowInvalid as error:
            if _OUT_OF_RANGE not in str(error):
                raise damaged(self._path, f"stripe {stripe}", error) from error
        except (pa.ArrowException, OSError) as error:
            raise damaged(self._path, f"stripe {stripe}", error) from error
        return self._read_beyond_range(columns, stripe)

    def _read_by_pyarrow(self, columns: Sequence[int], stripe: int) -> Any:
        names = [self._names[c] for c in columns]
        batch = self._file.read_stripe(stripe, columns=names)
        return batch if batch.schema.names == names else batch.select(names)

    def _read_beyond_range(self, columns: Sequence[int], stripe: int) -> Any:
        """Columns that hold timestamps decoded here, the rest by pyarrow."""
        ours = [c for c in columns if self._columns.holds_timestamps(c)]
        others = [c for c in columns if c not in ours]
        arrays = {c: self._columns.read(stripe, c) for c in ours}
        try:
            if others:
                arrays |= zip(others, self._read_by_pyarrow(others, stripe).columns, strict=True)
        except (pa.ArrowException, OSError) as error:
            raise damaged(self._path, f"stripe {stripe}", error) from error
        return pa.RecordBatch.from_arrays([arrays[c] for c in columns], [self._names[c] for c in columns])

    def close(self) -> None:
        self._input.close()
