"""Protocol Buffers' wire format, read only: a message becomes its fields by number, each a list of what was written.

Laws: bad bytes are one FormatViolation; what is built is bounded by the bytes given. Nested messages stay bytes until
somebody asks.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

from skipstone.errors import FormatViolation

Message: TypeAlias = dict[int, list[Any]]

_VARINT_BYTES_MAX = 10


def parse_message(data: bytes, *, source: str) -> Message:
    """Numbers as unsigned integers, fixed-width and length-delimited fields as bytes."""
    found: Message = {}
    position, end = 0, len(data)
    while position < end:
        key, position = _varint(data, position, source)
        match key & 7:
            case 0:
                value, position = _varint(data, position, source)
                found.setdefault(key >> 3, []).append(value)
                continue
            case 1:
                length = 8
            case 5:
                length = 4
            case 2:
                length, position = _varint(data, position, source)
            case kind:
                _fail(source, position, f"a known wire type, got {kind}")
        if length > end - position:
            _fail(source, position, f"{length} bytes, got {end - position}")
        found.setdefault(key >> 3, []).append(data[position : position + length])
        position += length
    return found


def parse_packed(values: list[Any], *, source: str) -> list[int]:
    """A repeated number, packed or not."""
    numbers: list[int] = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        position = 0
        while position < len(value):
            number, position = _varint(value, position, source)
            numbers.append(number)
    return numbers


def zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _varint(data: bytes, position: int, source: str) -> tuple[int, int]:
    result = 0
    for shift in range(0, 7 * _VARINT_BYTES_MAX, 7):
        if position >= len(data):
            _fail(source, position, "more bytes of a number, got the end")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, position
    return _fail(source, position, f"a number of at most {_VARINT_BYTES_MAX} bytes")


def _fail(source: str, position: int, expected: str) -> NoReturn:
    raise FormatViolation(f"Invalid {source}: byte {position}: expected {expected}.")
