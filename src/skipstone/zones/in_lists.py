"""IN lists against bounds, by sorted search: thousands of literals cost little more than ten.

The first literal that is not below the lower bound is the only one that has to be looked at: no value matches if it
lies above the upper bound, every value if both bounds are it. The search runs on keys, numbers in the order of the
values. Long texts may share a key; only for those few zones are the texts themselves compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from skipstone.metadata.types import DecimalType, PrimitiveType, Value
from skipstone.zones.arrow import Array, Mask, is_known, numbers, pa, pc, unpacked
from skipstone.zones.bounds import Between
from skipstone.zones.verdict import Proofs, Verdict, constant

Keys: TypeAlias = npt.NDArray[Any]

# A key of a text is its first 7 bytes and its length: shorter texts have keys of their own, longer ones may share one.
KEY_BYTES: Final = 7
_SHARED: Final = KEY_BYTES + 2
_BELOW_ALL: Final = np.uint64(0)
_ABOVE_ALL: Final = np.uint64(2**64 - 1)
LONG_DIGITS: Final = 18  # decimals up to this precision are longs


def judge_in(between: Between, values: tuple[Value, ...], num_zones: int) -> Proofs:
    """What is proven about the ordinary values of zones and an IN list, whose literals binding has sorted."""
    ordinary = values[:-1] if _ends_with_nan(values) else values
    return judge_among(between, between.array(ordinary), num_zones)


def judge_among(between: Between, values: Array, num_zones: int) -> Proofs:
    """The same for values in one sorted, comparable array without nulls and NaN; there may be millions of them."""
    if len(values) == 0:
        return constant(num_zones, Verdict.NO_ROW_MATCHES)
    if num_zones == 0 or (between.lower is None and between.upper is None):
        return constant(num_zones, Verdict.UNKNOWN)
    literals = _sortable(between.type, values)
    lower = None if between.lower is None else _sortable(between.type, between.lower)
    upper = None if between.upper is None else _sortable(between.type, between.upper)
    if pa.types.is_binary(literals.type) or pa.types.is_string(literals.type):
        none, every = _search_texts(literals, lower, upper, num_zones)
    else:
        found = _search(numbers(literals), _side(lower, numbers), _side(upper, numbers), num_zones)
        none, every = found.none, found.every
    return Proofs(pa.array(none), pa.array(every))


def _ends_with_nan(values: tuple[Value, ...]) -> bool:
    return bool(values) and isinstance(values[-1], float) and math.isnan(values[-1])


@dataclass(frozen=True, slots=True)
class _Side:
    """The lower or the upper bounds, as keys."""

    keys: Keys
    known: Mask


@dataclass(frozen=True, slots=True)
class _Found:
    """What the search says: `first` is the first literal not below each zone's lower bound, if there is one."""

    first: Keys
    at_a_bound: Mask  # it has the key of one of the bounds
    none: Mask
    every: Mask


def _side(bounds: Array | None, make_keys: Callable[[Array], Keys]) -> _Side | None:
    if bounds is None:
        return None
    known = is_known(bounds)
    return _Side(make_keys(bounds), np.ones(len(bounds), np.bool_) if known is None else known)


def _search(literals: Keys, lower: _Side | None, upper: _Side | None, num_zones: int) -> _Found:
    """Zones against sorted literals. An unknown lower bound is below all literals."""
    no = np.zeros(num_zones, np.bool_)
    at = np.zeros(num_zones, np.intp)
    if lower is not None:
        at = np.searchsorted(literals, lower.keys)
        at[~lower.known] = 0
    past = at == len(literals)
    first = literals[np.minimum(at, len(literals) - 1)]
    at_lower = no if lower is None else (first == lower.keys) & lower.known & ~past
    at_upper = no if upper is None else (first == upper.keys) & upper.known & ~past
    none = past if upper is None else past | ((first > upper.keys) & upper.known)
    return _Found(first, at_lower | at_upper, none, at_lower & at_upper)


