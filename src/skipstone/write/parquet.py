"""Parquet files, written by pyarrow with field ids at every level.

The footer's own statistics give bounds and null counts for free; NaN counts, the nulls of geometries and bounds of
very long strings (which the footer leaves out) come from the rows.

Spec: "Appendix A: Format-specific Requirements", Parquet; "Data File Fields".
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skipstone.metadata.formats.parquet_types import WRITE_OPTIONS, parquet_write_schema, to_parquet_schema
from skipstone.metadata.types import GeographyType, GeometryType, StructType
from skipstone.write.file_writer import FileFacts
from skipstone.write.metrics import (
    MetricsPlan,
    TrackedColumn,
    column_at,
    count_nans,
    extremes,
)
from skipstone.write.parquet_metrics import RowFacts, footer_metrics
from skipstone.write.reshape import check_stored, reshape_table
from skipstone.write.settings import WriteSettings

_compute: Any = pc

_CODECS: Final = {"uncompressed": "none", "lz4_raw": "lz4"}
# Above this length pyarrow leaves a bound out of the footer (4096 in its C++ library).
FOOTER_BOUND_BYTES_MAX: Final = 4000
# Fewer values take less room plain: a dictionary is a page of its own, with a header and a compressed frame.
DICTIONARY_ROWS_MIN: Final = 100
_BLOOM_NDV_MAX: Final = 1 << 30


class ParquetFileWriter:
    """One file. Each `write` starts row groups of its own."""

    def __init__(
        self, stream: pa.NativeFile, struct: StructType, *, settings: WriteSettings, metrics: MetricsPlan
    ) -> None:
        self._stream = stream
        self._struct = struct
        self._plan = metrics
        self._settings = settings
        self._schema, self._paths_by_id = _layout(struct)
        self._facts = {c.field_id: RowFacts() for c in metrics.watched}
        self._rows = 0
        self._writer: Any = None
        self._footers: list[Any] = []

    @property
    def size_in_bytes(self) -> int:
        return self._stream.tell()

    def write(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._open(table.num_rows)
        for column in self._plan.watched:
            _watch(column, column_at(table, column.path), self._facts[column.field_id])
        self._writer.write_table(
            reshape_table(table, self._struct.fields, self._schema),
            row_group_size=max(table.num_rows, 1),
        )
        self._rows += table.num_rows

    def finish(self) -> FileFacts:
        if self._writer is None:
            self._writer = self._open(1)
        self._writer.close()
        footer = self._footers[0]
        return FileFacts(
            record_count=self._rows,
            split_offsets=tuple(first_page(footer.row_group(i)) for i in range(footer.num_row_groups)),
            metrics=footer_metrics(footer, self._plan, self._facts),
        )

    def abandon(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            # Closed while there is a stream: else it closes itself at some later moment, without one.
            with suppress(pa.ArrowException, OSError, RuntimeError):
                writer.close()

    def _open(self, rows: int) -> Any:
        s = self._settings
        made: Any = pq.ParquetWriter
        return made(
            self._stream,
            self._schema,
            compression=_CODECS.get(s.compression, s.compression),
            compression_level=s.compression_level,
            data_page_size=s.page_size_bytes,
            max_rows_per_page=s.page_row_limit,
            data_page_version="2.0" if s.page_version == "v2" else "1.0",
            use_dictionary=rows >= DICTIONARY_ROWS_MIN and self._except_for(s.without_dictionary_ids),
            dictionary_pagesize_limit=s.dict_size_bytes,
            write_page_index=True,
            write_page_checksum=s.has_page_checksums,
            bloom_filter_options=self._bloom(rows),
            write_statistics=self._except_for(s.without_statistics_ids),
            metadata_collector=self._footers,
            **WRITE_OPTIONS,
        )

    def _except_for(self, off: frozenset[int]) -> bool | list[str]:
        """All columns, or the paths of those for which something is not turned off."""
        return [path for path, i in _leaf_ids(self._struct) if i not in off] if off else True

    def _bloom(self, rows: int) -> dict[str, Any] | None:
        """Filters sized for the rows of one row group or the values expected, never larger than the property allows."""
        if not self._settings.bloom_fpp_by_id:
            return None
        options: dict[str, Any] = {}
        for field_id, fpp in self._settings.bloom_fpp_by_id.items():
            path = self._paths_by_id.get(field_id)
            if path is not None:
                fitting = _ndv_fitting(self._settings.bloom_max_bytes, fpp)
                expected = self._settings.bloom_ndv_by_id.get(field_id, rows)
                options[path] = {"ndv": max(1, min(expected, fitting)), "fpp": fpp}
        return options or None


@lru_cache(maxsize=64)
def _layout(struct: StructType) -> tuple[pa.Schema, dict[int, str]]:
    """The schema of the file, and where Bloom filters can go: the paths of primitive leaves by field id."""
    check_stored(struct, "Parquet")
    paths = {
        node.field_id: path
        for path, node in to_parquet_schema(struct).leaves()
        if node.field_id is not None and node.physical != "BOOLEAN"
    }
    return parquet_write_schema(struct), paths


def _leaf_ids(struct: StructType) -> list[tuple[str, int | None]]:
    return [(path, node.field_id) for path, node in to_parquet_schema(struct).leaves()]


def _watch(column: TrackedColumn, array: Any, facts: RowFacts) -> None:
    """Take from the rows what the footer will not say."""
    if column.is_float:
        facts.nans += count_nans(array)
    elif isinstance(column.type, GeometryType | GeographyType):
        facts.nulls += array.null_count
    elif _longest(array) > FOOTER_BOUND_BYTES_MAX:
        facts.widen(column.type, *extremes(column.type, array))


def _longest(array: Any) -> int:
    """At least the length of the longest value, from the offsets alone."""
    longest = 0
    for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
        offsets = chunk.buffers()[1]
        if offsets is None or not len(chunk):
            continue
        ends = np.frombuffer(memoryview(offsets), np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        if int(ends[-1]) - int(ends[0]) > FOOTER_BOUND_BYTES_MAX:
            longest = max(longest, int(np.diff(ends).max()))
    return longest


def first_page(row_group: Any) -> int:
    """Where a row group begins: its first page."""
    column = row_group.column(0)
    first: int = column.data_page_offset
    dictionary = column.dictionary_page_offset
    return first if dictionary is None else min(first, int(dictionary))


def _ndv_fitting(bytes_max: int, fpp: float) -> int:
    """How many distinct values a filter of this size serves at this rate of false positives."""
    bits_per_value = -8.0 / float(np.log(1.0 - fpp ** (1.0 / 8.0)))
    return min(_BLOOM_NDV_MAX, int(bytes_max * 8 / bits_per_value))
