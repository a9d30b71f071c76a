"""Thrift's binary protocol: bytes into a buffer, and values out of one that may still be arriving.

Whatever arrives is checked against what is left of the message's size limit before memory is taken for it, and what
this side does not know is skipped. Anything that is not the protocol raises ProtocolViolation, nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from skipstone.errors import FormatViolation

STOP: Final = 0
_DEPTH_MAX: Final = 32
# A message whose elements are smaller than this on average is not one that a metastore's client would send.
_ELEMENT_BYTES: Final = 64
_ELEMENTS_MIN: Final = 1 << 16
_WIDTHS: Final = {2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8}

_HEADER: Final = struct.Struct(">bh")
_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")
_DOUBLE: Final = struct.Struct(">d")
_LIST: Final = struct.Struct(">bi")
_MAP: Final = struct.Struct(">bbi")

Read = Callable[["Input"], Any]
Write = Callable[[bytearray, Any], None]


class ProtocolViolation(FormatViolation):
    """The bytes are not a message of this protocol."""


class Truncated(ProtocolViolation):
    """The bytes end within a message."""


class Input:
    """A message's bytes, read from the front. `more` brings further bytes, none at the end."""

    __slots__ = ("_elements", "_end", "_limit", "_more", "at", "data")

    def __init__(self, data: bytes = b"", *, more: Callable[[], bytes] | None = None, limit: int = 1 << 30) -> None:
        self.data = bytearray(data)
        self.at = 0
        self._more = more
        self._limit = limit
        self._end: int | None = None
        self._elements = 0

    def need(self, count: int) -> int:
        """Where the next `count` bytes begin; they are there when this returns, and behind when it has."""
        at = self.at
        end = at + count
        if end > len(self.data) or self._end is not None:
            self._fetch(end)
        self.at = end
        return at

    def take(self, count: int) -> bytes:
        at = self.need(count)
        return bytes(self.data[at : at + count])

    def next_message(self) -> None:
        """Forget what was read; the limit is for one message."""
        del self.data[: self.at]
        self.at = 0
        self._end = None
        self._elements = 0

    def begin_frame(self, count: int) -> None:
        """The message is exactly the next `count` bytes."""
        self._end = self.at + self.check_room(count)

    def end_frame(self) -> None:
        """Raises if the message ended elsewhere than its frame."""
        if self._end is not None and self.at != self._end:
            raise ProtocolViolation(
                f"Invalid Thrift frame: expected it to end with its message at byte {self.at}, got byte {self._end}."
            )

    def check_room(self, count: int) -> int:
        limit = self._limit if self._end is None else self._end
        if not 0 <= count <= limit - self.at:
            raise ProtocolViolation(
                f"Invalid Thrift message at byte {self.at}: expected at most {limit} bytes in a message, "
                f"got a size of {count}."
            )
        return count

    def check_elements(self, count: int) -> int:
        """A number of elements that follow. Each takes one byte at least, and as a value here far more than that."""
        self._elements += self.check_room(count)
        most = max(self._limit // _ELEMENT_BYTES, _ELEMENTS_MIN)
        if self._elements > most:
            raise ProtocolViolation(
                f"Invalid Thrift message at byte {self.at}: expected at most {most} elements in lists and maps, "
                f"got {self._elements}."
            )
        return count

    def _fetch(self, end: int) -> None:
        self.check_room(end - self.at)
        while len(self.data) < end:
            arrived = self._more() if self._more is not None else b""
            if not arrived:
                raise Truncated(
                    f"Invalid Thrift message at byte {self.at}: expected {end - self.at} more bytes, "
                    f"got {len(self.data) - self.at}."
                )
            self.data += arrived


def read_bool(source: Input) -> bool:
    return source.data[source.need(1)] != 0


def read_byte(source: Input) -> int:
    value = source.data[source.need(1)]
    return value - 256 if value > 127 else value


def read_i16(source: Input) -> int:
    at = source.need(2)
    return _I16.unpack_from(source.data, at)[0]  # type: ignore[no-any-return]


def read_i32(source: Input) -> int:
    at = source.need(4)
    return _I32.unpack_from(source.data, at)[0]  # type: ignore[no-any-return]


def read_i64(source: Input) -> int:
    at = source.need(8)
    return _I64.unpack_from(source.data, at)[0]  # type: ignore[no-any-return]


def read_double(source: Input) -> float:
    at = source.need(8)
    return _DOUBLE.unpack_from(source.data, at)[0]  # type: ignore[no-any-return]


def read_binary(source: Input) -> bytes:
    return source.take(source.check_room(read_i32(source)))


def read_string(source: Input) -> str:
    data = read_binary(source)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProtocolViolation(f"Invalid Thrift string {data[:40]!r}: expected UTF-8, {error.reason}.") from None


def read_list(element: Read, code: int) -> Read:
    def read(source: Input) -> list[Any]:
        at = source.need(5)
        got, count = _LIST.unpack_from(source.data, at)
        source.check_elements(count)
        if count and got != code:
            raise ProtocolViolation(f"Invalid Thrift list at byte {at}: expected elements of type {code}, got {got}.")
        return [element(source) for _ in range(count)]

    return read


def read_map(key: Read, key_code: int, value: Read, value_code: int) -> Read:
    def read(source: Input) -> dict[Any, Any]:
        at = source.need(6)
        *got, count = _MAP.unpack_from(source.data, at)
        source.check_elements(count)
        if count and got != [key_code, value_code]:
            raise ProtocolViolation(
                f"Invalid Thrift map at byte {at}: expected types {[key_code, value_code]} of key and value, got {got}."
            )
        pairs = [(key(source), value(source)) for _ in range(count)]
        return {(tuple(k) if isinstance(k, list) else k): v for k, v in pairs}

    return read


def read_fields(source: Input, known: dict[tuple[int, int], tuple[str, Read]], put: Callable[[str, Any], None]) -> None:
    """The fields of a struct up to its end; unknown ones, and known ones of another type, are skipped."""
    data = source.data
    while True:
        at = source.need(1)
        if data[at] == STOP:
            return
        source.need(2)
        field = known.get(_HEADER.unpack_from(data, at))
        if field is None:
            skip(source, data[at])
        else:
            put(field[0], field[1](source))


def skip(source: Input, code: int, depth: int = 0) -> None:
    """Pass over a value of any type."""
    if depth > _DEPTH_MAX:
        raise ProtocolViolation(f"Invalid Thrift message at byte {source.at}: expected at most {_DEPTH_MAX} levels.")
    if code in _WIDTHS:
        source.need(_WIDTHS[code])
    elif code == 11:
        source.need(source.check_room(read_i32(source)))
    elif code == 12:
        while (inner := source.data[source.need(1)]) != STOP:
            source.need(2)
            skip(source, inner, depth + 1)
    elif code == 13:
        *codes, count = _MAP.unpack_from(source.data, source.need(6))
        for _ in range(source.check_room(count)):
            skip(source, codes[0], depth + 1)
            skip(source, codes[1], depth + 1)
    elif code in (14, 15):
        inner, count = _LIST.unpack_from(source.data, source.need(5))
        for _ in range(source.check_room(count)):
            skip(source, inner, depth + 1)
    else:
        raise ProtocolViolation(f"Invalid Thrift message at byte {source.at}: expected a type, got number {code}.")


def write_bool(out: bytearray, value: bool) -> None:
    out.append(1 if value else 0)


def write_byte(out: bytearray, value: int) -> None:
    out.append(value & 0xFF)


def write_i16(out: bytearray, value: int) -> None:
    out += _I16.pack(value)


def write_i32(out: bytearray, value: int) -> None:
    out += _I32.pack(value)


def write_i64(out: bytearray, value: int) -> None:
    out += _I64.pack(value)


def write_double(out: bytearray, value: float) -> None:
    out += _DOUBLE.pack(value)


def write_binary(out: bytearray, value: bytes) -> None:
    out += _I32.pack(len(value))
    out += value


def write_string(out: bytearray, value: str) -> None:
    write_binary(out, value.encode("utf-8"))


def write_list(element: Write, code: int) -> Write:
    def write(out: bytearray, values: Any) -> None:
        out += _LIST.pack(code, len(values))
        for value in values:
            element(out, value)

    return write


def write_map(key: Write, key_code: int, value: Write, value_code: int) -> Write:
    def write(out: bytearray, values: Any) -> None:
        out += _MAP.pack(key_code, value_code, len(values))
        for k, v in values.items():
            key(out, k)
            value(out, v)

    return write


def field_header(code: int, number: int) -> bytes:
    return _HEADER.pack(code, number)
