"""The parts of a Parquet file that pyarrow does not show: index offsets, encodings of pages, indexes, page headers.

Laws: every structure is read with a cap; a structure that contradicts the format is one FormatViolation. What lies in
encrypted columns is not there.

Source: Apache Parquet's `parquet.thrift`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from skipstone.errors import FormatViolation
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.thrift_compact import parse_struct

_MAGIC: Final = b"PAR1"
_TAIL_LENGTH: Final = 8
_PLAIN_DICTIONARY, _RLE_DICTIONARY = 2, 8
_DATA_PAGES: Final = (0, 3)

_CHUNK: Final = {
    3: {4: None, 5: None, 9: None, 11: None, 13: None, 14: None, 15: None},
    4: None,
    5: None,
    6: None,
    7: None,
}
_FOOTER: Final = {4: {1: _CHUNK, 3: None}, 7: None}


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPlaces:
    """Where the parts of one column chunk are; None where the footer does not tell."""

    codec: int | None
    data_page_offset: int | None
    dictionary_page_offset: int | None
    is_all_dictionary: bool
    column_index: Span | None
    offset_index: Span | None
    bloom_filter: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterPlaces:
    """The chunks of each row group, and the leaves whose order of values is defined."""

    num_rows: tuple[int, ...]
    chunks: tuple[tuple[ChunkPlaces, ...], ...]
    is_ordered: tuple[bool, ...]


def read_footer(file: FileBytes) -> FooterPlaces:
    """Parse the footer of a file."""
    tail = file.piece(file.size - _TAIL_LENGTH, _TAIL_LENGTH, "Parquet footer")
    if tail[4:] != _MAGIC:
        raise FormatViolation(f"Invalid Parquet footer in {file.source}: expected PAR1 at the end, got {tail[4:]!r}.")
    length = int.from_bytes(tail[:4], "little")
    data = file.piece(file.size - _TAIL_LENGTH - length, length, "Parquet footer")
    source = f"Parquet footer in {file.source}"
    found, _ = parse_struct(data, source=source, wish=_FOOTER)
    groups = [_struct(g, source) for g in _list(found.get(4), source)]
    return FooterPlaces(
        num_rows=tuple(_number(g.get(3), source) for g in groups),
        chunks=tuple(tuple(_chunk(_struct(c, source), source) for c in _list(g.get(1), source)) for g in groups),
        is_ordered=tuple(bool(_struct(o, source)) for o in _list(found.get(7), source)),
    )


def _chunk(chunk: dict[int, Any], source: str) -> ChunkPlaces:
    meta = _struct(chunk.get(3) or {}, source)
    return ChunkPlaces(
        codec=_optional(meta.get(4), source),
        data_page_offset=_optional(meta.get(9), source),
        dictionary_page_offset=_optional(meta.get(11), source),
        is_all_dictionary=_is_all_dictionary(meta.get(13), source),
        column_index=_span(chunk.get(6), chunk.get(7), source),
        offset_index=_span(chunk.get(4), chunk.get(5), source),
        # Old writers do not tell the length; the header of the filter does.
        bloom_filter=_span(meta.get(14), meta.get(15) if 15 in meta else 0, source),
    )


def _is_all_dictionary(stats: Any, source: str) -> bool:
    """Whether the page statistics prove that every data page refers to the dictionary."""
    if stats is None:
        return False
    encodings = set()
    for entry in (_struct(s, source) for s in _list(stats, source)):
        if entry.get(1) in _DATA_PAGES and entry.get(3) != 0:
            encodings.add(entry.get(2))
    return bool(encodings) and encodings <= {_PLAIN_DICTIONARY, _RLE_DICTIONARY}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnIndex:
    """Facts about each page of a column chunk, values as stored."""

    null_pages: list[bool]
    min_values: list[bytes]
    max_values: list[bytes]
    null_counts: list[int] | None


def parse_column_index(data: bytes, *, source: str) -> ColumnIndex:
    found, _ = parse_struct(data, source=source, wish={1: None, 2: None, 3: None, 5: None})
    null_pages = _typed_list(found.get(1), bool, source)
    lower, upper = _typed_list(found.get(2), bytes, source), _typed_list(found.get(3), bytes, source)
    nulls = None if 5 not in found else _typed_list(found[5], int, source)
    lengths = {len(null_pages), len(lower), len(upper), len(nulls if nulls is not None else null_pages)}
    if len(lengths) != 1:
        raise FormatViolation(f"Invalid {source}: expected lists of one length, got {sorted(lengths)}.")
    return ColumnIndex(null_pages=null_pages, min_values=lower, max_values=upper, null_counts=nulls)


def parse_offset_index(data: bytes, *, source: str) -> list[int]:
    """The first row of each page, counted from the start of the row group."""
    found, _ = parse_struct(data, source=source, wish={1: {3: None}})
    first_rows = [_number(_struct(p, source).get(3), source) for p in _list(found.get(1), source)]
    if first_rows and (first_rows[0] != 0 or any(b <= a for a, b in pairwise(first_rows))):
        raise FormatViolation(f"Invalid {source}: expected page rows to ascend from 0.")
    return first_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class DictionaryPage:
    """Header of a dictionary page; its content follows at `body_offset` of the bytes it was read from."""

    num_values: int
    encoding: int
    compressed_size: int
    uncompressed_size: int
    body_offset: int


def parse_dictionary_page_header(data: bytes, *, source: str) -> DictionaryPage:
    found, end = parse_struct(data, source=source, wish={1: None, 2: None, 3: None, 7: None})
    header = _struct(found.get(7), source)
    return DictionaryPage(
        num_values=_number(header.get(1), source),
        encoding=_number(header.get(2), source),
        compressed_size=_number(found.get(3), source),
        uncompressed_size=_number(found.get(2), source),
        body_offset=end,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomHeader:
    num_bytes: int
    is_split_block_xxhash: bool
    body_offset: int


def parse_bloom_header(data: bytes, *, source: str) -> BloomHeader:
    found, end = parse_struct(data, source=source)
    known = all(isinstance(found.get(i), dict) and set(found[i]) == {1} for i in (2, 3, 4))
    return BloomHeader(num_bytes=_number(found.get(1), source), is_split_block_xxhash=known, body_offset=end)


def _span(offset: Any, length: Any, source: str) -> Span | None:
    if offset is None or length is None:
        return None
    return Span(_number(offset, source), _number(length, source))


def _struct(value: Any, source: str) -> dict[int, Any]:
    if not isinstance(value, dict):
        raise FormatViolation(f"Invalid {source}: expected a struct, got {type(value).__name__}.")
    return value


def _list(value: Any, source: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise FormatViolation(f"Invalid {source}: expected a list, got {type(value).__name__}.")
    return value


def _typed_list(value: Any, kind: type, source: str) -> list[Any]:
    found = _list(value, source)
    if any(type(v) is not kind for v in found):
        raise FormatViolation(f"Invalid {source}: expected a list of {kind.__name__}.")
    return found


def _number(value: Any, source: str) -> int:
    if type(value) is not int or value < 0:
        raise FormatViolation(f"Invalid {source}: expected a number of 0 or more, got {value!r}.")
    return value


def _optional(value: Any, source: str) -> int | None:
    return None if value is None else _number(value, source)
