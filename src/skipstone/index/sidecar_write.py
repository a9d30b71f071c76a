"""Sidecars written: the live entries of one manifest as Parquet, one row group a block, one column a fact.

A column with one value in every row is told in the header instead. Row-group statistics are left out: the zones are in
the roll-up, and footers are parsed faster without them. The header holds where each column chunk lies and its checksum,
and the footer is sealed, so a reader trusts exactly the bytes it uses.
"""

from __future__ import annotations

import base64
import io
import zlib
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from skipstone.index.blocks import Blocks
from skipstone.index.entry_facts import ENTRY, FACT_KINDS, FILE_COLUMNS, ROW_OFFSET, LiveEntries
from skipstone.index.identity import Identity
from skipstone.index.seals import OPEN_SEAL, seal

pa: Any = pyarrow
pc: Any = pyarrow.compute
pq: Any = pyarrow.parquet

VERSION: Final = 1
HEADER_KEY: Final = b"skipstone.sidecar"
CHUNKS_KEY: Final = b"skipstone.chunks"
SEAL_KEY: Final = b"skipstone.seal"
CHUNK_TYPE: Final = np.dtype([("offset", "<u4"), ("length", "<u4"), ("checksum", "<u4")])
_CODEC: Final = "lz4"
_MARK: Final = b"skipstone-chunks:"
_TAIL_BYTES: Final = 8  # the footer's length and the magic number end a Parquet file


class Header(msgspec.Struct, kw_only=True, frozen=True):
    """What a sidecar says about itself. `constants` are columns of one value, `leaves` the stored ones in order."""

    version: int
    identity: Identity
    ids: tuple[int, ...]
    other_ids: tuple[int, ...]
    partition_ids: tuple[int, ...]
    constants: dict[str, Any]
    leaves: tuple[str, ...]
    block_files: tuple[int, ...]


def write_sidecar(entries: LiveEntries, blocks: Blocks, identity: Identity) -> bytes:
    order = pa.array(blocks.order)
    stored, constants = {}, {}
    for name, column in _columns(entries).items():
        if (same := _only_value(column)) is not None:
            constants[name] = same[0]
        else:
            stored[name] = column.take(order)
    table = pa.table(stored)
    sizes = np.diff(np.append(blocks.starts, len(entries)))
    header = Header(
        version=VERSION,
        identity=identity,
        ids=entries.ids,
        other_ids=entries.other_ids,
        partition_ids=tuple(f.id for f in entries.partition_type.fields),
        constants=constants,
        leaves=tuple(table.column_names),
        block_files=tuple(sizes.tolist()),
    )
    return _sealed(_parquet(table, blocks.starts, sizes, header), len(sizes), table.num_columns)


def _columns(entries: LiveEntries) -> dict[str, Any]:
    """All columns, those of one purpose next to each other."""
    table = entries.table
    columns = {n: _one(table.column(n)) for n in (*FILE_COLUMNS, ENTRY, ROW_OFFSET)}
    for place, field in enumerate(entries.partition_type.fields):
        columns[f"partition.{field.id}"] = entries.partition.field(place)
    for field_id in entries.ids:
        columns |= {f"{field_id}.{k}": _one(table.column(f"{field_id}.{k}")) for k in FACT_KINDS}
    rows = columns["record_count"]
    for field_id in entries.ids:
        # Nearly every column has a value in every row.
        if columns[f"{field_id}.value_count"].equals(rows):
            del columns[f"{field_id}.value_count"]
    return columns


def _only_value(column: Any) -> tuple[Any] | None:
    """The one value that every row has, if JSON can tell it; bounds and other odd types only if null."""
    if column.null_count == len(column):
        return (None,)
    plain = pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_list(column.type)
    first = column[0]
    if not plain or column.null_count or pa.types.is_temporal(column.type):
        return None
    if pa.types.is_list(column.type):
        flat, lengths = column.flatten(), pc.list_value_length(column)
        size = len(first.as_py())
        if pc.min_max(lengths).as_py() != {"min": size, "max": size} or flat.null_count:
            return None
        grid = flat.to_numpy().reshape(len(column), size)
        return (first.as_py(),) if bool((grid == grid[0]).all()) else None
    return (first.as_py(),) if pc.all(pc.equal(column, first)).as_py() else None


def _parquet(table: Any, starts: Any, sizes: Any, header: Header) -> bytearray:
    open_chunks = base64.b64encode(bytes(len(sizes) * table.num_columns * CHUNK_TYPE.itemsize))
    metadata = {
        HEADER_KEY: msgspec.json.encode(header),
        CHUNKS_KEY: _MARK + open_chunks,
        SEAL_KEY: OPEN_SEAL.encode(),
    }
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        table.schema.remove_metadata(),
        compression=_CODEC,
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.add_key_value_metadata(metadata)
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            writer.write_table(table.slice(start, size), row_group_size=max(size, 1))
    return bytearray(sink.getbuffer())


def _sealed(data: bytearray, num_blocks: int, num_leaves: int) -> bytes:
    metadata = pq.read_metadata(pa.BufferReader(data))
    chunks = np.empty((num_blocks, num_leaves), CHUNK_TYPE)
    view = memoryview(data)
    for block in range(num_blocks):
        group = metadata.row_group(block)
        for leaf in range(num_leaves):
            column = group.column(leaf)
            offset, length = column.data_page_offset, column.total_compressed_size
            chunks[block, leaf] = (offset, length, zlib.crc32(view[offset : offset + length]))
    footer = footer_start(data)
    at = data.index(_MARK, footer) + len(_MARK)
    encoded = base64.b64encode(chunks.tobytes())
    data[at : at + len(encoded)] = encoded
    seal(data, footer)
    return bytes(data)


def footer_start(data: bytes | bytearray | memoryview) -> int:
    size = int.from_bytes(data[-_TAIL_BYTES:-4], "little")
    return max(0, len(data) - _TAIL_BYTES - size)


def parse_chunks(text: bytes, num_blocks: int, num_leaves: int) -> Any:
    raw = base64.b64decode(text.removeprefix(_MARK))
    return np.frombuffer(raw, CHUNK_TYPE).reshape(num_blocks, num_leaves)


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
