"""The bytes of a roll-up, in one of two forms.

    few rows:  magic, checksum, then an Arrow stream compressed in one piece: written and read in a fraction of a
               millisecond, as every commit writes one and every plan reads one
    many rows: Parquet, of which a plan reads the columns of its filter

Law: what is read is what was written, or FormatViolation.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from skipstone.errors import FormatViolation
from skipstone.index.seals import OPEN_SEAL, check_seal, seal

pa: Any = pyarrow
pq: Any = pyarrow.parquet

_FEW_ROWS: Final = 2048
_MAGIC: Final = b"SKIPROL1"
_CODEC: Final = "zstd"
_SIZED: Final = len(_MAGIC) + 4
_START: Final = _SIZED + 8
_HEADER_KEY: Final = b"skipstone.rollup"
_SEAL_KEY: Final = b"skipstone.seal"


@dataclass(frozen=True, kw_only=True)
class RollupRows:
    """Rows that are here already, or are read column by column from a Parquet file."""

    header: bytes
    table: Any = None
    file: Any = None

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows if self.file is None else self.file.metadata.num_rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of all columns; asked for once, as there are many."""
        return tuple(self.table.column_names if self.file is None else self.file.schema_arrow.names)

    def read(self, names: Sequence[str]) -> Any:
        return self.table if self.file is None else self.file.read(columns=names, use_threads=False)


def serialize_rows(table: Any, header: bytes) -> bytes:
    return _stream(table, header) if table.num_rows <= _FEW_ROWS else _parquet(table, header)


def parse_rows(data: bytes, path: str) -> RollupRows:
    try:
        if data.startswith(_MAGIC):
            return _parse_stream(data, path)
        check_seal(data, path)
        file = pq.ParquetFile(pa.BufferReader(data))
        return RollupRows(header=file.metadata.metadata[_HEADER_KEY], file=file)
    except (pa.ArrowException, KeyError, ValueError, OSError) as error:
        raise FormatViolation(f"Invalid roll-up {path}: {error}. Build the index again.") from error


def _stream(table: Any, header: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata({_HEADER_KEY: header})) as writer:
        writer.write_table(table)
    plain = sink.getvalue()
    packed: bytes = plain.size.to_bytes(8, "little") + pa.compress(plain, codec=_CODEC, asbytes=True)
    checksum: bytes = zlib.crc32(packed).to_bytes(4, "little")
    return _MAGIC + checksum + packed


def _parse_stream(data: bytes, path: str) -> RollupRows:
    told = int.from_bytes(data[len(_MAGIC) : _SIZED], "little")
    if len(data) < _START or zlib.crc32(memoryview(data)[_SIZED:]) != told:
        raise FormatViolation(f"Invalid index file {path}: its checksum does not hold. Build the index again.")
    size = int.from_bytes(data[_SIZED:_START], "little")
    plain = pa.decompress(memoryview(data)[_START:], decompressed_size=size, codec=_CODEC)
    table = pa.ipc.open_stream(plain).read_all()
    return RollupRows(header=table.schema.metadata[_HEADER_KEY], table=table.replace_schema_metadata())


def _parquet(table: Any, header: bytes) -> bytes:
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        table.schema.remove_metadata(),
        compression="lz4",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.add_key_value_metadata({_HEADER_KEY: header, _SEAL_KEY: OPEN_SEAL.encode()})
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    data = bytearray(sink.getbuffer())
    seal(data)
    return bytes(data)
