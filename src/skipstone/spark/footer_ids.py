"""Field ids of list elements and map entries, put into the footer of a Parquet file that Spark wrote without them.

The footer is one Thrift structure (compact protocol) at the end of the file. A new one, the same but for the ids, is
put behind it: data stays where it is, and the old footer becomes bytes that nobody reads.

Law: doing it twice, or in two tasks at once, leaves the same file as doing it once, because the file's size before is
known: the same bytes go to the same place. Nothing refers to the file before the commit.

Spec: "Appendix A: Format-specific Requirements", Parquet; Parquet's "File Format".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from skipstone.errors import FormatViolation
from skipstone.storage.paths import local_path
from skipstone.storage.protocol import Storage

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
# Types of the compact protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
# Fields of FileMetaData and SchemaElement.
_SCHEMA: Final = 2
_NAME, _NUM_CHILDREN, _FIELD_ID = 4, 5, 9


def add_ids(storage: Storage, path: str, size: int, ids_by_path: Mapping[str, int]) -> int:
    """Put the ids into a local file of this size, and return its new size."""
    tail = storage.read_range(path, size - _TAIL_BYTES, _TAIL_BYTES)
    if tail[4:] != _MAGIC:
        raise FormatViolation(f"Invalid Parquet file {path}: expected PAR1 at the end of {size} bytes.")
    length = int.from_bytes(tail[:4], "little")
    footer = with_ids(storage.read_range(path, size - _TAIL_BYTES - length, length), ids_by_path)
    added = footer + len(footer).to_bytes(4, "little") + _MAGIC
    with Path(local_path(path)).open("r+b") as file:
        file.seek(size)
        file.write(added)
        file.truncate()
    return size + len(added)


def with_ids(footer: bytes, ids_by_path: Mapping[str, int]) -> bytes:
    """A serialized FileMetaData with field ids at these dotted paths of its schema."""
    parts = [
        (number, kind, _schema_with_ids(footer[start:end], ids_by_path) if number == _SCHEMA else footer[start:end])
        for number, kind, start, end in _Reader(footer).fields()
    ]
    return _struct(parts)


def _schema_with_ids(data: bytes, ids_by_path: Mapping[str, int]) -> bytes:
    reader = _Reader(data)
    count, kind = reader.list_head()
    elements = [[(n, k, data[a:b]) for n, k, a, b in reader.fields()] for _ in range(count)]
    _walk(iter(elements), "", ids_by_path, is_root=True)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)
    return head + b"".join(_struct(e) for e in elements)


def _walk(elements: Iterator[Any], above: str, ids_by_path: Mapping[str, int], *, is_root: bool = False) -> None:
    """Visit one element and those below it: the list holds a tree, parents first."""
    element = next(elements)
    parts = {number: data for number, _, data in element}
    name = _Reader(parts[_NAME]).binary().decode()
    path = "" if is_root else f"{above}.{name}" if above else name
    if path in ids_by_path:
        element[:] = [p for p in element if p[0] != _FIELD_ID]
        element.append((_FIELD_ID, _I32, _zigzag(ids_by_path[path])))
        element.sort(key=lambda p: p[0])
    children = _Reader(parts[_NUM_CHILDREN]).integer() if _NUM_CHILDREN in parts else 0
    for _ in range(children):
        _walk(elements, path, ids_by_path)


def _struct(parts: list[tuple[int, int, bytes]]) -> bytes:
    out, last = bytearray(), 0
    for number, kind, data in parts:
        step = number - last
        out += bytes([step << 4 | kind]) if 0 < step <= 15 else bytes([kind]) + _zigzag(number)
        out += data
        last = number
    return bytes(out) + b"\0"


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def _zigzag(number: int) -> bytes:
    return _varint((number << 1) ^ (number >> 63))


@dataclass(slots=True)
class _Reader:
    """Walks over the compact protocol without keeping values."""

    data: bytes
    at: int = field(default=0)

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def integer(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def binary(self) -> bytes:
        length = self.varint()
        self.at += length
        return self.data[self.at - length : self.at]

    def list_head(self) -> tuple[int, int]:
        head = self.data[self.at]
        self.at += 1
        return (self.varint() if head >> 4 == 15 else head >> 4), head & 15

    def fields(self) -> Iterator[tuple[int, int, int, int]]:
        """Number, type, and where the value starts and ends, of each field of the struct here."""
        number = 0
        while (head := self.data[self.at]) != 0:
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self.integer()
            start = self.at
            self.skip(head & 15)
            yield number, head & 15, start, self.at
        self.at += 1

    def skip(self, kind: int, *, in_list: bool = False) -> None:
        if kind in (_TRUE, _FALSE):
            self.at += in_list  # a field holds its boolean in the type
        elif kind == _BYTE:
            self.at += 1
        elif kind in (_I16, _I32, _I64):
            self.varint()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            self.binary()
        elif kind in (_LIST, _SET):
            count, of = self.list_head()
            for _ in range(count):
                self.skip(of, in_list=True)
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _ in self.fields():
                pass
        else:
            raise FormatViolation(f"Invalid Parquet footer: expected a Thrift type from 1 to 12, got {kind}.")

    def _skip_map(self) -> None:
        count = self.varint()
        if count:
            kinds = self.data[self.at]
            self.at += 1
            for _ in range(count):
                self.skip(kinds >> 4, in_list=True)
                self.skip(kinds & 15, in_list=True)
