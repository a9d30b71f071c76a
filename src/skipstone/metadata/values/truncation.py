"""Shorter bounds for long strings and byte strings.

Law: truncate_lower(v) <= v <= truncate_upper(v). Strings are cut between code points and ordered by code point, which
is also the order of their UTF-8 bytes; byte strings are ordered as unsigned bytes. Only what is longer than the width
changes. An upper bound that cannot be shortened is None: no bound at all is better than a wrong one.

Spec: "Data File Fields" (lower_bounds and upper_bounds).
"""

from __future__ import annotations

from typing import Final

from skipstone.errors import InvalidInput
from skipstone.metadata.types import BinaryType, FixedType, PrimitiveType, StringType, Value

_CODE_POINT_MAX: Final = 0x10FFFF
_SURROGATE_FIRST: Final = 0xD800
_SURROGATE_LAST: Final = 0xDFFF


def truncate_lower(type_: PrimitiveType, value: Value, width: int) -> Value:
    """A lower bound of at most `width` code points or bytes. Types that are never truncated come back as they are."""
    _check_width(width)
    match type_:
        case StringType() | BinaryType() | FixedType():
            return value[:width]
        case _:
            return value


def truncate_upper(type_: PrimitiveType, value: Value, width: int) -> Value | None:
    """An upper bound of at most `width` code points or bytes, or None when there is none that short."""
    _check_width(width)
    match type_:
        case StringType():
            return value if len(value) <= width else _next_text(value[:width])
        case BinaryType() | FixedType():
            return value if len(value) <= width else _next_bytes(value[:width])
        case _:
            return value


def _next_text(prefix: str) -> str | None:
    """The least text of at most this length above every text that starts with the prefix."""
    kept = prefix.rstrip(chr(_CODE_POINT_MAX))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    if _SURROGATE_FIRST <= following <= _SURROGATE_LAST:
        following = _SURROGATE_LAST + 1
    return kept[:-1] + chr(following)


def _next_bytes(prefix: bytes) -> bytes | None:
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _check_width(width: int) -> None:
    if width < 1:
        raise InvalidInput(f"Invalid truncation width: expected 1 or more, got {width}.")
