"""Theta sketches: how many distinct values, from the smallest hashes of them.

Laws: a sketch keeps every hash below its `theta`, at most `NOMINAL_ENTRIES` of them when it is full; up to that many
distinct values the count is exact. A union of sketches is the sketch of all their values. What is serialized here,
other implementations read, and the other way round.

Puffin spec: "Blob types", apache-datasketches-theta-v1.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import datasketches
import numpy as np

from skipstone.errors import FormatViolation
from skipstone.metadata.types import PrimitiveType
from skipstone.stats.sorted_numbers import is_run_start
from skipstone.stats.theta_hash import LIMIT, Hashes, SeenHashes, below, hash_array

# Four times the usual 4,096: a standard error of 0.8 %, so that 2 % is kept at ten million distinct values.
NOMINAL_ENTRIES: Final = 16_384
SEED_HASH: Final = 0x93CC
_SERIAL_VERSION: Final = 3
_COMPACT_FAMILY: Final = 3
# Flags of the preamble, beside read-only, compact and ordered, which are always set.
_FLAGS: Final = 0x1A
_EMPTY: Final = 0x04
_SINGLE: Final = 0x20
# Hashes that wait before they are sorted into the sketch.
_WAITING_MAX: Final = 4 * NOMINAL_ENTRIES
# How many times what a sketch keeps is sorted first.
_ENOUGH: Final = 1.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThetaSketch:
    """A finished sketch: sorted hashes, all below `theta`."""

    theta: int = LIMIT
    hashes: Hashes = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)

    @property
    def is_exact(self) -> bool:
        return self.theta == LIMIT

    @property
    def estimate(self) -> float:
        return len(self.hashes) / (self.theta / LIMIT)

    @property
    def ndv(self) -> int:
        """The estimate as the `ndv` property has it: truncated to a whole number."""
        return int(self.estimate)

    @property
    def error(self) -> float:
        """The relative standard error of the estimate."""
        if self.is_exact or not len(self.hashes):
            return 0.0
        return math.sqrt((1 - self.theta / LIMIT) / len(self.hashes))

    def within(self, std_devs: float) -> tuple[float, float]:
        """From where to where the true number lies, so many standard deviations wide."""
        slack = self.estimate * self.error * std_devs
        return max(float(len(self.hashes)), self.estimate - slack), self.estimate + slack

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ThetaSketch) and self.theta == other.theta and np.array_equal(self.hashes, other.hashes)
        )

    def __hash__(self) -> int:
        return hash((self.theta, len(self.hashes)))

    def serialize(self) -> bytes:
        """The compact ordered form."""
        count = len(self.hashes)
        values = self.hashes.astype("<u8").tobytes()
        if not self.is_exact:
            return _preamble(3, _FLAGS) + struct.pack("<IfQ", count, 1.0, self.theta) + values
        if count == 0:
            return _preamble(1, _FLAGS | _EMPTY)
        if count == 1:
            return _preamble(1, _FLAGS | _SINGLE) + values
        return _preamble(2, _FLAGS) + struct.pack("<If", count, 1.0) + values


class ThetaBuilder:
    """Takes values in and keeps the smallest hashes."""

    def __init__(self) -> None:
        self._theta = LIMIT
        self._hashes: Hashes = np.empty(0, np.uint64)
        self._waiting: list[Hashes] = []
        self._waiting_count = 0
        self._seen = SeenHashes()

    def add(self, type_: PrimitiveType, array: Any) -> None:
        """Take a column of values; nulls count for nothing."""
        self.add_hashes(hash_array(type_, array, self._theta))

    def add_hashes(self, hashes: Hashes) -> None:
        hashes = self._seen.without_seen(hashes)
        if len(hashes):
            self._waiting.append(hashes)
            self._waiting_count += len(hashes)
        if self._waiting_count > _WAITING_MAX:
            self._settle()

    def finish(self) -> ThetaSketch:
        self._settle()
        return ThetaSketch(theta=self._theta, hashes=self._hashes)

    def _settle(self) -> None:
        if self._waiting:
            self._theta, self._hashes = _smallest(self._theta, [self._hashes, *self._waiting])
            self._waiting, self._waiting_count = [], 0


def union(sketches: Iterable[ThetaSketch]) -> ThetaSketch:
    """The sketch of the values of all sketches."""
    parts = list(sketches)
    if not parts:
        return ThetaSketch()
    theta, hashes = _smallest(min(s.theta for s in parts), [s.hashes for s in parts])
    return ThetaSketch(theta=theta, hashes=hashes)


def _smallest(theta: int, parts: list[Hashes]) -> tuple[int, Hashes]:
    joined = below(np.concatenate(parts), theta)
    # Hashes are spread evenly, so few need to be sorted: those below a share of theta, where more than enough lie if
    # all are different. Where they are not, what was found tells how many are.
    share = _ENOUGH * NOMINAL_ENTRIES / max(1, len(joined))
    while share < 1:
        hashes = _different(below(joined, int(theta * share)))
        if len(hashes) > NOMINAL_ENTRIES:
            break
        share *= _ENOUGH * NOMINAL_ENTRIES / max(1, len(hashes))
    else:
        hashes = _different(joined)
    if len(hashes) > NOMINAL_ENTRIES:
        theta = int(hashes[NOMINAL_ENTRIES])
        hashes = hashes[:NOMINAL_ENTRIES].copy()
    return theta, hashes


def _different(hashes: Hashes) -> Hashes:
    """Sorted, each once."""
    ordered = np.sort(hashes)
    return ordered[is_run_start(ordered)]


def parse_theta(data: bytes, *, source: str = "theta sketch") -> ThetaSketch:
    """A sketch from its compact form, by whatever implementation it was written."""
    if len(data) < 8:
        raise FormatViolation(f"Invalid {source}: expected at least 8 bytes, got {len(data)}.")
    longs, version, family, flags = data[0] & 0x3F, data[1], data[2], data[5]
    if family != _COMPACT_FAMILY:
        raise FormatViolation(f"Invalid {source}: expected sketch family {_COMPACT_FAMILY} (compact), got {family}.")
    seed_hash = int.from_bytes(data[6:8], "little")
    if not flags & _EMPTY and seed_hash != SEED_HASH:
        raise FormatViolation(f"Invalid {source}: expected seed hash 0x{SEED_HASH:x}, got 0x{seed_hash:x}.")
    if version != _SERIAL_VERSION:
        return _parse_foreign(data, source)
    if flags & _EMPTY:
        return ThetaSketch()
    if longs == 1:
        return _checked(LIMIT, data[8:], 1, source)
    if longs not in (2, 3) or len(data) < longs * 8:
        raise FormatViolation(f"Invalid {source}: expected 1 to 3 words before the hashes, got {longs}.")
    count = int.from_bytes(data[8:12], "little")
    theta = int.from_bytes(data[16:24], "little") if longs == 3 else LIMIT
    return _checked(theta, data[longs * 8 :], count, source)


def _parse_foreign(data: bytes, source: str) -> ThetaSketch:
    """Older and compressed forms, which the library knows."""
    try:
        sketch = datasketches.compact_theta_sketch.deserialize(data)
        hashes = np.fromiter(sketch, np.uint64)
    except Exception as error:  # the library raises whatever its C++ raised
        raise FormatViolation(f"Invalid {source}: {error}.") from error
    return ThetaSketch(theta=sketch.theta64, hashes=np.unique(hashes))


def _checked(theta: int, stored: bytes, count: int, source: str) -> ThetaSketch:
    if not 0 < theta <= LIMIT or len(stored) != count * 8:
        raise FormatViolation(f"Invalid {source}: expected {count} hashes of 8 bytes, got {len(stored)} bytes.")
    hashes = np.frombuffer(stored, "<u8").astype(np.uint64)
    if count and not bool((hashes[1:] > hashes[:-1]).all()):
        hashes = np.sort(hashes)
    if count and (hashes[0] == 0 or hashes[-1] >= np.uint64(theta) or bool((hashes[1:] == hashes[:-1]).any())):
        raise FormatViolation(f"Invalid {source}: expected different hashes between 0 and {theta}.")
    return ThetaSketch(theta=theta, hashes=hashes)


def _preamble(longs: int, flags: int) -> bytes:
    return bytes([longs, _SERIAL_VERSION, _COMPACT_FAMILY, 0, 0, flags]) + SEED_HASH.to_bytes(2, "little")
