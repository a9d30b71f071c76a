"""Checksums inside the bytes they protect: a place of fixed width is left open, and filled when all else is written.

Law: bytes that pass are the bytes that were written. A file that does not pass is of no use.
"""

from __future__ import annotations

import zlib
from typing import Final

from skipstone.errors import FormatViolation

_MARK: Final = b"skipstone-seal:"
_OPEN: Final = b"00000000"
OPEN_SEAL: Final = (_MARK + _OPEN).decode()


def seal(data: bytearray, start: int = 0) -> None:
    """Fill in the checksum of everything from `start` on."""
    at = _place(data, start)
    data[at : at + len(_OPEN)] = f"{_checksum(data, start, at):08x}".encode()


def check_seal(
    data: bytes | bytearray | memoryview, source: str, start: int = 0, *, advice: str = "Build the index again."
) -> None:
    try:
        at = _place(data, start)
        is_whole = bytes(data[at : at + len(_OPEN)]) == f"{_checksum(data, start, at):08x}".encode()
    except ValueError:
        is_whole = False
    if not is_whole:
        raise FormatViolation(f"Invalid file {source}: its checksum does not hold. {advice}")


def is_sealed(data: bytes | bytearray) -> bool:
    """Whether a checksum is there at all: earlier versions wrote some files without one."""
    return _MARK in data


def _place(data: bytes | bytearray | memoryview, start: int) -> int:
    whole = bytes(data) if isinstance(data, memoryview) else data
    # Values and paths may hold the mark, too; what is sealed is written before it.
    return whole.rindex(_MARK, start) + len(_MARK)


def _checksum(data: bytes | bytearray | memoryview, start: int, at: int) -> int:
    view = memoryview(data)
    return zlib.crc32(view[at + len(_OPEN) :], zlib.crc32(_OPEN, zlib.crc32(view[start:at])))
