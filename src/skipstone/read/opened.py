"""A data or delete file opened for reading, whatever its format.

Every format answers the same questions: which columns there are (with field ids), how many rows, which stretches of
rows can be read on their own, and the batches of chosen columns with the position of their first row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.orc
import pyarrow.parquet

from skipstone.errors import FormatViolation, SkipstoneError, Unsupported
from skipstone.metadata.avro.container import parse_container
from skipstone.metadata.avro.reading import decode
from skipstone.metadata.avro_read_types import from_avro_schema
from skipstone.metadata.orc_types import from_orc_schema
from skipstone.metadata.parquet_types import from_parquet_schema
from skipstone.metadata.projection import Projection
from skipstone.metadata.types import StructType
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate, field_ids
from skipstone.storage.protocol import Storage
from skipstone.zones.build.footers import from_parquet_footer
from skipstone.zones.judge import prove

pa: Any = pyarrow
pq: Any = pyarrow.parquet
orc: Any = pyarrow.orc

# A batch of the file's columns, and the position in the file of its first row.
PlacedBatch = tuple[int, Any]


class OpenedFile(Protocol):
    struct: StructType
    num_rows: int

    def stretches(self, predicate: Predicate, projection: Projection, float_order: FloatOrder) -> npt.NDArray[np.int64]:
        """The stretches of rows that may hold a match: row groups, or stripes."""

    def batches(self, columns: Sequence[int], stretches: Collection[int]) -> Iterator[PlacedBatch]:
        """The given top-level columns, in the file's order, of the given stretches."""

    def close(self) -> None: ...


def open_file(storage: Storage, path: str, file_format: str) -> OpenedFile:
    """The file, opened; a damaged one is a FormatViolation that names it."""
    kind = _FORMATS.get(file_format.lower())
    if kind is None:
        raise Unsupported(f"Cannot read {path}: expected format parquet, orc or avro, got {file_format!r}.")
    try:
        opened: OpenedFile = kind(storage, path)
    except SkipstoneError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatViolation(
            f"Cannot read {path}: expected a {file_format.lower()} file, got: {str(error).splitlines()[0]}. "
            "The file is cut short or damaged."
        ) from error
    return opened


class _ParquetFile:
    def __init__(self, storage: Storage, path: str) -> None:
        self._path = path
        self._input = storage.open(path)
        self._file = pq.ParquetFile(self._input, pre_buffer=False)
        self.struct = from_parquet_schema(self._file.schema, source=path)
        self.num_rows = int(self._file.metadata.num_rows)
        self._names = [f.name for f in self._file.schema_arrow]

    def stretches(self, predicate: Predicate, projection: Projection, float_order: FloatOrder) -> npt.NDArray[np.int64]:
        groups = np.arange(self._file.metadata.num_row_groups)
        if predicate == TRUE:
            return groups
        zones = from_parquet_footer(self._file.metadata, projection, field_ids=field_ids(predicate))
        kept: npt.NDArray[np.bool_] = prove(predicate, zones, float_order).kept().to_numpy(zero_copy_only=False)
        return groups[kept]

    def batches(self, columns: Sequence[int], stretches: Collection[int]) -> Iterator[PlacedBatch]:
        sizes = np.array([self._file.metadata.row_group(i).num_rows for i in range(self._file.metadata.num_row_groups)])
        starts = np.cumsum(sizes) - sizes
        names = [self._names[c] for c in columns]
        for group in stretches:
            position = int(starts[group])
            if not columns:
                yield position, _rows_only(int(sizes[group]))
                continue
            try:
                table = self._file.read_row_group(group, columns=names, use_threads=False)
            except (pa.ArrowException, OSError) as error:
                raise _damaged(self._path, f"row group {group}", error) from error
            for batch in _only(table, names).to_batches():
                yield position, batch
                position += batch.num_rows

    def close(self) -> None:
        self._file.close()
        self._input.close()


class _OrcFile:
    def __init__(self, storage: Storage, path: str) -> None:
        self._path = path
        self._input = storage.open(path)
        self._file = orc.ORCFile(self._input)
        self.struct = from_orc_schema(self._file.schema, source=path)
        self.num_rows = int(self._file.nrows)
        self._names = [f.name for f in self._file.schema]

    def stretches(self, predicate: Predicate, projection: Projection, float_order: FloatOrder) -> npt.NDArray[np.int64]:
        return np.arange(self._file.nstripes)

    def batches(self, columns: Sequence[int], stretches: Collection[int]) -> Iterator[PlacedBatch]:
        names = [self._names[c] for c in columns]
        position = 0
        for stripe in range(self._file.nstripes):
            try:
                # Even no column tells how many rows a stripe has, which positions need.
                batch = self._file.read_stripe(stripe, columns=names or self._names[:1])
            except (pa.ArrowException, OSError) as error:
                raise _damaged(self._path, f"stripe {stripe}", error) from error
            if stripe in stretches:
                yield position, batch.select(names) if names else _rows_only(batch.num_rows)
            position += batch.num_rows

    def close(self) -> None:
        self._input.close()


class _AvroFile:
    def __init__(self, storage: Storage, path: str) -> None:
        self._container = parse_container(storage.read(path), source=path)
        self.struct = from_avro_schema(self._container.schema, source=path)
        self.num_rows = self._container.record_count

    def stretches(self, predicate: Predicate, projection: Projection, float_order: FloatOrder) -> npt.NDArray[np.int64]:
        return np.zeros(1, np.int64)

    def batches(self, columns: Sequence[int], stretches: Collection[int]) -> Iterator[PlacedBatch]:
        names = [f["name"] for f in self._container.schema["fields"]]
        chosen = [names[c] for c in columns]
        if not chosen:
            yield 0, _rows_only(self.num_rows)
            return
        table: Any = decode(self._container, fields=chosen)
        position = 0
        for batch in table.select(chosen).to_batches():
            yield position, batch
            position += batch.num_rows

    def close(self) -> None:
        pass


_FORMATS: dict[str, type[Any]] = {"parquet": _ParquetFile, "orc": _OrcFile, "avro": _AvroFile}


def _rows_only(num_rows: int) -> Any:
    """A batch without columns that knows how many rows it has."""
    return pa.RecordBatch.from_arrays([pa.nulls(num_rows)], ["none"]).select([])


def _only(table: Any, names: Sequence[str]) -> Any:
    """Asking for `a` can also bring a column named `a.b`."""
    return table if table.column_names == list(names) else table.select(list(names))


def _damaged(path: str, where: str, error: Exception) -> FormatViolation:
    return FormatViolation(f"Cannot read {path}, {where}: {str(error).splitlines()[0]}. The file is damaged.")
