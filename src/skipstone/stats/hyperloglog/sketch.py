"""HyperLogLog as Hive writes, merges and estimates it.

A small sketch is sparse: for each index of 25 bits the longest run of zeros. Beyond a size it is dense: a register for
each index of `precision` bits, 10 where Hive writes it. The estimate of a dense one is corrected by the tables of the
HyperLogLog++ paper (Heule, Nunkesser, Hall: "HyperLogLog in Practice", appendix), the mean of the six nearest entries.

Bytes: `HLL`, then the precision and the encoding in one byte, the estimate and, if sparse, the count as varints, then
the differences of neighbouring entries as varints or the registers in 1 to 6 bits each, or 8. Hive 4 keeps entries in a
hash map and writes them in its order, older releases sorted; both are read, and Hive 4's is written. Of entries in one
bucket such a map lists the one first that it met first: entries are therefore kept in the order in which they came.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation, InvalidInput

MAGIC: Final = b"HLL"
PRECISION: Final = 10
_PRECISIONS: Final = range(4, 17)
_INDEX_BITS: Final = 25
_RUN_BITS: Final = 6
_NEAREST: Final = 6

# More entries than this and the dense form is shorter.
SPARSE_MAX: Final = ((1 << PRECISION) * 6 // 8) // 5

Hashes = npt.NDArray[np.uint64]
Registers = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """By precision, from 4 on: below which linear counting is better, and the bias of an estimate."""

    threshold: list[int]
    estimate: list[list[float]]
    bias: list[list[float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HyperLogLog:
    """A sketch: sparse when `indexes` are given, with a run for each; else dense, a run per register.

    The indexes are in the order of the values that brought them. It shows in the bytes and in nothing else.
    """

    precision: int = PRECISION
    indexes: npt.NDArray[np.int64] | None
    runs: Registers

    @classmethod
    def empty(cls, precision: int = PRECISION) -> HyperLogLog:
        return cls(precision=precision, indexes=np.empty(0, np.int64), runs=np.empty(0, np.uint8))

    @classmethod
    def of(cls, hashes: Hashes, *, precision: int = PRECISION) -> HyperLogLog:
        """The sketch of values by their hashes."""
        values, first = np.unique(hashes, return_index=True)
        unique = values[np.argsort(first)]
        indexes = (unique & np.uint64((1 << _INDEX_BITS) - 1)).astype(np.int64)
        # Six bits hold a run; the one in 2^54 hashes whose run is longer wraps around, as in Hive.
        runs = _run_lengths(unique >> np.uint64(precision)) & np.uint8((1 << _RUN_BITS) - 1)
        return _settled(precision, indexes, runs)

    @property
    def is_sparse(self) -> bool:
        return self.indexes is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HyperLogLog) or self.is_sparse != other.is_sparse:
            return False
        ours, theirs = self._in_order(), other._in_order()
        return self.precision == other.precision and all(map(np.array_equal, ours, theirs))

    def estimate(self) -> int:
        """The number of distinct values; 1 for none, as Hive says."""
        return max(self._count(), 1)

    def merge(self, others: Iterable[HyperLogLog]) -> HyperLogLog:
        """The sketch of all values of all of them, at the lowest precision among them."""
        sketches = [self, *others]
        precision = min(sketch.precision for sketch in sketches)
        reduced = [sketch.reduced(precision) for sketch in sketches]
        if all(sketch.indexes is not None for sketch in reduced):
            indexes = np.concatenate([sketch.indexes for sketch in reduced if sketch.indexes is not None])
            return _settled(precision, indexes, np.concatenate([sketch.runs for sketch in reduced]))
        registers = np.zeros(1 << precision, np.uint8)
        for sketch in reduced:
            np.maximum(registers, sketch._registers(), out=registers)
        return HyperLogLog(precision=precision, indexes=None, runs=registers)

    def reduced(self, precision: int) -> HyperLogLog:
        """The sketch at a lower precision: an index's lost bits become part of its run."""
        if precision == self.precision:
            return self
        if precision > self.precision:
            raise InvalidInput(f"Cannot raise the precision of a sketch from {self.precision} to {precision}.")
        registers = self._registers()
        lost = self.precision - precision
        index = np.arange(1 << self.precision, dtype=np.uint64)
        high = index >> np.uint64(precision)
        runs = np.where(high == 0, registers + np.uint8(lost), _run_lengths(high))
        smaller = np.zeros(1 << precision, np.uint8)
        held = registers > 0
        np.maximum.at(smaller, (index[held] & np.uint64((1 << precision) - 1)).astype(np.int64), runs[held])
        return HyperLogLog(precision=precision, indexes=None, runs=smaller)

    def serialize(self) -> bytes:
        """The bytes as Hive writes them."""
        out = bytearray(MAGIC)
        if self.indexes is not None:
            out.append(self.precision << 4)
            _put_varint(out, self.estimate())
            _put_varint(out, len(self.runs))
            order = _hash_order(self.indexes)
            _put_entries(out, (self.indexes[order] << _RUN_BITS) | self.runs[order])
            return bytes(out)
        width = int(self.runs.max(initial=0)).bit_length()
        out.append(self.precision << 4 | (width if width <= _RUN_BITS else 7))
        _put_varint(out, self.estimate())
        out += _packed(self.runs, width if width <= _RUN_BITS else 8)
        return bytes(out)

    @classmethod
    def parse(cls, data: bytes) -> HyperLogLog:
        """A sketch from Hive's bytes."""
        if data[:3] != MAGIC or len(data) < 5:
            raise _violation(f"expected {MAGIC!r} and a header, got {data[:8]!r}")
        precision, encoding = data[3] >> 4, data[3] & 7
        if precision not in _PRECISIONS:
            raise _violation(f"expected a precision from 4 to 16, got {precision}")
        _, at = _take_varint(data, 4)
        if encoding == 0:
            indexes, runs = _taken_entries(data, at)
            return cls(precision=precision, indexes=indexes, runs=runs)
        width = 8 if encoding == 7 else encoding
        return cls(precision=precision, indexes=None, runs=_unpacked(data[at:], 1 << precision, width))

    def _in_order(self) -> tuple[npt.NDArray[Any], ...]:
        """What two equal sketches have in common, whatever the order of their values."""
        if self.indexes is None:
            return (self.runs,)
        order = np.argsort(self.indexes)
        return self.indexes[order], self.runs[order]

    def _registers(self) -> Registers:
        if self.indexes is None:
            return self.runs
        registers = np.zeros(1 << self.precision, np.uint8)
        np.maximum.at(registers, self.indexes & ((1 << self.precision) - 1), self.runs)
        return registers

    def _count(self) -> int:
        if self.indexes is not None:
            return _linear_count(1 << _INDEX_BITS, (1 << _INDEX_BITS) - len(self.indexes))
        size = 1 << self.precision
        # In single precision, as Hive computes it: the estimate must be the same to the last digit.
        alpha = np.float32(0.7213) / (np.float32(1) + np.float32(1.079) / np.float32(size))
        scale = float(alpha * np.float32(size) * np.float32(size))
        count = int(scale * (1.0 / float(np.sum(np.ldexp(1.0, -self.runs.astype(np.int32))))))
        if count <= 5 * size:
            count -= _bias(self.precision, count)
        zeros = int(np.count_nonzero(self.runs == 0))
        linear = _linear_count(size, zeros) if zeros else count
        return linear if linear < _tables().threshold[self.precision - 4] else count


