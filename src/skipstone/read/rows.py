"""The rows of a plan as Arrow batches.

For each data file: the columns wanted, those the residual filter and equality deletes need, and the metadata columns
are projected by field id; deleted and non-matching rows are dropped; the wanted columns are what is left.

Spec: "Column Projection", "Row Lineage".
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.errors import Unsupported
from skipstone.metadata.arrow_types import to_arrow_schema
from skipstone.metadata.manifest import FileContent
from skipstone.metadata.name_mapping import NAME_MAPPING_PROPERTY, NameMapping, parse_name_mapping
from skipstone.metadata.projection import Projection, resolve
from skipstone.metadata.projection_arrow import project_arrow
from skipstone.metadata.types import Field, StructType
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.arrow_filter import matches
from skipstone.predicate.nodes import TRUE, Predicate, field_ids
from skipstone.read.equality_deletes import EqualityDeletes, key_columns
from skipstone.read.metadata_columns import supplied_columns
from skipstone.read.opened import open_file
from skipstone.read.position_deletes import PositionDeletes, Positions
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute


def read_plan(
    plan: ScanPlan,
    storage: Storage,
    *,
    wanted: StructType,
    threads: int | None = None,
    limit: int | None = None,
) -> Iterator[Any]:
    """Batches of the wanted columns, files in the plan's order. `wanted` may name metadata columns by their ids."""
    reader = _Reader(plan, storage, wanted)
    left = limit
    for batch in _in_order(reader, len(plan), threads or os.cpu_count() or 1):
        if left is not None:
            batch = batch.slice(0, left)
            left -= batch.num_rows
        if batch.num_rows:
            yield batch
        if left == 0:
            return


def _in_order(reader: _Reader, num_files: int, threads: int) -> Iterator[Any]:
    """Files are read ahead by several threads and handed out in order; no more are held than threads plus one."""
    if num_files <= 1 or threads <= 1:
        for row in range(num_files):
            yield from reader.read(row)
        return
    pending: deque[Future[list[Any]]] = deque()
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            for row in range(num_files):
                pending.append(pool.submit(lambda r: list(reader.read(r)), row))
                if len(pending) > threads:
                    yield from pending.popleft().result()
            while pending:
                yield from pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


@dataclass(frozen=True, slots=True)
class _File:
    """One data file of the plan, taken out of its columns."""

    row: int
    path: str
    file_format: str
    delete_rows: list[int]
    residual: Predicate


class _Reader:
    def __init__(self, plan: ScanPlan, storage: Storage, wanted: StructType) -> None:
        self.plan = plan
        self.storage = storage
        self.wanted = wanted
        self.arrow_schema: Any = to_arrow_schema(wanted)
        self.positions = PositionDeletes(plan, storage)
        self.equality = EqualityDeletes(plan, storage)
        text = plan.metadata.properties.get(NAME_MAPPING_PROPERTY)
        self.name_mapping: NameMapping | None = None if text is None else parse_name_mapping(text)

    def read(self, row: int) -> Iterator[Any]:
        file = self._file(row)
        by_value, by_position = self._split(file.delete_rows)
        struct = self._needed(file, by_value)
        opened = open_file(self.storage, file.path, file.file_format)
        try:
            projection = resolve(
                struct,
                opened.struct,
                partition_spec=self.plan.metadata.spec(self.plan.files.column("spec_id")[row].as_py()),
                partition=self.plan.partition_of(row),
                name_mapping=self.name_mapping,
                source=file.path,
            )
            gone = self.positions.of(file.path, by_position)
            stretches = opened.stretches(file.residual, projection, self.plan.float_order)
            for position, batch in opened.batches(projection.file_columns, stretches.tolist()):
                yield self._finish(file, projection, batch, position, gone, by_value)
        finally:
            opened.close()

    def _file(self, row: int) -> _File:
        files = self.plan.files
        path = files.column("file_path")[row].as_py()
        if files.column("key_metadata")[row].is_valid:
            raise Unsupported(f"Cannot read {path}: the file is encrypted, which is not read yet.")
        return _File(
            row=row,
            path=path,
            file_format=files.column("file_format")[row].as_py(),
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
        for field in extra:
            # A wanted struct may have been reduced to some of its fields: then it is read whole as well.
            if field.id not in fields:
                fields[field.id] = field
            elif fields[field.id] != field:
                fields[-field.id] = field
        return StructType(tuple(fields.values()))

    def _finish(
        self, file: _File, projection: Projection, batch: Any, position: int, gone: Positions, by_value: list[int]
    ) -> Any:
        supplied = supplied_columns(self.plan, file.row, self.wanted, position, batch.num_rows)
        rows: Any = project_arrow(projection, batch, columns=projection.file_columns, metadata=supplied)
        keep = self._keep(file, rows, position, gone, by_value)
        rows = rows.select(list(range(len(self.wanted.fields))))
        return rows if keep is None else rows.filter(pa.array(keep))

    def _keep(self, file: _File, rows: Any, position: int, gone: Positions, by_value: list[int]) -> Any:
        """Which rows stay; None for all of them."""
        keep: Any = None
        first, last = np.searchsorted(gone, (position, position + rows.num_rows))
        if last > first:
            keep = np.ones(rows.num_rows, bool)
            keep[gone[first:last] - position] = False
        if by_value:
            stays = ~self.equality.deleted(rows, by_value)
            keep = stays if keep is None else keep & stays
        if file.residual != TRUE:
            match: Any = matches(file.residual, rows, float_order=self.plan.float_order)
            hits = match.to_numpy(zero_copy_only=False)
            keep = hits if keep is None else keep & hits
        return None if keep is None or keep.all() else keep
