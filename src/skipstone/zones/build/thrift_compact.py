"""Thrift's compact protocol, read only: structs become dicts by field id.

Laws: bad bytes are one FormatViolation, never another error and never a hang; what is built is bounded by the bytes
given, because every element takes one byte at least; nesting is capped. Fields nobody asked for are stepped over.

Source: the Thrift compact protocol specification of Apache Thrift.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeAlias

from skipstone.errors import FormatViolation

# Which fields to read: field id to the wish for its content (None: all of it).
Wish: TypeAlias = Mapping[int, Any] | None

_DEPTH_MAX: Final = 24
_VARINT_BYTES_MAX: Final = 10
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_INTEGERS: Final = (_I16, _I32, _I64)


def parse_struct(data: bytes, *, source: str, wish: Wish = None, offset: int = 0) -> tuple[dict[int, Any], int]:
    """The struct that starts at an offset, and the offset behind it."""
    reader = _Reader(data, offset, source)
    found = reader.struct(wish, 0)
    return found, reader.position


class _Reader:
    def __init__(self, data: bytes, position: int, source: str) -> None:
        self.data = data
        self.position = position
        self.source = source

    def fail(self, expected: str) -> NoReturn:
        raise FormatViolation(f"Invalid {self.source}: byte {self.position}: expected {expected}.")

    def byte(self) -> int:
        if self.position >= len(self.data):
            self.fail("more bytes, got the end")
        value = self.data[self.position]
        self.position += 1
        return value

    def varint(self) -> int:
        data, position, end = self.data, self.position, len(self.data)
        result = shift = 0
        for _ in range(_VARINT_BYTES_MAX):
            if position >= end:
                self.fail("more bytes of a number, got the end")
            b = data[position]
            position += 1
            result |= (b & 0x7F) << shift
            if b < 0x80:
                self.position = position
                return result
            shift += 7
        return self.fail(f"a number of at most {_VARINT_BYTES_MAX} bytes")

    def zigzag(self) -> int:
        n = self.varint()
        return (n >> 1) ^ -(n & 1)

    def binary(self) -> bytes:
        length = self.varint()
        start = self.position
        if length > len(self.data) - start:
            self.fail(f"{length} bytes, got {len(self.data) - start}")
        self.position = start + length
        return self.data[start : start + length]

    def struct(self, wish: Wish, depth: int) -> dict[int, Any]:
        if depth > _DEPTH_MAX:
            self.fail(f"at most {_DEPTH_MAX} levels of structs")
        found: dict[int, Any] = {}
        field_id = 0
        while (header := self.byte()) != 0:
            kind = header & 0x0F
            field_id = field_id + (header >> 4) if header >> 4 else self.zigzag()
            if kind in (_TRUE, _FALSE):
                found[field_id] = kind == _TRUE
            elif wish is None or field_id in wish:
                found[field_id] = self.value(kind, None if wish is None else wish[field_id], depth + 1)
            else:
                self.skip(kind, depth + 1)
        return found

    def value(self, kind: int, wish: Wish, depth: int) -> Any:
        if depth > _DEPTH_MAX:
            self.fail(f"at most {_DEPTH_MAX} levels of values")
        if kind in _INTEGERS:
            return self.zigzag()
        match kind:
            case 1 | 2:  # an element of a list of booleans
                return self.byte() == _TRUE
            case 3:
                return self.byte()
            case 7:
                return struct.unpack("<d", self.fixed(8))[0]
            case 8:
                return self.binary()
            case 9 | 10:
                count, element = self.list_header()
                return [self.value(element, wish, depth + 1) for _ in range(count)]
            case 11:
                return self.map(depth)
            case 12:
                return self.struct(wish, depth + 1)
            case 13:
                return self.fixed(16)
            case _:
                return self.fail(f"a known kind of value, got kind {kind}")

    def fixed(self, length: int) -> bytes:
        if length > len(self.data) - self.position:
            self.fail(f"{length} bytes, got {len(self.data) - self.position}")
        self.position += length
        return self.data[self.position - length : self.position]

    def list_header(self) -> tuple[int, int]:
        header = self.byte()
        count = header >> 4
        if count == 15:
            count = self.varint()
        if count > len(self.data) - self.position:
            self.fail(f"a list that fits into {len(self.data) - self.position} bytes, got {count} elements")
        return count, header & 0x0F

    def map(self, depth: int) -> dict[Any, Any]:
        count = self.varint()
        if count == 0:
            return {}
        if count > len(self.data) - self.position:
            self.fail(f"a map that fits into {len(self.data) - self.position} bytes, got {count} entries")
        kinds = self.byte()
        if kinds >> 4 > _BINARY:
            self.fail("map keys that are numbers or bytes")
        return {
            self.value(kinds >> 4, None, depth + 1): self.value(kinds & 0x0F, None, depth + 1) for _ in range(count)
        }

    def skip(self, kind: int, depth: int) -> None:
        if depth > _DEPTH_MAX:
            self.fail(f"at most {_DEPTH_MAX} levels of values")
        if kind in _INTEGERS:
            self.varint()
        elif kind == _BINARY:
            self.binary()
        elif kind == _STRUCT:
            self.struct({}, depth)
        elif kind in (_LIST, _SET):
            count, element = self.list_header()
            if element in (_TRUE, _FALSE, _BYTE):
                self.fixed(count)
            else:
                for _ in range(count):
                    self.skip(element, depth + 1)
        else:
            self.value(kind, None, depth)
