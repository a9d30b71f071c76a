"""Avro data files, written by the kernel's encoder.

Blocks are encoded as rows come and go out at once: the header is that of an empty file with the same sync marker.

Spec: "Appendix A: Format-specific Requirements", Avro.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from skipstone.errors import Unsupported
from skipstone.metadata.avro.encode import SYNC_BYTES, Codec, encode
from skipstone.metadata.formats.avro_types import to_avro_schema
from skipstone.metadata.types import Field, ListType, StructType, Type, UnknownType, walk
from skipstone.write.file_writer import FileFacts
from skipstone.write.metrics import MetricsCollector, MetricsPlan
from skipstone.write.settings import WriteSettings

# As table properties name them.
CODECS: Final[dict[str, Codec]] = {
    "gzip": "deflate",
    "zstd": "zstandard",
    "snappy": "snappy",
    "uncompressed": "null",
}


class AvroFileWriter:
    """One file."""

    def __init__(
        self, stream: pa.NativeFile, struct: StructType, *, settings: WriteSettings, metrics: MetricsPlan
    ) -> None:
        self._stream = stream
        self._schema = layout(struct)
        self._metrics = MetricsCollector(metrics)
        self._rows = 0
        self._codec = CODECS[settings.compression]
        self._level = settings.compression_level
        self._sync = os.urandom(SYNC_BYTES)
        header = self._encoded(pa.table({}))
        self._header_bytes = len(header)
        stream.write(header)

    @property
    def size_in_bytes(self) -> int:
        return self._stream.tell()

    def write(self, table: pa.Table) -> None:
        self._metrics.add(table)
        if table.num_rows:
            self._stream.write(memoryview(self._encoded(table))[self._header_bytes :])
        self._rows += table.num_rows

    def finish(self) -> FileFacts:
        return FileFacts(record_count=self._rows, metrics=self._metrics.result())

    def abandon(self) -> None:
        """Nothing is held."""

    def _encoded(self, table: pa.Table) -> bytes:
        return encode(self._schema, table, codec=self._codec, level=self._level, sync=self._sync)


@lru_cache(maxsize=64)
def layout(struct: StructType) -> dict[str, Any]:
    for where in (Field(id=0, name="", type=struct, required=True), *walk(struct)):
        repeated = isinstance(where.type, ListType) and _is_empty(where.type.element, where.type.element_required)
        if repeated or (not where.name and _is_empty(struct, is_required=True)):
            what = f"column '{where.name}' (id {where.id})" if where.name else "rows"
            raise Unsupported(
                f"Cannot write {what} to Avro: nothing is stored of them, so nobody could tell how many there are. "
                "Give a field another type than unknown first."
            )
    return to_avro_schema(struct)


def _is_empty(type_: Type, is_required: bool) -> bool:
    """Whether a value takes no byte: a null where nothing else can be, or a record of nothing else."""
    if isinstance(type_, StructType):
        return is_required and all(_is_empty(f.type, f.required) for f in type_.fields)
    return isinstance(type_, UnknownType)
