"""ORC files, written by pyarrow with Iceberg's attributes on every type.

pyarrow tells nothing about what it wrote, so metrics come from the rows.

Spec: "Appendix A: Format-specific Requirements", ORC.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po

from skipstone.errors import Unsupported
from skipstone.metadata.formats.arrow_types import nested_array, struct_array
from skipstone.metadata.formats.orc_types import orc_write_schema
from skipstone.metadata.types import ListType, MapType, StructType, UnknownType, children, walk
from skipstone.write.file_writer import FileFacts
from skipstone.write.metrics import MetricsCollector, MetricsPlan
from skipstone.write.reshape import check_stored, list_parts, reshape_table
from skipstone.write.settings import WriteSettings

_compute: Any = pc
_CODECS: Final = {"none": "uncompressed"}
_MICROS_MAX: Final = (2**63 - 1) // 1000
# How many ticks of each unit are a second.
_SECONDS: Final = {"us": (1_000_000, "microseconds"), "ns": (1_000_000_000, "nanoseconds")}
# ORC holds rows in memory until a stripe is full; encoded they take about this share of their Arrow form.
_PENDING_SHARE: Final = 0.5


class OrcFileWriter:
    """One file."""

    def __init__(
        self, stream: pa.NativeFile, struct: StructType, *, settings: WriteSettings, metrics: MetricsPlan
    ) -> None:
        if settings.compression == "lzo":
            raise Unsupported("Cannot write ORC with codec lzo: it is not available here. Choose zlib, zstd or lz4.")
        self._stream = stream
        self._struct = struct
        self._schema = _layout(struct)
        self._metrics = MetricsCollector(metrics)
        self._rows = 0
        self._written_bytes = 0
        self._pending_bytes = 0.0
        made: Any = po.ORCWriter
        self._writer = made(
            stream,
            compression=_CODECS.get(settings.compression, settings.compression),
            compression_strategy=settings.orc_compression_strategy,
            stripe_size=settings.orc_stripe_size_bytes,
        )

    @property
    def size_in_bytes(self) -> int:
        return self._written_bytes + int(self._pending_bytes)

    def write(self, table: pa.Table) -> None:
        for f, column in zip(self._struct.fields, table.columns, strict=True):
            for chunk in column.chunks:
                _check_timestamps(chunk, f.name)
        self._metrics.add(table)
        self._writer.write(_with_plain_structs(reshape_table(table, self._struct.fields, self._schema)))
        self._rows += table.num_rows
        self._pending_bytes += table.nbytes * _PENDING_SHARE
        if self._stream.tell() != self._written_bytes:
            self._written_bytes = self._stream.tell()
            self._pending_bytes = 0.0

    def finish(self) -> FileFacts:
        if not self._rows:
            self._writer.write(self._schema.empty_table())
        self._writer.close()
        return FileFacts(record_count=self._rows, metrics=self._metrics.result())

    def abandon(self) -> None:
        with suppress(pa.ArrowException, OSError, RuntimeError):
            self._writer.close()


def _with_plain_structs(table: pa.Table) -> Any:
    """The table with copies of all structs, null all the way down where one is null.

    Of a slice of a struct pyarrow writes values as nulls and nulls as values. Of a struct in a struct it writes what
    lies under a null, and every later value comes back at the wrong place.
    """
    columns: list[Any] = [
        pa.chunked_array([_null_below(chunk) for chunk in column.take(np.arange(len(column))).chunks], column.type)
        if _has_struct(column.type)
        else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _null_below(array: Any) -> Any:
    type_ = array.type
    if not _has_struct(type_):
        return array
    if pa.types.is_struct(type_):
        return struct_array(type_, [_null_below(child) for child in array.flatten()], array.is_null())
    offsets, parts = list_parts(array)
    return nested_array(type_, offsets, [_null_below(part) for part in parts], array.is_null())


def _has_struct(type_: Any) -> bool:
    return pa.types.is_struct(type_) or any(_has_struct(type_.field(i).type) for i in range(type_.num_fields))


def _check_timestamps(array: Any, where: str) -> None:
    """Refuse timestamps that would not be read as they were meant.

    pyarrow cannot read those beyond nanoseconds in 64 bits. Of those before 1970 with a fraction of a second it stores
    the fraction below zero, where the format has none: Iceberg Java then finds them a second early.
    """
    t = array.type
    if pa.types.is_struct(t):
        for i in range(t.num_fields):
            _check_timestamps(array.field(i), f"{where}.{t.field(i).name}")
    elif pa.types.is_map(t):
        _check_timestamps(array.keys, f"{where}.key")
        _check_timestamps(array.items, f"{where}.value")
    elif pa.types.is_list(t):
        _check_timestamps(array.flatten(), f"{where}.element")
    elif pa.types.is_timestamp(t):
        found: Any = _compute.min_max(array)
        for end in (found["min"], found["max"]):
            if t.unit == "us" and end.is_valid and abs(end.value) > _MICROS_MAX:
                raise Unsupported(
                    f"Cannot write column '{where}' to ORC: expected timestamps from 1677-09-22 to 2262-04-11, got "
                    f"{end.value} microseconds since 1970. Write Parquet or Avro."
                )
        if found["min"].is_valid and found["min"].value < 0:
            _check_fractions(array, where)


def _check_fractions(array: Any, where: str) -> None:
    ticks = array.drop_null().view(pa.int64()).to_numpy()
    second, unit = _SECONDS[array.type.unit]
    wrong = ticks[(ticks < 0) & (ticks % second != 0)]
    if len(wrong):
        raise Unsupported(
            f"Cannot write column '{where}' to ORC: expected timestamps before 1970 without a fraction of a second, "
            f"got {wrong[0]} {unit} since 1970. Write Parquet or Avro."
        )


@lru_cache(maxsize=64)
def _layout(struct: StructType) -> pa.Schema:
    check_stored(struct, "ORC")
    for f in walk(struct):
        if isinstance(f.type, ListType | MapType) and any(isinstance(c.type, UnknownType) for c in children(f.type)):
            raise Unsupported(
                f"Cannot write column '{f.name}' (id {f.id}) to ORC: it holds values of type unknown, which ORC cannot "
                "store. Write Parquet, or give them another type first."
            )
    return orc_write_schema(struct)
