"""Arrow tables as Avro object container files.

Rows are encoded in blocks of about `block_bytes`; a block ends with the first row that reaches that size. A few rows go
through the reference encoder, some more are encoded by column, and large tables by compiled code: the bytes are the
same.

Avro: "Object Container Files", "Required Codecs", "Optional Codecs".
"""

from __future__ import annotations

import bz2
import json
import lzma
import os
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.avro import encode_numpy, encode_placed
from skipstone.metadata.avro.encode_columns import lay_out
from skipstone.metadata.avro.encode_python import encode_rows, varint, with_length

Codec: TypeAlias = Literal["null", "deflate", "zstandard", "snappy", "bzip2", "xz"]
Engine: TypeAlias = Literal["auto", "python", "numpy", "numba"]

CODECS: Final[tuple[Codec, ...]] = ("null", "deflate", "zstandard", "snappy", "bzip2", "xz")
MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
BLOCK_BYTES_DEFAULT: Final = 64_000
# Below this many rows the reference encoder is done before the columns are measured.
NUMPY_ROWS_MIN: Final = 16
# Below this many rows all is done before Numba is imported.
NUMBA_ROWS_MIN: Final = 4_000
# Rows laid out at a time, which bounds the memory beside the output.
_ROWS_AT_A_TIME: Final = 16_384
# A manifest is written once and read often, but higher levels take twice the time for 7 % fewer bytes.
_DEFLATE_LEVEL_DEFAULT: Final = 1
_ZSTANDARD_LEVEL_DEFAULT: Final = 3


def encode(
    schema: Mapping[str, Any],
    table: pa.Table,
    *,
    metadata: Mapping[str, bytes] | None = None,
    codec: Codec = "deflate",
    level: int | None = None,
    block_bytes: int = BLOCK_BYTES_DEFAULT,
    sync: bytes | None = None,
    engine: Engine = "auto",
    schema_json: bytes | None = None,
) -> bytes:
    """The table as an Avro file. Columns match the record's fields by name (or `iceberg-field-name`).

    A column that is missing is written as null, and refused where the schema has no null. `schema_json` is the text of
    `schema` when the caller already has it.
    """
    if codec not in CODECS:
        raise InvalidInput(f"Cannot write Avro: expected a codec of {', '.join(CODECS)}, got {codec!r}.")
    marker = os.urandom(SYNC_BYTES) if sync is None else sync
    if len(marker) != SYNC_BYTES:
        raise InvalidInput(f"Cannot write Avro: expected a sync marker of {SYNC_BYTES} bytes, got {len(marker)}.")
    text = schema_json or json.dumps(schema, separators=(",", ":"), ensure_ascii=False).encode()
    entries = {"avro.schema": text, "avro.codec": codec.encode(), **(metadata or {})}
    parts = [MAGIC, varint(len(entries))]
    for key, value in entries.items():
        parts += (with_length(key.encode()), with_length(value))
    parts += (b"\x00", marker)
    chosen = _engine_for(table.num_rows) if engine == "auto" else engine
    for rows, body in _blocks(schema, table, block_bytes, chosen):
        packed = _compress(body, codec, level)
        parts += (varint(rows), varint(len(packed)), packed, marker)
    return b"".join(parts)


def _engine_for(num_rows: int) -> Engine:
    if num_rows < NUMPY_ROWS_MIN:
        return "python"
    return "numpy" if num_rows < NUMBA_ROWS_MIN else "numba"


def _blocks(
    schema: Mapping[str, Any], table: pa.Table, block_bytes: int, engine: Engine
) -> Iterator[tuple[int, bytes]]:
    """Row counts and bodies of the blocks; a block ends with the first row that makes it `block_bytes` or longer."""
    waiting, waiting_rows = b"", 0
    for start in range(0, table.num_rows, _ROWS_AT_A_TIME):
        body, ends = _encoded(schema, table.slice(start, _ROWS_AT_A_TIME), engine)
        first, position = 0, 0
        while first < len(ends):
            wanted = position + block_bytes - len(waiting)
            last = int(np.searchsorted(ends, wanted, side="left"))
            if last >= len(ends):
                break
            stop = int(ends[last])
            yield waiting_rows + last + 1 - first, waiting + bytes(body[position:stop])
            waiting, waiting_rows = b"", 0
            first, position = last + 1, stop
        waiting += bytes(body[position:])
        waiting_rows += len(ends) - first
    if waiting_rows:
        yield waiting_rows, waiting


def _encoded(schema: Mapping[str, Any], table: pa.Table, engine: Engine) -> tuple[memoryview, Any]:
    (batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    node = lay_out(schema, batch)
    if engine == "python":
        rows = encode_rows(node)
        return memoryview(b"".join(rows)), np.cumsum([len(row) for row in rows], dtype=np.int64)
    if engine == "numpy":
        body, ends = encode_placed.encode_rows(node, encode_numpy)
        return body.data, ends
    # Imported late because Numba takes a moment and most commits are small.
    from skipstone.metadata.avro import encode_numba

    body, ends = encode_placed.encode_rows(node, encode_numba)
    return body.data, ends


def _compress(body: bytes, codec: Codec, level: int | None) -> bytes:
    match codec:
        case "null":
            return body
        case "deflate":
            squeeze = zlib.compressobj(_DEFLATE_LEVEL_DEFAULT if level is None else level, zlib.DEFLATED, -15)
            return squeeze.compress(body) + squeeze.flush()
        case "zstandard":
            squeezed = pa.Codec("zstd", _ZSTANDARD_LEVEL_DEFAULT if level is None else level).compress(body)
            return bytes(squeezed)
        case "snappy":
            return bytes(pa.Codec("snappy").compress(body)) + zlib.crc32(body).to_bytes(4, "big")
        case "bzip2":
            return bz2.compress(body, 9 if level is None else level)
        case "xz":
            return lzma.compress(body, preset=6 if level is None else level)
