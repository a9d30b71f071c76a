"""Checks a portable 64-bit Roaring bitmap byte by byte before a library is trusted with it.

Law: bytes that pass are well formed in every container, end exactly where they should, and hold positions below
2^63. The bitmap library reads within bounds, but takes unsorted or miscounted containers as they are.

Roaring format: "General layout" and "Extension for 64-bit implementations".
"""

from __future__ import annotations

from typing import Final

import numpy as np

from skipstone.errors import FormatViolation

KEY_MAX: Final = 2**31 - 1  # positions are below 2^63

_COOKIE_WITHOUT_RUNS: Final = 12346
_COOKIE_WITH_RUNS: Final = 12347
_OFFSETS_FROM: Final = 4  # a bitmap with runs has offsets only from this many containers on
_CONTAINERS_MAX: Final = 65536
_ARRAY_CARDINALITY_MAX: Final = 4096
_BITSET_BYTES: Final = 8192


def check_roaring64(data: bytes, *, where: str) -> int:
    """The number of positions in a well-formed bitmap. `where` opens the message otherwise."""
    reader = _Reader(data, where)
    count = reader.unsigned(8, "number of bitmaps")
    if count > KEY_MAX + 1:
        raise reader.violation(0, f"at most {KEY_MAX + 1} bitmaps", str(count))
    cardinality = 0
    previous = -1
    for _ in range(count):
        at = reader.at
        key = reader.unsigned(4, "key")
        if not previous < key <= KEY_MAX:
            raise reader.violation(at, f"a key above {previous} and up to {KEY_MAX}", str(key))
        previous = key
        cardinality += _check_roaring32(reader)
    if reader.at != len(data):
        raise reader.violation(reader.at, "the end", f"{len(data) - reader.at} more bytes")
    return cardinality


class _Reader:
    """A cursor over bytes that never reads past the end."""

    __slots__ = ("_where", "at", "data")

    def __init__(self, data: bytes, where: str) -> None:
        self.data = data
        self.at = 0
        self._where = where

    def unsigned(self, width: int, what: str) -> int:
        start = self.skip(width, what)
        return int.from_bytes(self.data[start : self.at], "little")

    def shorts(self, count: int, what: str) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
        start = self.skip(2 * count, what)
        return np.frombuffer(self.data, dtype="<u2", count=count, offset=start)

    def skip(self, width: int, what: str) -> int:
        """Moves past `width` bytes; returns where they start."""
        start = self.at
        if width > len(self.data) - start:
            raise self.violation(start, f"{width} bytes of {what}", f"{len(self.data) - start}")
        self.at = start + width
        return start

    def violation(self, at: int, expected: str, got: str) -> FormatViolation:
        return FormatViolation(f"Invalid {self._where}: bitmap byte {at}: expected {expected}, got {got}.")


def _check_roaring32(reader: _Reader) -> int:
    at = reader.at
    cookie = reader.unsigned(4, "cookie")
    run_flags = b""
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        containers = (cookie >> 16) + 1
        start = reader.skip((containers + 7) // 8, "run flags")
        run_flags = reader.data[start : reader.at]
    elif cookie == _COOKIE_WITHOUT_RUNS:
        containers = reader.unsigned(4, "number of containers")
        if containers > _CONTAINERS_MAX:
            raise reader.violation(at + 4, f"at most {_CONTAINERS_MAX} containers", str(containers))
    else:
        raise reader.violation(at, f"cookie {_COOKIE_WITHOUT_RUNS} or {_COOKIE_WITH_RUNS}", str(cookie))
    at = reader.at
    header = reader.shorts(2 * containers, "container headers")
    _check_ascending(reader, at, header[0::2], "container keys")
    if not run_flags or containers >= _OFFSETS_FROM:
        # Containers follow each other anyway; the offsets only serve readers that jump.
        reader.skip(4 * containers, "container offsets")
    sizes: list[int] = header[1::2].tolist()
    for i, size_less_one in enumerate(sizes):
        is_run = bool(run_flags) and bool(run_flags[i >> 3] >> (i & 7) & 1)
        _check_container(reader, size_less_one + 1, is_run=is_run)
    return sum(sizes) + containers


def _check_container(reader: _Reader, cardinality: int, *, is_run: bool) -> None:
    at = reader.at
    if is_run:
        runs = reader.shorts(2 * reader.unsigned(2, "number of runs"), "runs").astype(np.int64)
        firsts, lasts = runs[0::2], runs[0::2] + runs[1::2]
        if np.any(lasts > 0xFFFF) or np.any(firsts[1:] <= lasts[:-1]):
            raise reader.violation(at, "ascending runs up to 65535", "runs that overlap or reach beyond")
        found = int(runs[1::2].sum()) + len(firsts)
    elif cardinality <= _ARRAY_CARDINALITY_MAX:
        _check_ascending(reader, at, reader.shorts(cardinality, "array container"), "array values")
        found = cardinality
    else:
        start = reader.skip(_BITSET_BYTES, "bitset container")
        words = np.frombuffer(reader.data, dtype="<u8", count=_BITSET_BYTES // 8, offset=start)
        found = int(np.bitwise_count(words).sum())
    if found != cardinality:
        raise reader.violation(at, f"a container of {cardinality} values", str(found))


def _check_ascending(reader: _Reader, at: int, values: np.ndarray[tuple[int], np.dtype[np.uint16]], what: str) -> None:
    if np.any(values[1:] <= values[:-1]):
        raise reader.violation(at, f"ascending {what}", "values out of order")
