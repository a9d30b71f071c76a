"""Zigzag varints, and the two exceptions that decoding raises inside this package.

Law: a varint never takes more than ten bytes or sixty-four bits, and never reads beyond `end`.

Spec (Apache Avro): "Binary Encoding".
"""

from __future__ import annotations


class Damage(Exception):
    """What is wrong at the current place; the caller adds file and place and raises FormatViolation."""


class Beyond(Exception):
    """What is valid but not readable here; the caller adds the file and raises Unsupported."""


def read_long(data: bytes | memoryview, pos: int, end: int) -> tuple[int, int]:
    """One zigzag varint: its value and the position after it."""
    if pos < end:
        byte = data[pos]
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), pos + 1
    raw = 0
    for shift in range(0, 70, 7):
        if pos >= end:
            raise Damage("expected a varint, got the end of the data")
        byte = data[pos]
        pos += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            if raw >> 64:
                raise Damage("expected a varint of at most 64 bits, got more")
            return (raw >> 1) ^ -(raw & 1), pos
    raise Damage("expected a varint of at most 10 bytes, got a longer one")


def read_length(data: bytes | memoryview, pos: int, end: int) -> tuple[int, int]:
    """The length before bytes or a string, checked against what is left."""
    length, pos = read_long(data, pos, end)
    if not 0 <= length <= end - pos:
        raise Damage(f"expected a length from 0 to the {end - pos} bytes left, got {length}")
    return length, pos
