"""ORC files, written by pyarrow with Iceberg's attributes on every type.

pyarrow tells nothing about what it wrote, so metrics come from the rows.

Spec: "Appendix A: Format-specific Requirements", ORC.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.orc as po

from skipstone.errors import Unsupported
from skipstone.metadata.orc_types import orc_write_schema
from skipstone.metadata.types import StructType
from skipstone.write.file_writer import FileFacts
from skipstone.write.metrics import MetricsCollector, MetricsPlan
from skipstone.write.reshape import check_stored, reshape_table
from skipstone.write.settings import WriteSettings

_CODECS: Final = {"none": "uncompressed"}
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
        self._metrics.add(table)
        self._writer.write(reshape_table(table, self._struct.fields, self._schema))
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


@lru_cache(maxsize=64)
def _layout(struct: StructType) -> pa.Schema:
    check_stored(struct, "ORC")
    return orc_write_schema(struct)