def _settled(precision: int, indexes: npt.NDArray[np.int64], runs: Registers) -> HyperLogLog:
    """The longest run of each index; dense when there are too many for the sparse form to be shorter."""
    order = np.lexsort((runs, indexes))
    indexes, runs = indexes[order], runs[order]
    is_last = np.append(indexes[1:] != indexes[:-1], True) if len(indexes) else np.empty(0, bool)
    sketch = HyperLogLog(precision=precision, indexes=indexes[is_last], runs=runs[is_last])
    count = len(sketch.runs)
    if count > ((1 << precision) * 6 // 8) // 5:
        return HyperLogLog(precision=precision, indexes=None, runs=sketch._registers())
    if not count:
        return sketch
    starts = np.append(0, np.flatnonzero(is_last)[:-1] + 1)
    arrival = np.argsort(np.minimum.reduceat(order, starts))
    return replace(sketch, indexes=indexes[is_last][arrival], runs=runs[is_last][arrival])


def _run_lengths(words: npt.NDArray[np.uint64]) -> Registers:
    """One more than the zeros before the lowest one; 65 without a one."""
    lowest = words & (~words + np.uint64(1))
    # A power of two is exact as a double, so its exponent is its position.
    positions = np.frexp(lowest.astype(np.float64))[1]
    return np.where(words == 0, 65, positions).astype(np.uint8)


def _linear_count(size: int, zeros: int) -> int:
    return math.floor(size * math.log(size / zeros) + 0.5)


@cache
def _bias(precision: int, count: int) -> int:
    tables = _tables()
    estimates = np.asarray(tables.estimate[precision - 4])
    nearest: dict[float, int] = {}
    for position, distance in enumerate((count - estimates) ** 2):
        # Of two entries at the same distance, Hive's map keeps the later.
        nearest[float(distance)] = position
    chosen = [nearest[distance] for distance in sorted(nearest)[:_NEAREST]]
    biases = tables.bias[precision - 4]
    total = 0.0
    for position in chosen:
        total += biases[position]
    return int(total / _NEAREST + 0.5)


@cache
def _tables() -> _Tables:
    text = files("skipstone.stats.hyperloglog").joinpath("bias.json").read_text("utf-8")
    return _Tables(**json.loads(text))


def _put_varint(out: bytearray, value: int) -> None:
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(0x80 | (value & 0x7F))
        value >>= 7
    out.append(value)


def _take_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _violation("expected a varint, got the end of the bytes")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & ((1 << 64) - 1), at


def _hash_order(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The order of a Java hash map that has grown with its keys; those of one bucket as they came."""
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return np.argsort((keys ^ (keys >> 16)) & (buckets - 1), kind="stable")


def _put_entries(out: bytearray, entries: npt.NDArray[np.int64]) -> None:
    """The first entry, then differences, in 32 bits that wrap around and are widened with their sign."""
    previous = 0
    for word in entries.astype(np.uint64).astype(np.uint32).view(np.int32).tolist():
        difference = (word - previous + (1 << 31)) % (1 << 32) - (1 << 31)
        _put_varint(out, difference)
        previous = word


def _taken_entries(data: bytes, at: int) -> tuple[npt.NDArray[np.int64], Registers]:
    count, at = _take_varint(data, at)
    if count > len(data) - at:
        raise _violation(f"expected {count} entries, got {len(data) - at} bytes")
    entries = np.empty(count, np.int64)
    word = 0
    for position in range(count):
        difference, at = _take_varint(data, at)
        word = (word + difference) & 0xFFFFFFFF
        entries[position] = word
    indexes, runs = entries >> _RUN_BITS, (entries & 0x3F).astype(np.uint8)
    if len(np.unique(indexes)) < count:
        raise _violation("expected each index once")
    return indexes, runs


def _packed(runs: Registers, width: int) -> bytes:
    bits = np.unpackbits(runs[:, None], axis=1)[:, 8 - width :]
    return np.packbits(bits.reshape(-1)).tobytes()


def _unpacked(data: bytes, count: int, width: int) -> Registers:
    if len(data) < (count * width + 7) // 8:
        raise _violation(f"expected {count} registers of {width} bits, got {len(data)} bytes")
    bits = np.unpackbits(np.frombuffer(data, np.uint8))[: count * width].reshape(count, width)
    padded = np.zeros((count, 8), np.uint8)
    padded[:, 8 - width :] = bits
    return np.packbits(padded, axis=1).reshape(-1)


def _violation(problem: str) -> FormatViolation:
    return FormatViolation(f"Invalid HyperLogLog bit vector: {problem}.")
