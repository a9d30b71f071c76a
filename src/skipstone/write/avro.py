"""Avro data files, written by the kernel's encoder.

Blocks are encoded as rows come and go out at once: the header is that of an empty file with the same sync marker.

Spec: "Appendix A: Format-specific Requirements", Avro.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from skipstone.metadata.avro.encode import SYNC_BYTES, Codec, encode
from skipstone.metadata.avro_types import to_avro_schema
from skipstone.metadata.types import StructType
from skipstone.write.file_writer import FileFacts
from skipstone.write.metrics import MetricsCollector, MetricsPlan
from skipstone.write.settings import WriteSettings

_CODECS: Final[dict[str, Codec]] = {
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
        self._schema = _layout(struct)
        self._metrics = MetricsCollector(metrics)
        self._rows = 0
        self._codec = _CODECS[settings.compression]
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
def _layout(struct: StructType) -> dict[str, Any]:
    return to_avro_schema(struct)
