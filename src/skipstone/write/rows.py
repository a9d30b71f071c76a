"""Rows in, data files out: the write line from Arrow to the table of added files that a commit takes.

Rows are made to fit, routed to partitions, sorted and written in files of the target size. Memory is bounded: what
waits for a file is capped, and the fullest partition is written first. Either every file is there at the end, or an
error came out and none is.

Spec: "Writing data files", "Partitioning", "Sorting", "Row Lineage".
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import UNSORTED, SortOrder
from skipstone.metadata.reserved import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field, StructType
from skipstone.storage.protocol import Storage
from skipstone.write.conform import check_columns, conform_batch
from skipstone.write.files import added_files
from skipstone.write.locations import DataLocations
from skipstone.write.metrics import MetricsPlan, plan_metrics
from skipstone.write.metrics_modes import metrics_modes
from skipstone.write.rolling import SMALL_FILE_BYTES, FileKind, RollingFiles
from skipstone.write.routing import Partition, Router
from skipstone.write.settings import WriteSettings, data_settings
from skipstone.write.sorting import sort_table
from skipstone.write.storing import SmallFiles, Store

Rows: TypeAlias = "pa.RecordBatchReader | pa.Table | pa.RecordBatch"

# What may wait in memory for its file, over all partitions.
BUFFER_BYTES_DEFAULT: Final = 256 * 1024 * 1024
OPEN_FILES_MAX: Final = 64
# Threads are worth starting from about this much on.
PARALLEL_BYTES_MIN: Final = 8 * 1024 * 1024
THREADS_MAX: Final = min(8, os.cpu_count() or 1)
LINEAGE_FIELDS: Final = (ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)


def write_rows(
    rows: Rows,
    *,
    metadata: TableMetadata,
    storage: Storage,
    schema: Schema | None = None,
    spec: PartitionSpec | None = None,
    sort_order: SortOrder | None = None,
    file_format: str | None = None,
    with_lineage: bool = False,
    task: int = 0,
    buffer_bytes: int = BUFFER_BYTES_DEFAULT,
    target_file_size_bytes: int | None = None,
) -> pa.Table:
    """Write rows as data files of a table and return their entries, ready for a commit.

    Without `schema`, `spec` and `sort_order` the table's current ones hold. `with_lineage` takes the columns `_row_id`
    and `_last_updated_sequence_number` from the rows, for rows that move from other files; null inherits. `task` tells
    concurrent writers of one job apart in file names.
    """
    writer = RowsWriter(
        metadata=metadata,
        storage=storage,
        schema=schema,
        spec=spec,
        sort_order=sort_order,
        file_format=file_format,
        with_lineage=with_lineage,
        task=task,
        buffer_bytes=buffer_bytes,
        target_file_size_bytes=target_file_size_bytes,
    )
    try:
        check_columns(rows.schema, writer.fields)
        for batch in batches_of(rows):
            writer.write(batch)
        return writer.finish()
    except BaseException:
        writer.abandon()
        raise


class RowsWriter:
    """The same, batch by batch: `write`, then `finish` or `abandon`."""

    def __init__(
        self,
        *,
        metadata: TableMetadata,
        storage: Storage,
        schema: Schema | None = None,
        spec: PartitionSpec | None = None,
        sort_order: SortOrder | None = None,
        file_format: str | None = None,
        with_lineage: bool = False,
        task: int = 0,
        buffer_bytes: int = BUFFER_BYTES_DEFAULT,
        target_file_size_bytes: int | None = None,
    ) -> None:
        self._schema = metadata.current_schema if schema is None else schema
        self._spec = metadata.default_spec if spec is None else spec
        self._order = _usable_order(metadata, sort_order)
        lineage = lineage_fields(metadata, self._schema) if with_lineage else ()
        layout = _layout(self._schema, lineage, self._order, tuple(metadata.properties.items()), file_format)
        settings = layout.settings
        if target_file_size_bytes is not None:
            settings = replace(settings, target_file_size_bytes=target_file_size_bytes)
        self.fields = layout.struct.fields
        self._target = layout.target
        self._kind = FileKind(
            storage=storage,
            struct=layout.struct,
            settings=settings,
            metrics=layout.metrics,
            sort_order_id=self._order.order_id,
        )
        self._router = Router(self._schema, self._spec, layout.struct)
        self._locations = DataLocations(metadata, task=task)
        self._buffer_bytes = buffer_bytes
        self._buffers: dict[Hashable, _Buffer] = {}
        self._waiting_bytes = 0
        self._small = SmallFiles(storage)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows in; files may be written, but none is part of the table before a commit."""
        conformed = conform_batch(batch, self.fields, self._target)
        rows, size_in_bytes = conformed.num_rows, conformed.nbytes
        is_small = size_in_bytes <= SMALL_FILE_BYTES
        for partition, part in self._router.route(conformed):
            buffer = self._buffer(partition)
            # To weigh every part of a small batch would take longer than most of what else happens to it.
            share = size_in_bytes * part.num_rows // rows + 1 if is_small else part.nbytes
            buffer.add(part, share)
            self._waiting_bytes += share
            if buffer.waiting_bytes >= self._flush_bytes:
                self._flush(buffer)
        while self._waiting_bytes > self._buffer_bytes:
            self._flush(max(self._buffers.values(), key=lambda b: b.waiting_bytes))

    def finish(self) -> pa.Table:
        """Write what waits, close every file, and describe them all."""
        buffers = list(self._buffers.values())
        if len(buffers) > 1 and self._waiting_bytes >= PARALLEL_BYTES_MIN:
            store = self._kind.storage.write_new
            with ThreadPoolExecutor(THREADS_MAX) as pool:
                # Each partition has files of its own, and pyarrow lets go of the interpreter while it encodes.
                for _ in pool.map(lambda buffer: self._end(buffer, store), buffers):
                    pass
        else:
            for buffer in buffers:
                self._end(buffer, self._small.add)
            self._small.finish()
        files = [f for b in buffers for f in b.files.files]
        return added_files(files, self._router.partition_type, self._spec.spec_id)

    def abandon(self) -> None:
        """Remove every file of this write."""
        self._small.stop()
        for buffer in self._buffers.values():
            buffer.files.abandon()

    @property
    def _flush_bytes(self) -> int:
        """How much of one partition waits before it is written: a row group, or a file's worth when sorted."""
        if self._order.is_unsorted:
            return self._kind.settings.row_group_size_bytes
        return self._buffer_bytes

    def _buffer(self, partition: Partition) -> _Buffer:
        found = self._buffers.get(partition.key)
        if found is None:
            path, extension = partition.path, self._kind.extension
            files = RollingFiles(self._kind, partition.values, lambda: self._locations.new(path, extension))
            found = self._buffers[partition.key] = _Buffer(files)
        return found

    def _end(self, buffer: _Buffer, store: Store) -> None:
        rows = self._in_order(buffer)
        if rows is not None:
            buffer.files.write_last(rows, store=store)
        buffer.files.close()

    def _flush(self, buffer: _Buffer) -> None:
        self._waiting_bytes -= buffer.waiting_bytes
        self._write_out(buffer)
        self._limit_open_files(buffer)

    def _write_out(self, buffer: _Buffer) -> None:
        rows = self._in_order(buffer)
        if rows is None:
            return
        buffer.files.write(rows)
        if not self._order.is_unsorted:
            # A file is sorted from its first row to its last, so rows sorted apart go to another file.
            buffer.files.close()

    def _in_order(self, buffer: _Buffer) -> pa.Table | None:
        """What waits for its file, in the order it is written in."""
        rows = buffer.take()
        if rows is None or self._order.is_unsorted:
            return rows
        return sort_table(rows, self._order, self._schema, self._kind.struct)

    def _limit_open_files(self, current: _Buffer) -> None:
        is_open = [b for b in self._buffers.values() if b.files.is_open and b is not current]
        if len(is_open) >= OPEN_FILES_MAX:
            is_open[0].files.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """What follows from the table alone, whatever the rows."""

    struct: StructType
    target: pa.Schema
    settings: WriteSettings
    metrics: MetricsPlan


