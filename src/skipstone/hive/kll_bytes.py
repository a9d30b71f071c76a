"""A KLL sketch of doubles in the bytes of one of floats: the form of Apache DataSketches, which Hive 4 stores.

Values stay at their levels, so that ranks stay what they are. A value of level h counts for 2^h values; a sketch of
one value in 2^s is one of all values whose levels are s higher.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation

Doubles = npt.NDArray[np.float64]

_HEAD: Final = struct.Struct("<BBBBHBx")  # preamble, version, family, flags, k, the least width of a level
_REST: Final = struct.Struct("<QHBx")  # how many values, the least k that was merged, how many levels
_FULL: Final = (5, 1)
_SINGLE: Final = (2, 2)
_FAMILY: Final = 15
_IS_EMPTY, _IS_LEVEL_ZERO_SORTED, _IS_SINGLE = 1, 2, 4
_LEVELS_MAX: Final = 60
# A difference that is at most one in so many values cannot be seen in a rank.
_DIFFERENCE_SHARE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class KllValues:
    """What a sketch holds: the values of each level, lowest first; every level but the lowest is sorted."""

    k: int
    min_k: int
    width_min: int
    low: float
    high: float
    levels: tuple[Doubles, ...]
    is_level_zero_sorted: bool

    @property
    def count(self) -> int:
        return sum(len(values) << height for height, values in enumerate(self.levels))

    def raised(self, by: int) -> KllValues:
        """As if each value had come 2^by times."""
        if not by:
            return self
        lowest, *others = self.levels
        nothing: Doubles = np.empty(0, np.float64)
        return replace(self, levels=(*[nothing] * by, np.sort(lowest), *others), is_level_zero_sorted=False)

    def counting(self, count: int) -> KllValues:
        """As a sketch of exactly so many values, where a sample counts for a few more or less.

        A middle value makes up the difference, at the levels whose weights add up to it. A sketch that has no room for
        it, or is of another number altogether, stays as it is.
        """
        missing, levels = count - self.count, [*self.levels]
        if not missing or abs(missing) * _DIFFERENCE_SHARE > count:
            return self
        middle = levels[-1][len(levels[-1]) // 2 :][:1]
        if missing < 0:
            height = next((h for h, held in enumerate(levels) if len(held) and 1 << h >= -missing), None)
            if height is None:
                return self
            at = len(levels[height]) // 2
            middle = levels[height][at : at + 1]
            levels[height] = np.delete(levels[height], at)
            missing += 1 << height
        for height in (h for h in range(missing.bit_length()) if missing >> h & 1):
            if height >= len(levels):
                return self
            levels[height] = np.sort(np.concatenate([levels[height], middle]))
        if sum(map(len, levels)) > _capacity(self.k, self.width_min, len(levels)):
            return self
        return replace(self, levels=tuple(levels))

    def mapped(self, change: Callable[[Doubles], Doubles]) -> KllValues:
        """Every value changed, by what keeps their order."""
        low, high = (float(value) for value in change(np.array([self.low, self.high])))
        return replace(self, low=low, high=high, levels=tuple(change(values) for values in self.levels))

    def serialize_floats(self) -> bytes:
        """The bytes of a sketch of floats; what a float cannot hold is infinite, as in Hive."""
        with np.errstate(over="ignore"):
            values = np.concatenate([np.array([self.low, self.high]), *self.levels]).astype("<f4")
        flags = _IS_LEVEL_ZERO_SORTED if self.is_level_zero_sorted else 0
        if len(self.levels) == 1 and len(values) == 3:
            head = _HEAD.pack(*_SINGLE, _FAMILY, flags | _IS_SINGLE, self.k, self.width_min)
            return head + values[2:].tobytes()
        sizes = [len(level) for level in self.levels]
        first = _capacity(self.k, self.width_min, len(sizes)) - sum(sizes)
        starts = first + np.concatenate([[0], np.cumsum(sizes[:-1])])
        head = _HEAD.pack(*_FULL, _FAMILY, flags, self.k, self.width_min)
        rest = _REST.pack(self.count, self.min_k, len(sizes))
        return head + rest + starts.astype("<u4").tobytes() + values.tobytes()


def parse_doubles(data: bytes) -> KllValues | None:
    """What the bytes of a sketch of doubles hold; None if it took no value."""
    try:
        return _parse(data)
    except (struct.error, ValueError, IndexError) as error:
        raise FormatViolation(f"Invalid quantiles sketch of {len(data)} bytes: {error}.") from None


def _parse(data: bytes) -> KllValues | None:
    _, _, family, flags, k, width_min = _HEAD.unpack_from(data)
    if family != _FAMILY:
        raise ValueError(f"expected family {_FAMILY}, got {family}")
    if flags & _IS_EMPTY:
        return None
    is_sorted = bool(flags & _IS_LEVEL_ZERO_SORTED)
    made: dict[str, Any] = {"k": k, "width_min": width_min, "is_level_zero_sorted": is_sorted}
    if flags & _IS_SINGLE:
        values = np.frombuffer(data, "<f8", 1, _HEAD.size)
        return KllValues(**made, min_k=k, low=float(values[0]), high=float(values[0]), levels=(values,))
    count, min_k, num_levels = _REST.unpack_from(data, _HEAD.size)
    if not 0 < num_levels <= _LEVELS_MAX:
        raise ValueError(f"expected 1 to {_LEVELS_MAX} levels, got {num_levels}")
    at = _HEAD.size + _REST.size
    starts = np.frombuffer(data, "<u4", num_levels, at).astype(np.int64)
    ends = np.append(starts[1:], _capacity(k, width_min, num_levels))
    ends, starts = ends - starts[0], starts - starts[0]
    values = np.frombuffer(data, "<f8", int(ends[-1]) + 2, at + 4 * num_levels)
    low, high, items = float(values[0]), float(values[1]), values[2:]
    levels = tuple(items[start:end] for start, end in zip(starts, ends, strict=True))
    found = KllValues(**made, min_k=min_k, low=low, high=high, levels=levels)
    if found.count != count:
        raise ValueError(f"expected levels that count for {count} values, got {found.count}")
    return found


def _capacity(k: int, width_min: int, num_levels: int) -> int:
    """How many values so many levels hold: each two thirds of the one above it, at least the least width."""
    return sum(max(width_min, _width(k, depth)) for depth in range(num_levels))


def _width(k: int, depth: int) -> int:
    if depth > 30:  # the library halves the way down, and rounds at each half
        return _width(_width(k, depth // 2), depth - depth // 2)
    return int(((k << (depth + 1)) // 3**depth + 1) >> 1)
