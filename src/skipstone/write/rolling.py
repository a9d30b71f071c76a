"""The files of one partition: opened when rows come, closed when they are large enough.

A file becomes visible whole when it is closed. Whoever gives up calls `abandon`, and neither the open file nor those
already closed are left behind.

Spec: "Data Files"; table property `write.target-file-size-bytes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from skipstone.errors import Unsupported
from skipstone.metadata.manifests.manifest import DataFile, FileContent
from skipstone.metadata.types import StructType
from skipstone.storage.protocol import Storage
from skipstone.write.avro import AvroFileWriter
from skipstone.write.file_writer import FileFacts, FileWriter, OpenFile
from skipstone.write.metrics import MetricsPlan
from skipstone.write.orc import OrcFileWriter
from skipstone.write.parquet import ParquetFileWriter
from skipstone.write.settings import WriteSettings
from skipstone.write.storing import Store

WRITERS: Final[Mapping[str, OpenFile]] = {
    "parquet": ParquetFileWriter,
    "orc": OrcFileWriter,
    "avro": AvroFileWriter,
}
# In memory, rows of a file that is stored whole.
SMALL_FILE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What all files of one write have in common. `struct` is the shape of their rows."""

    storage: Storage
    struct: StructType
    settings: WriteSettings
    metrics: MetricsPlan
    content: FileContent = FileContent.DATA
    sort_order_id: int | None = None
    equality_ids: tuple[int, ...] | None = None

    @property
    def extension(self) -> str:
        return self.settings.file_format


class RollingFiles:
    """Rows of one partition, as one file after another. `new_location` gives each file its own place."""

    def __init__(self, kind: FileKind, partition: Mapping[int, Any], new_location: Callable[[], str]) -> None:
        self._kind = kind
        self._partition = partition
        self._new_location = new_location
        self._open: _OpenedFile | None = None
        self.files: list[DataFile] = []

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def write(self, table: pa.Table) -> None:
        """Add rows, in row groups of the set size, in as many files as the target size asks for."""
        settings = self._kind.settings
        rows = table.num_rows
        if not rows:
            return
        bytes_a_row = max(1, table.nbytes // rows)
        step = max(1, min(settings.row_group_size_bytes, settings.target_file_size_bytes) // bytes_a_row)
        for start in range(0, rows, step):
            if self._open is None:
                self._open = _OpenedFile(self._kind, self._new_location())
            self._open.writer.write(table if step >= rows else table.slice(start, step))
            if self._open.writer.size_in_bytes >= settings.target_file_size_bytes:
                self.close()

    def write_last(self, table: pa.Table, *, store: Store) -> None:
        """Add the last rows of the partition. A small file is made in memory and given to `store` whole."""
        settings = self._kind.settings
        limit = min(SMALL_FILE_BYTES, settings.row_group_size_bytes, settings.target_file_size_bytes)
        if self._open is not None or not table.num_rows or not _is_below(limit, table):
            self.write(table)
            return
        location = self._new_location()
        stream = pa.BufferOutputStream()
        writer = _writer(self._kind, stream, location)
        try:
            writer.write(table)
            facts = writer.finish()
        except BaseException:
            writer.abandon()
            raise
        data = stream.getvalue().to_pybytes()
        # Listed first: if the answer of the storage is lost, `abandon` finds the file.
        self.files.append(self._data_file(location, facts, len(data), {}))
        store(location, data)

    def close(self, **more: Any) -> None:
        """End the open file, if any; `more` are further fields of its entry."""
        opened, self._open = self._open, None
        if opened is not None:
            facts, size = opened.close()
            self.files.append(self._data_file(opened.location, facts, size, more))

    def abandon(self) -> None:
        """Leave nothing behind."""
        opened, self._open = self._open, None
        if opened is not None:
            opened.abandon()
        self._kind.storage.delete_many([f.file_path for f in self.files])
        self.files.clear()

    def _data_file(self, location: str, facts: FileFacts, size: int, more: Mapping[str, Any]) -> DataFile:
        m = facts.metrics
        return DataFile(
            content=self._kind.content,
            file_path=location,
            file_format=self._kind.settings.file_format.upper(),
            partition=self._partition,
            record_count=facts.record_count,
            file_size_in_bytes=size,
            column_sizes=m.column_sizes,
            value_counts=m.value_counts,
            null_value_counts=m.null_value_counts,
            nan_value_counts=m.nan_value_counts,
            lower_bounds=m.lower_bounds,
            upper_bounds=m.upper_bounds,
            split_offsets=facts.split_offsets,
            equality_ids=self._kind.equality_ids,
            sort_order_id=self._kind.sort_order_id,
            **more,
        )


def _is_below(limit: int, table: pa.Table) -> bool:
    """Whether rows take less memory than that. The buffers they share with other rows are weighed in no time."""
    return table.get_total_buffer_size() < limit or table.nbytes < limit


def _writer(kind: FileKind, stream: pa.NativeFile, location: str) -> FileWriter:
    open_writer = WRITERS.get(kind.settings.file_format)
    if open_writer is None:
        raise Unsupported(f"Cannot write {location}: the format {kind.settings.file_format} is not known here.")
    return open_writer(stream, kind.struct, settings=kind.settings, metrics=kind.metrics)


class _OpenedFile:
    """A file that is not visible yet."""

    def __init__(self, kind: FileKind, location: str) -> None:
        self.location = location
        self._context: AbstractContextManager[pa.NativeFile] = kind.storage.create(location)
        self._stream = self._context.__enter__()
        try:
            self.writer = _writer(kind, self._stream, location)
        except BaseException as e:
            self._context.__exit__(type(e), e, e.__traceback__)
            raise

    def close(self) -> tuple[FileFacts, int]:
        """Its facts and its size; the file is visible afterwards."""
        try:
            facts = self.writer.finish()
            size = self._stream.tell()
        except BaseException as e:
            self.writer.abandon()
            self._context.__exit__(type(e), e, e.__traceback__)
            raise
        self._context.__exit__(None, None, None)
        return facts, size

    def abandon(self) -> None:
        error = _Abandoned()
        self.writer.abandon()
        with suppress(_Abandoned):
            self._context.__exit__(_Abandoned, error, None)


class _Abandoned(Exception):
    """Tells a storage that an open file must not become visible."""
