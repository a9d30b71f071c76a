"""Dictionaries of Parquet column chunks: the exact set of values a row group can hold.

Where every data page refers to the dictionary, no row has a value outside it. A predicate about the column that no
value of the dictionary matches is matched by no row; one that all values match, by every row that is not null.

Source: Apache Parquet's `Encodings.md` and `parquet.thrift` (PageEncodingStats).
"""

from __future__ import annotations

from typing import Final

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Column, Like, NotLike, Predicate, leaves
from skipstone.predicate.one_term import matches_value, only_term
from skipstone.zones.arrow import Array, pc
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.inflate import inflate
from skipstone.zones.build.parquet_columns import StoredColumn, read_values
from skipstone.zones.build.parquet_structures import ChunkPlaces, parse_dictionary_page_header
from skipstone.zones.build.partitions import one_value_zones
from skipstone.zones.build.plain_values import parse_plain_page
from skipstone.zones.judge import prove
from skipstone.zones.verdict import Verdict

DICTIONARY_BYTES_MAX: Final = 8 << 20
_HEADER_BYTES_MAX: Final = 1 << 10
_PLAIN, _PLAIN_DICTIONARY = 0, 2
_CODECS: Final = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
# Patterns are matched value by value, in Python.
_PATTERN_VALUES_MAX: Final = 20_000


def read_dictionary(file: FileBytes, chunk: ChunkPlaces, column: StoredColumn, *, strict: bool = False) -> Array | None:
    """The values of a column chunk as the table's bounds are held, or None where no dictionary tells them all.

    A damaged dictionary proves nothing; with `strict` it is a FormatViolation.
    """
    if not chunk.is_all_dictionary or chunk.dictionary_page_offset is None or chunk.data_page_offset is None:
        return None
    if chunk.codec not in _CODECS or column.physical in ("INT96", "BOOLEAN"):
        return None
    length = chunk.data_page_offset - chunk.dictionary_page_offset
    if not 0 < length <= DICTIONARY_BYTES_MAX + _HEADER_BYTES_MAX:
        return None
    try:
        values = _values(file, chunk.dictionary_page_offset, length, chunk.codec, column)
    except FormatViolation:
        if strict:
            raise
        return None
    return values


def _values(file: FileBytes, offset: int, length: int, codec: int, column: StoredColumn) -> Array:
    source = f"dictionary of column {column.index} in {file.source}"
    data = file.piece(offset, length, source)
    header = parse_dictionary_page_header(data, source=source)
    if header.encoding not in (_PLAIN, _PLAIN_DICTIONARY):
        raise FormatViolation(f"Invalid {source}: expected plain values, got encoding {header.encoding}.")
    body = data[header.body_offset : header.body_offset + header.compressed_size]
    if len(body) != header.compressed_size or header.uncompressed_size > DICTIONARY_BYTES_MAX:
        raise FormatViolation(f"Invalid {source}: expected {header.compressed_size} bytes, got {len(body)}.")
    plain = _decompressed(body, codec, header.uncompressed_size, source)
    raw = parse_plain_page(column.physical, plain, header.num_values, column.length, source=source)
    return read_values(column, raw, where=source)


def _decompressed(body: bytes, codec: int, size: int, source: str) -> bytes:
    name = _CODECS[codec]
    plain = body if name is None else inflate(name, body, size_max=size, source=source)
    if len(plain) != size:
        raise FormatViolation(f"Invalid {source}: expected {size} bytes, got {len(plain)}.")
    return plain


def judge_values(
    predicate: Predicate, column: StoredColumn, values: Array, null_count: int | None, float_order: FloatOrder
) -> Verdict:
    """The verdict on rows whose values are among `values`, or null, for a predicate about one term."""
    null_matches = matches_value(predicate, None, float_order)
    no_nulls = null_count == 0
    none_matches, all_match = _judge_each(predicate, column, values, float_order)
    if none_matches and (no_nulls or not null_matches):
        return Verdict.NO_ROW_MATCHES
    if all_match and (no_nulls or null_matches):
        return Verdict.EVERY_ROW_MATCHES
    return Verdict.UNKNOWN


def _judge_each(
    predicate: Predicate, column: StoredColumn, values: Array, float_order: FloatOrder
) -> tuple[bool, bool]:
    """Whether no value matches, and whether all do."""
    has_pattern = any(isinstance(leaf, Like | NotLike) for leaf in leaves(predicate))
    if has_pattern and isinstance(only_term(predicate), Column) and len(values) <= _PATTERN_VALUES_MAX:
        answers = {matches_value(predicate, arrow_to_value(column.type, v), float_order) for v in values}
        return True not in answers, False not in answers
    proofs = prove(predicate, one_value_zones(column.field_id, column.type, values), float_order)
    return bool(pc.all(proofs.none).as_py()), bool(pc.all(proofs.every).as_py())
