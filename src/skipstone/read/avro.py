"""Avro data files. A stretch is a series of blocks, which nothing can skip: Avro keeps no statistics.

The compressed file is held in memory, its records only a stretch at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow

from skipstone.metadata.avro.container import Block, parse_container
from skipstone.metadata.avro.fixed_lengths import as_written
from skipstone.metadata.avro.reading import decode
from skipstone.metadata.formats.avro_read_types import from_avro_schema
from skipstone.predicate.nodes import TRUE
from skipstone.read.opened import BATCH_BYTES, BATCH_ROWS_MAX, Batches, PlacedBatch, Question, Stretch, rows_only
from skipstone.storage.protocol import Storage

pa: Any = pyarrow


class AvroDataFile:
    def __init__(
        self,
        storage: Storage,
        path: str,
        *,
        batch_rows_max: int = BATCH_ROWS_MAX,
        use_threads: bool = False,
        partition: str | None = None,
    ) -> None:
        self._batch_rows_max = batch_rows_max
        self._container = parse_container(storage.read(path), source=path)
        if partition is not None:
            self._container = as_written(self._container, (partition,))
        self.struct = from_avro_schema(self._container.schema, source=path)
        self.num_rows = self._container.record_count
        self._names = [f["name"] for f in self._container.schema["fields"]]
        self._series = list(_in_series(self._container.blocks))

    def stretches(self, question: Question) -> list[Stretch]:
        found: list[Stretch] = []
        position = 0
        for number, blocks in enumerate(self._series):
            rows = sum(b.record_count for b in blocks)
            if rows and question.has_byte(blocks[0].offset):
                every = question.predicate == TRUE
                found.append(Stretch(number=number, position=position, start=0, stop=rows, every_row_matches=every))
            position += rows
        return found

    def batches(self, columns: Sequence[int], stretch: Stretch) -> Batches:
        if not columns:
            yield PlacedBatch(stretch.position, rows_only(stretch.stop))
            return
        names = [self._names[c] for c in columns]
        table: Any = decode(replace(self._container, blocks=self._series[stretch.number]), fields=names)
        position = stretch.position
        for batch in table.select(names).to_batches(max_chunksize=self._batch_rows_max):
            yield PlacedBatch(position, batch)
            position += batch.num_rows

    def close(self) -> None:
        pass


def _in_series(blocks: Sequence[Block]) -> Sequence[tuple[Block, ...]]:
    """Neighbouring blocks together, up to the rows and bytes of a batch."""
    series: list[list[Block]] = []
    rows = size = 0
    for block in blocks:
        if not series or rows + block.record_count > BATCH_ROWS_MAX or size + block.length > BATCH_BYTES:
            series.append([])
            rows = size = 0
        series[-1].append(block)
        rows += block.record_count
        size += block.length
    return [tuple(s) for s in series]