@lru_cache(maxsize=64)
def _layout(
    schema: Schema,
    lineage: tuple[Field, ...],
    order: SortOrder,
    properties: tuple[tuple[str, str], ...],
    file_format: str | None,
) -> _Layout:
    """Kept for the next write: small commits follow one another with the same table."""
    struct = StructType((*schema.fields, *lineage))
    known = dict(properties)
    return _Layout(
        struct=struct,
        target=to_arrow_schema(struct),
        settings=data_settings(known, schema, file_format=file_format),
        metrics=plan_metrics(struct, metrics_modes(schema, known, order)),
    )


class _Buffer:
    """Rows of one partition that wait to be written, and the files they go to."""

    def __init__(self, files: RollingFiles) -> None:
        self.files = files
        self.waiting_bytes = 0
        self._batches: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch, size_in_bytes: int) -> None:
        self._batches.append(batch)
        self.waiting_bytes += size_in_bytes

    def take(self) -> pa.Table | None:
        batches, self._batches = self._batches, []
        self.waiting_bytes = 0
        return pa.Table.from_batches(batches) if batches else None


def batches_of(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Rows in any of their forms, batch by batch."""
    if isinstance(rows, pa.RecordBatch):
        yield rows
    elif isinstance(rows, pa.Table):
        yield from rows.to_batches()
    else:
        yield from rows


def _usable_order(metadata: TableMetadata, given: SortOrder | None) -> SortOrder:
    if given is None:
        return metadata.default_sort_order
    if given.is_unsorted:
        return UNSORTED
    if metadata.sort_orders_by_id.get(given.order_id) != given:
        raise InvalidInput(
            f"Cannot write rows in sort order {given.order_id}: expected an order of the table, got {given}. "
            f"Add it to the table first."
        )
    return given


def lineage_fields(metadata: TableMetadata, schema: Schema) -> tuple[Field, ...]:
    if metadata.format_version < 3:
        raise InvalidInput(
            f"Cannot write row lineage to a v{metadata.format_version} table: expected v3 or later. Upgrade the table."
        )
    for f in LINEAGE_FIELDS:
        if schema.struct.field_by_name(f.name) is not None:
            raise InvalidInput(f"Cannot write row lineage: the table has a column of its own named {f.name!r}.")
    return LINEAGE_FIELDS
