"""Writing through the data source: tasks write files with our own writer, the driver commits their entries.

Laws: what a task wrote is visible after the commit only, and only what the attempt wrote that Spark took. Files of a
job that failed are removed; after a commit with unknown outcome none is.

Spec: "Writing data files".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from skipstone.commit import Append, Change, ReplacePartitions
from skipstone.errors import CommitRejected, InvalidInput, SkipstoneError, what_exists
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import UuidType
from skipstone.predicate import FloatOrder, as_predicate, bind
from skipstone.row_level import RowLevel
from skipstone.spark.source_options import SourceOptions
from skipstone.spark.task_writes import serialized, slim
from skipstone.storage import absolute_location, storage_for
from skipstone.storage.protocol import Storage
from skipstone.stream_batches import Batch, Once
from skipstone.table import Table
from skipstone.write.files import added_files
from skipstone.write.rows import RowsWriter

_BUFFER_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """The entries of the files that one task wrote, as an Arrow stream."""

    entries: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWriter:
    """What tasks need to write: no catalog is asked from a task."""

    metadata: TableMetadata
    storage: Storage
    names: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, schema: Any) -> TaskWriter:
        return cls(metadata=slim(table.metadata), storage=table.storage, names=_names(table, schema.names))

    def write(self, batches: Iterator[Any]) -> Written:
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        writer = RowsWriter(metadata=self.metadata, storage=self.storage, task=task, buffer_bytes=_BUFFER_BYTES)
        try:
            for batch in batches:
                writer.write(self._as_stored(batch.rename_columns(list(self.names))))
            entries = writer.finish()
            self.storage.settle()
        except BaseException:
            writer.abandon()
            raise
        value: Any = serialized(entries).column(0)[0]
        return Written(entries=value.as_py())

    def _as_stored(self, batch: Any) -> Any:
        """The batch with UUIDs as bytes: Spark has them as text."""
        for f in self.metadata.current_schema.fields:
            place = batch.schema.get_field_index(f.name)
            if isinstance(f.type, UuidType) and place >= 0:
                made = pa.array([_uuid_bytes(v, f.name) for v in batch.column(place).to_pylist()], pa.binary(16))
                batch = batch.set_column(place, f.name, made)
        return batch


class BatchWriter(DataSourceArrowWriter):
    """`df.write.format("skipstone")`."""

    def __init__(self, options: SourceOptions, schema: Any, overwrite: bool) -> None:
        self._options, self._overwrite = options, overwrite
        self._tasks = TaskWriter.of(options.table(), schema)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self._tasks.write(iterator)

    def commit(self, messages: Sequence[Any]) -> None:
        table, files = self._options.table(), _files(messages, self._tasks.metadata)
        change = _change(table, files, self._tasks.metadata, self._options, overwrite=self._overwrite)
        try:
            if change is not None:
                table.apply(change)
        except CommitRejected:
            _remove(messages, self._tasks.storage)
            raise

    def abort(self, messages: Sequence[Any]) -> None:
        _remove_if_tasks_failed(messages, self._tasks.storage)


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("skipstone")`: each batch once."""

    def __init__(self, options: SourceOptions, schema: Any, overwrite: bool) -> None:
        self._options, self._overwrite = options, overwrite
        self._tasks = TaskWriter.of(options.table(), schema)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self._tasks.write(iterator)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:
        table, files = self._options.table(), _files(messages, self._tasks.metadata)
        batch = Batch(query_id=_query_id(self._options), batch_id=batchId)
        try:
            with Once(table, batch) as target:
                if target is not None:
                    change = _change(target, files, self._tasks.metadata, self._options, overwrite=self._overwrite)
                    target.apply(Append(files=files) if change is None else change)
                    return
        except CommitRejected:
            _remove(messages, self._tasks.storage)
            raise
        _remove(messages, self._tasks.storage)  # the table has the batch: these files are of a second try

    def abort(self, messages: Sequence[Any], batchId: int) -> None:
        _remove_if_tasks_failed(messages, self._tasks.storage)


def _uuid_bytes(value: Any, name: str) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    try:
        return uuid.UUID(value).bytes
    except (ValueError, AttributeError):
        raise InvalidInput(f"Cannot write column {name!r}: expected a uuid, got {value!r}.") from None


def _names(table: Table, given: Sequence[str]) -> tuple[str, ...]:
    """The table's names of the given columns: the same, or the same but for their case."""
    known, found = [f.name for f in table.schema.fields], []
    for name in given:
        alike = [n for n in known if n == name] or [n for n in known if n.lower() == name.lower()]
        if len(alike) != 1:
            raise InvalidInput(
                f"Cannot write column {name!r}: {table.name} does not have it. {what_exists('Columns', name, known)} "
                "Add it to the schema first, or leave it out."
            )
        found.append(alike[0])
    return tuple(found)


def _files(messages: Sequence[Any], metadata: TableMetadata) -> pa.Table:
    tables = [pa.ipc.open_stream(m.entries).read_all() for m in messages if m is not None]
    tables = [t for t in tables if t.num_rows]
    if tables:
        return pa.concat_tables(tables)
    return added_files([], metadata.default_spec.partition_type(metadata.current_schema), metadata.default_spec_id)


def _change(
    table: Table, files: pa.Table, written_by: TableMetadata, options: SourceOptions, *, overwrite: bool
) -> Change | None:
    """The change that a job makes; None if there is nothing to do."""
    schema = written_by.current_schema
    if not overwrite:
        return Append(files=files, ref=options.branch, written_with=schema) if files.num_rows else None
    if options.replaces_partitions:
        if files.num_rows == 0:
            return None
        return ReplacePartitions(files=files, ref=options.branch, written_with=schema)
    predicate = bind(
        as_predicate(options.given.get("filter")), table.schema, table=table.name, float_order=FloatOrder.SPARK
    )
    level = RowLevel(metadata=table.metadata, storage=table.storage, ref=options.branch, float_order=FloatOrder.SPARK)
    if files.num_rows == 0:
        return level.delete(predicate)
    change: Any = level.overwrite(predicate, files)
    replaced: Change = replace(change, written_with=schema)
    return replaced


def _remove(messages: Sequence[Any], storage: Storage) -> None:
    tables = [pa.ipc.open_stream(m.entries).read_all() for m in messages if m is not None]
    paths: list[Any] = [path for t in tables for path in t.column("file_path").to_pylist()]
    storage.delete_many(paths)


def _remove_if_tasks_failed(messages: Sequence[Any], storage: Storage) -> None:
    """Remove the files of tasks that did well in a job that did not.

    If every task did well, it was the commit that failed: it has removed the files where it knows that nothing was
    published, and where it does not know, nobody may.
    """
    if any(m is None for m in messages):
        _remove(messages, storage)


def _query_id(options: SourceOptions) -> str:
    """The id that a query keeps when it is restarted: it stands in its checkpoint."""
    given = options.given.get("query-id")
    if given is not None:
        return given
    checkpoint = options.given.get("checkpointlocation")
    if checkpoint is None:
        raise InvalidInput(
            "Cannot write a stream to skipstone: expected .option('checkpointLocation', ...), where the id of the "
            "query is kept, got none. A batch that is tried again could not be told from a new one."
        )
    path = f"{absolute_location(checkpoint)}/metadata"
    try:
        return str(json.loads(storage_for(None).read(path))["id"])
    except (OSError, SkipstoneError, ValueError, KeyError) as error:
        raise InvalidInput(
            f"Cannot read the id of the query from {path}: {error}. Pass the option query-id, a name that the query "
            "keeps when it is restarted."
        ) from error
