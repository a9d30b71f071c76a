"""Sidecars written: the live entries of one manifest as Parquet, one row group a block, one column a fact.

A column with one value in every row is told in the header instead; partition values are stored all the same, so that
manifests of one partition and of several are read together. Row-group statistics are left out: the zones are in
the roll-up. The footer ends with a header, then where each column chunk lies and its checksum, each behind a mark: a
reader finds them without parsing the rest. They are sealed, so it trusts exactly the bytes it uses.
"""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from skipstone.index.blocks import Blocks
from skipstone.index.entry_facts import ENTRY, FACT_KINDS, FILE_COLUMNS, ROW_OFFSET, LiveEntries
from skipstone.index.identity import Identity
from skipstone.index.parquet_parts import PHYSICAL_TYPES, Leaf, column_elements
from skipstone.index.seals import OPEN_SEAL, seal

pa: Any = pyarrow
pc: Any = pyarrow.compute
pq: Any = pyarrow.parquet

VERSION: Final = 2
HEADER_KEY: Final = b"skipstone.sidecar"
CHUNKS_KEY: Final = b"skipstone.chunks"
SEAL_KEY: Final = b"skipstone.seal"
CHUNK_TYPE: Final = np.dtype([("offset", "<u4"), ("length", "<u4"), ("checksum", "<u4")])
_CHUNK_DIGITS: Final = 16  # what a chunk takes in base64: twelve bytes, so that each can be decoded alone
_HEADER_MARK: Final = b"skipstone-header:"
_CHUNKS_MARK: Final = b"skipstone-chunks:"
_SIZE_DIGITS: Final = 8  # of the header, behind its mark
WRITING: Final = {"compression": "lz4", "use_dictionary": False, "write_statistics": False, "store_schema": False}
_BETWEEN_BYTES_MAX: Final = 64  # the key of the chunks is between the header and their mark
_TAIL_BYTES: Final = 8  # the footer's length and the magic number end a Parquet file


class Header(msgspec.Struct, kw_only=True, frozen=True):
    """What a sidecar says about itself. `constants` are columns of one value, `leaves` the stored ones in order.

    `list_values` has, for a column of lists, how many values each block holds; others have one a file. `cut` tells
    whether the blocks are those that a roll-up numbers.
    """

    version: int
    identity: Identity
    ids: tuple[int, ...]
    other_ids: tuple[int, ...]
    partition_ids: tuple[int, ...]
    constants: dict[str, Any]
    leaves: tuple[Leaf, ...]
    block_files: tuple[int, ...]
    list_values: dict[str, tuple[int, ...]]
    cut: str | None = None


_HEADER: Final = msgspec.json.Decoder(Header)  # made once: its types take longer to resolve than a header to read


def write_sidecar(entries: LiveEntries, blocks: Blocks, identity: Identity) -> bytes:
    order = pa.array(blocks.order)
    stored, constants = {}, {}
    for name, column in _columns(entries).items():
        if (same := _only_value(column)) is not None and (same[0] is None or not name.startswith("partition.")):
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
        leaves=leaves_of(table.schema.remove_metadata()),
        block_files=tuple(sizes.tolist()),
        cut=blocks.cut,
        list_values={
            n: _values_stored(column, blocks.starts) for n, column in stored.items() if pa.types.is_list(column.type)
        },
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


@lru_cache(maxsize=64)
def leaves_of(schema: Any) -> tuple[Leaf, ...]:
    """The columns of a schema, as a file of it describes them."""
    sink = io.BytesIO()
    pq.ParquetWriter(sink, schema, **WRITING).close()
    data = sink.getvalue()
    elements = column_elements(data[_footer_start(data) : -_TAIL_BYTES])
    stored = pq.read_metadata(pa.BufferReader(data)).schema
    columns = [stored.column(place) for place in range(len(schema.names))]
    return tuple(
        Leaf(
            name=name,
            path=tuple(column.path.split(".")) if count > 1 else (column.path,),
            physical_type=PHYSICAL_TYPES.index(column.physical_type),
            elements=written,
            num_elements=count,
        )
        for name, column, (written, count) in zip(schema.names, columns, elements, strict=True)
    )