def _sortable(type_: PrimitiveType, side: Array) -> Array:
    """Bounds or literals as numbers, or as texts whose bytes have the order of the values."""
    if pa.types.is_boolean(side.type):
        return side.cast(pa.int8())
    if not isinstance(type_, DecimalType):
        return side
    words = _words(side)
    if type_.precision <= LONG_DIGITS:
        return pa.array(words[:, 0].view(np.int64), mask=_unknown(side))
    high_first = np.empty((len(side), 2), ">u8")
    high_first[:, 0] = words[:, 1] ^ np.uint64(2**63)  # negative numbers before the others
    high_first[:, 1] = words[:, 0]
    texts = pa.Array.from_buffers(pa.binary(16), len(side), [None, pa.py_buffer(high_first.tobytes())])
    return pc.if_else(side.is_valid(), texts, pa.scalar(None, pa.binary(16))).cast(pa.binary())


def _words(decimals: Array) -> npt.NDArray[np.uint64]:
    """The 128-bit integers of decimals as two words, low first."""
    return np.frombuffer(decimals.buffers()[1], "<u8").reshape(-1, 2)[decimals.offset : decimals.offset + len(decimals)]


def _unknown(side: Array) -> Mask | None:
    known = is_known(side)
    return None if known is None else ~known


def _search_texts(literals: Array, lower: Array | None, upper: Array | None, num_zones: int) -> tuple[Mask, Mask]:
    prefix = _common_prefix(literals)

    def keys(texts: Array) -> Keys:
        return _text_keys(texts, prefix)

    found = _search(keys(literals), _side(lower, keys), _side(upper, keys), num_zones)
    none, every = found.none, found.every
    # Equal keys of long texts leave the order open.
    is_open = found.at_a_bound & (found.first & np.uint64(0xFF) == _SHARED)
    if is_open.any():
        zones = pa.array(np.flatnonzero(is_open))
        parts = [None if side is None else side.take(zones) for side in (lower, upper)]
        none[is_open], every[is_open] = _search_exactly(literals, parts[0], parts[1], len(zones))
    return none, every


def _search_exactly(literals: Array, lower: Array | None, upper: Array | None, num_zones: int) -> tuple[Mask, Mask]:
    """The same search with ranks among all texts that occur, which are exact keys."""
    together = pa.concat_arrays([side.cast(pa.large_binary()) for side in (literals, lower, upper) if side is not None])
    ranks = pc.rank(together, tiebreaker="dense").to_numpy()
    num_literals = len(literals)
    found = _search(
        ranks[:num_literals],
        _side(lower, lambda _: ranks[num_literals : num_literals + num_zones]),
        _side(upper, lambda _: ranks[-num_zones:]),
        num_zones,
    )
    return found.none, found.every


def _common_prefix(literals: Array) -> bytes:
    """What the first and the last of sorted texts share, all of them share."""
    first, last = (literals[i].cast(pa.binary()).as_py() for i in (0, -1))
    length = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), min(len(first), len(last)))
    return bytes(first[:length])


def _text_keys(texts: Array, prefix: bytes) -> Keys:
    """Keys in the order of the texts: what follows the prefix, or below or above all keys without it."""
    raw = texts.view(pa.binary()) if pa.types.is_string(texts.type) else texts
    _, offsets_buffer, data_buffer = raw.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[raw.offset : raw.offset + len(raw) + 1]
    lengths = np.diff(offsets) - len(prefix)
    begin, end = int(offsets[0]), int(offsets[-1])
    # Eight more bytes, so that the last texts can be read past their end.
    data = np.zeros(end - begin + 8, np.uint8)
    if end > begin:
        data[:-8] = np.frombuffer(data_buffer, np.uint8, end - begin, begin)
    windows = np.ndarray(len(data) - 7, ">u8", data, strides=(1,))
    starts = np.minimum(offsets[:-1] + (len(prefix) - begin), len(windows) - 1)
    kept = np.clip(lengths, 0, KEY_BYTES)
    keys: npt.NDArray[np.uint64] = windows[starts].astype(np.uint64) & _MASKS[kept]
    keys |= (np.clip(lengths, 0, KEY_BYTES + 1) + 1).astype(np.uint64)
    if prefix:
        outside = ~unpacked(pc.starts_with(raw, prefix))
        if outside.any():
            above = unpacked(pc.greater(raw, pa.scalar(prefix, pa.binary())))
            keys[outside] = np.where(above[outside], _ABOVE_ALL, _BELOW_ALL)
    return keys


# For each number of bytes kept, the bits of a big-endian word that they are. The last byte is for the length.
_MASKS: Final = np.array([(2**64 - 1) ^ (2 ** (64 - 8 * n) - 1) for n in range(KEY_BYTES + 1)], np.uint64)
