"""Rows written by our own writer inside Spark's tasks: for formats and types that Spark's writer does not store right.

Law: a task hands its entries to the driver when it ends well, so files of attempts that failed, were killed or lost a
race belong to nobody, and removing orphan files finds them.

Spec: "Writing data files".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext

from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage
from skipstone.write.rows import RowsWriter

ENTRIES: Final = "entries"
# Several tasks share a machine; each has its own buffer.
_BUFFER_BYTES: Final = 128 * 1024 * 1024


def write_in_tasks(
    frame: Any, *, metadata: TableMetadata, storage: Storage, with_lineage: bool = False
) -> list[pa.Table]:
    """Run the job; one table of entries a task that had rows."""
    names = frame.columns
    # Spark takes columns of Python tasks by name, and reads a dot in it as a way into a struct.
    plain = frame.toDF(*[f"c{i}" for i in range(len(names))])
    return collected(plain.mapInArrow(_writing(slim(metadata), storage, names, with_lineage), f"{ENTRIES} binary"))


def _writing(
    metadata: TableMetadata, storage: Storage, names: list[str], with_lineage: bool
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def write(batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        writer = RowsWriter(
            metadata=metadata, storage=storage, task=task, with_lineage=with_lineage, buffer_bytes=_BUFFER_BYTES
        )
        try:
            for batch in batches:
                writer.write(batch.rename_columns(names))
            entries = writer.finish()
            storage.settle()
        except BaseException:
            writer.abandon()
            raise
        yield serialized(entries)

    return write


def serialized(entries: pa.Table) -> pa.RecordBatch:
    """Entries as one value, because their type depends on the table."""
    sink: Any = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, entries.schema) as stream:
        stream.write_table(entries)
    return pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=[ENTRIES])


def collected(frame: Any) -> list[pa.Table]:
    """The entries that tasks handed over."""
    return [t for row in frame.collect() for t in [pa.ipc.open_stream(bytes(row[0])).read_all()] if t.num_rows]


def slim(metadata: TableMetadata) -> TableMetadata:
    """The metadata without its history: what a writer needs, small enough to travel with every task."""
    return replace(
        metadata,
        snapshots=(),
        refs={},
        current_snapshot_id=None,
        snapshot_log=(),
        metadata_log=(),
        statistics=(),
        partition_statistics=(),
    )