def _values_stored(column: Any, starts: Any) -> tuple[int, ...]:
    """How many values of a list column Parquet stores in each block: an empty list and a null take one."""
    lengths = np.maximum(pc.list_value_length(column).fill_null(0).to_numpy(), 1)
    return tuple(np.add.reduceat(lengths, starts).tolist())


def _parquet(table: Any, starts: Any, sizes: Any, header: Header) -> bytearray:
    open_chunks = base64.b64encode(bytes(len(sizes) * table.num_columns * CHUNK_TYPE.itemsize))
    encoded = msgspec.json.encode(header)
    metadata = {
        HEADER_KEY: _HEADER_MARK + f"{len(encoded):0{_SIZE_DIGITS}d}".encode() + encoded,
        CHUNKS_KEY: _CHUNKS_MARK + open_chunks,
        SEAL_KEY: OPEN_SEAL.encode(),
    }
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema.remove_metadata(), **WRITING) as writer:
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
    footer = _footer_start(data)
    at = _chunks_place(data, footer)
    encoded = base64.b64encode(chunks.tobytes())
    data[at : at + len(encoded)] = encoded
    seal(data, data.index(_HEADER_MARK, footer))
    return bytes(data)


def _footer_start(data: bytes | bytearray) -> int:
    size = int.from_bytes(data[-_TAIL_BYTES:-4], "little")
    return max(0, len(data) - _TAIL_BYTES - size)


def directory_start(tail: bytes) -> int | None:
    """Where, in the last bytes of a sidecar, the part begins that a reader needs; None if it begins before them."""
    chunks = tail.rfind(_CHUNKS_MARK)
    start = tail.rfind(_HEADER_MARK, 0, max(0, chunks))
    while start >= 0:
        size = tail[start + len(_HEADER_MARK) :][:_SIZE_DIGITS]
        end = start + len(_HEADER_MARK) + _SIZE_DIGITS + (int(size) if size.isdigit() else 0)
        if 0 <= chunks - end <= _BETWEEN_BYTES_MAX:
            return start
        # Paths in the header may hold the mark: the header is the one that ends before the chunks.
        start = tail.rfind(_HEADER_MARK, 0, start)
    return None


def parse_directory(directory: bytes) -> tuple[Header, bytes]:
    """The header, and where the chunks are, as it is stored: those of all leaves, block by block."""
    start, end = _header_place(directory, 0)
    header = _HEADER.decode(directory[start:end])
    start = _chunks_place(directory, 0)
    size = len(header.block_files) * len(header.leaves) * _CHUNK_DIGITS
    stored = directory[start : start + size]
    if len(stored) != size:
        raise ValueError(f"expected {size} bytes about chunks, got {len(stored)}")
    return header, stored


def chunks_of(stored: bytes, blocks: Sequence[int], num_leaves: int) -> Any:
    """Where the chunks of some blocks are: a row for each block, a column for each leaf."""
    width = num_leaves * _CHUNK_DIGITS
    chosen = b"".join([stored[b * width : (b + 1) * width] for b in blocks])
    return np.frombuffer(base64.b64decode(chosen), CHUNK_TYPE).reshape(len(blocks), num_leaves)


def _header_place(data: bytes | bytearray, footer: int) -> tuple[int, int]:
    at = data.index(_HEADER_MARK, footer) + len(_HEADER_MARK)
    start = at + _SIZE_DIGITS
    return start, start + int(data[at:start])


def _chunks_place(data: bytes | bytearray, footer: int) -> int:
    # Paths in the header may hold anything, even the mark.
    return data.index(_CHUNKS_MARK, _header_place(data, footer)[1]) + len(_CHUNKS_MARK)


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
