"""ORC's run-length encodings of booleans and integers, read into numpy arrays.

Laws: exactly as many values as the caller expects, or one FormatViolation; nothing larger than those values is built.

Source: the ORC specification, "Run Length Encoding".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation

Integers = npt.NDArray[np.int64]

# What the five bits of a width say.
_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
_MASK: Final = (1 << 64) - 1
_VARINT_BYTES_MAX: Final = 10


def read_booleans(data: bytes, count: int, *, source: str) -> npt.NDArray[np.bool_]:
    """Bits, the highest first, in bytes that are run-length encoded."""
    runs = _Runs(data, source)
    wanted = (count + 7) // 8
    parts: list[bytes] = []
    have = 0
    while have < wanted:
        control = runs.byte()
        part = runs.take(1) * (control + 3) if control < 128 else runs.take(256 - control)
        parts.append(part)
        have += len(part)
    packed = np.frombuffer(b"".join(parts), np.uint8)[:wanted]
    return np.unpackbits(packed, count=count).astype(bool)


def read_integers(data: bytes, count: int, *, is_signed: bool, version: int, source: str) -> Integers:
    """64-bit integers of either version of the encoding; unsigned ones above the signed range wrap."""
    runs = _Runs(data, source)
    parts: list[Integers] = []
    have = 0
    while have < count:
        part = runs.run_v1(is_signed) if version == 1 else runs.run_v2(is_signed)
        parts.append(part)
        have += len(part)
    if have != count:
        raise FormatViolation(f"Invalid {source}: expected runs of {count} integers, got {have}.")
    return np.concatenate([np.empty(0, np.int64), *parts])


@dataclass(slots=True)
class _Runs:
    """A place in the bytes of a stream."""

    data: bytes
    source: str
    at: int = 0

    def fail(self, expected: str) -> NoReturn:
        raise FormatViolation(f"Invalid {self.source}: byte {self.at}: expected {expected}.")

    def take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) != size:
            self.fail(f"{size} bytes, got {len(found)}")
        self.at += size
        return found

    def byte(self) -> int:
        return self.take(1)[0]

    def varint(self) -> int:
        result = 0
        for shift in range(0, 7 * _VARINT_BYTES_MAX, 7):
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result & _MASK
        return self.fail(f"an integer of at most {_VARINT_BYTES_MAX} bytes")

    def run_v1(self, is_signed: bool) -> Integers:
        control = self.byte()
        if control >= 128:
            return np.array([self.number(is_signed) for _ in range(256 - control)], np.uint64).view(np.int64)
        step = int.from_bytes(self.take(1), "big", signed=True)
        first = self.number(is_signed)
        return _from_first(first, np.full(control + 2, step & _MASK, np.uint64))

    def number(self, is_signed: bool) -> int:
        """A varint as 64 bits of two's complement."""
        value = self.varint()
        return _unzigzag(value) if is_signed else value

    def run_v2(self, is_signed: bool) -> Integers:
        first = self.byte()
        kind = first >> 6
        if kind == 0:
            value = int.from_bytes(self.take((first >> 3 & 7) + 1), "big")
            return np.full((first & 7) + 3, _unzigzag(value) if is_signed else value, np.uint64).view(np.int64)
        length = ((first & 1) << 8 | self.byte()) + 1
        code = first >> 1 & 31
        if kind == 1:
            values = self.unpack(_WIDTHS[code], length)
            return _unzigzag_array(values) if is_signed else values.view(np.int64)
        if kind == 2:
            return self.patched(_WIDTHS[code], length)
        return self.delta(0 if code == 0 else _WIDTHS[code], length, is_signed)

    def delta(self, width: int, length: int, is_signed: bool) -> Integers:
        base = self.number(is_signed)
        step = _unzigzag(self.varint())
        if width == 0:
            return _from_first(base, np.full(length - 1, step, np.uint64))
        if length < 2:
            self.fail(f"a run of at least 2 differences, got {length}")
        later = self.unpack(width, length - 2)
        # All differences have the sign of the first.
        if step >> 63:
            later = np.uint64(0) - later
        return _from_first(base, np.concatenate([np.array([step], np.uint64), later]))

    def patched(self, width: int, length: int) -> Integers:
        third, fourth = self.byte(), self.byte()
        base_bytes, patch_width = (third >> 5) + 1, _WIDTHS[third & 31]
        gap_width, num_patches = (fourth >> 5) + 1, fourth & 31
        raw = int.from_bytes(self.take(base_bytes), "big")
        sign = 1 << (8 * base_bytes - 1)
        base = -(raw & (sign - 1)) if raw & sign else raw
        values = self.unpack(width, length)
        entry_width = next((w for w in _WIDTHS if w >= gap_width + patch_width), None)
        if entry_width is None or width + patch_width > 64:
            self.fail(f"patches of at most 64 bits, got {width} + {patch_width} with gaps of {gap_width}")
        place = 0
        for entry in self.unpack(entry_width, num_patches).tolist():
            place += entry >> patch_width
            if place >= length:
                self.fail(f"patches within {length} values, got one at {place}")
            values[place] |= np.uint64((entry & ((1 << patch_width) - 1)) << width)
        return (values + np.uint64(base & _MASK)).view(np.int64)

    def unpack(self, width: int, length: int) -> npt.NDArray[np.uint64]:
        """Integers of `width` bits, one after the other, the highest bit first."""
        packed = np.frombuffer(self.take((width * length + 7) // 8), np.uint8)
        bits = np.unpackbits(packed, count=width * length).reshape(length, width).astype(np.uint64)
        weights = np.left_shift(np.uint64(1), np.arange(width - 1, -1, -1, dtype=np.uint64))
        return bits @ weights


def _from_first(first: int, steps: npt.NDArray[np.uint64]) -> Integers:
    """A first value and the differences to each next one; sums wrap at 64 bits."""
    return np.cumsum(np.concatenate([np.array([first], np.uint64), steps]), dtype=np.uint64).view(np.int64)


def _unzigzag(value: int) -> int:
    return ((value >> 1) ^ -(value & 1)) & _MASK


def _unzigzag_array(values: npt.NDArray[np.uint64]) -> Integers:
    return ((values >> np.uint64(1)) ^ (np.uint64(0) - (values & np.uint64(1)))).view(np.int64)
