"""One column of rows becomes a summary, batch by batch.

Laws: counts, bounds and lengths are exact for the rows taken in; bounds are not sought where a footer proves them. A
dictionary-encoded batch gives the same summary as the plain one; only its dictionary is looked at, and of that only
what its rows use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.analysis.footer_facts import ToldColumn
from skipstone.metadata.types import BinaryType, BooleanType, PrimitiveType, StringType, Value
from skipstone.stats.heavy_values import HeavyBuilder, has_heavy_values
from skipstone.stats.hyperloglog import WITH_BIT_VECTOR, HyperLogLogBuilder
from skipstone.stats.number_keys import Keys, has_keys, key_doubles, keys_of, without_nans
from skipstone.stats.quantiles import NUMERIC, QuantilesBuilder
from skipstone.stats.quantiles import K as FEW_VALUES
from skipstone.stats.sampling import Sampler
from skipstone.stats.summary import ColumnSummary, Held, widest
from skipstone.stats.theta import ThetaBuilder
from skipstone.stats.theta_hash import WITHOUT_NDV
from skipstone.write.metrics import WITHOUT_BOUNDS, count_nans, extremes, is_float

pa: Any = pyarrow
pc: Any = pyarrow.compute


_ASCII_END: Final = 128
# Sampled numbers that wait before they are sorted.
_KEYS_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What to collect beside counts, bounds and lengths."""

    ndv: bool = True
    quantiles: bool = True
    heavy_values: bool = True
    bit_vectors: bool = False  # what Hive counts distinct values with

    def held(self, type_: PrimitiveType) -> Held:
        """The sketches that a summary of a column of this type has."""
        has_values = not isinstance(type_, WITHOUT_NDV)
        wanted = {
            Held.THETA: self.ndv and has_values,
            Held.BIT_VECTOR: self.bit_vectors and isinstance(type_, WITH_BIT_VECTOR),
            Held.QUANTILES: self.quantiles and isinstance(type_, NUMERIC),
            Held.HEAVY: self.heavy_values and has_values and has_heavy_values(type_),
        }
        return Held(sum(flag for flag, is_wanted in wanted.items() if is_wanted))


class ColumnCollector:
    """Takes the values of one column of one file; `num_rows` says about how many there will be."""

    def __init__(self, field_id: int, type_: PrimitiveType, num_rows: int, wishes: Wishes) -> None:
        self._id = field_id
        self._type = type_
        held = self._held = wishes.held(type_)
        self._told: ToldColumn | None = None
        self._theta = ThetaBuilder() if Held.THETA in held else None
        self._bit_vector = HyperLogLogBuilder() if Held.BIT_VECTOR in held else None
        self._quantiles = QuantilesBuilder(num_rows) if Held.QUANTILES in held else None
        self._heavy = HeavyBuilder(type_, num_rows) if Held.HEAVY in held else None
        # Numbers are sorted once for both.
        has_sample = has_keys(type_) and (self._quantiles is not None or self._heavy is not None)
        self._sampler = Sampler(num_rows) if has_sample else None
        self._keys: list[Keys] = []
        self._values = self._nulls = self._nans = self._trues = 0
        self._lower: Value = None
        self._upper: Value = None
        self._length_total = self._length_max = 0

    def tell(self, told: ToldColumn) -> bool:
        """Take what is certain of all rows without them; whether that is all there is to find out."""
        self._told = told
        return self._held == Held(0)

    def add(self, array: Any) -> None:
        """Take a batch in the shape of `to_arrow_type`, or the same dictionary-encoded."""
        self._values += len(array)
        self._nulls += array.null_count
        if len(array) == array.null_count:
            return
        if isinstance(array, pa.DictionaryArray):
            self._add_distinct(*_used(array))
            return
        if self._sampler is not None:
            self._sample(array)
        elif self._heavy is not None:
            self._heavy.add(_plain(array))
        self._look_at(array, None)

    def _sample(self, array: Any) -> None:
        assert self._sampler is not None
        self._keys.append(keys_of(self._type, self._sampler.of(array)))
        if sum(map(len, self._keys)) > _KEYS_MAX:
            self._sort()

    def _sort(self) -> None:
        if self._sampler is None or not self._keys:
            return
        given = np.concatenate(self._keys)
        keys = np.sort(given)
        self._keys = []
        if self._heavy is not None:
            self._heavy.add_sorted(keys, self._sampler.stride)
        if self._quantiles is not None:
            taken = keys if len(keys) > FEW_VALUES else given
            values = key_doubles(self._type, without_nans(self._type, taken))
            self._quantiles.add_sorted(values, self._sampler.stride)

    def _add_distinct(self, values: Any, counts: npt.NDArray[np.int64]) -> None:
        if self._heavy is not None:
            self._heavy.add_counted(values, counts)
        self._look_at(values, counts)

    def _look_at(self, array: Any, counts: npt.NDArray[np.int64] | None) -> None:
        """Values, of which each stands for itself, or for as many as `counts` says."""
        if self._theta is not None:
            self._theta.add(self._type, array)
        if self._bit_vector is not None:
            self._bit_vector.add(self._type, array)
        if self._quantiles is not None and self._sampler is None:
            self._quantiles.add(self._type, array)
        if is_float(self._type):
            self._nans += count_nans(array)
        if isinstance(self._type, BooleanType):
            self._trues += pc.sum(array).as_py() or 0
        if self._told is None and not isinstance(self._type, WITHOUT_BOUNDS):
            lower, upper = extremes(self._type, pa.chunked_array([array]))
            self._lower = widest([self._lower, lower], is_upper=False)
            self._upper = widest([self._upper, upper], is_upper=True)
        if isinstance(self._type, StringType | BinaryType):
            self._measure(array, counts)

    def _measure(self, array: Any, counts: npt.NDArray[np.int64] | None) -> None:
        in_characters = isinstance(self._type, StringType) and not is_ascii(array)
        lengths = pc.utf8_length(array) if in_characters else pc.binary_length(array)
        self._length_max = max(self._length_max, pc.max(lengths).as_py() or 0)
        if counts is None:
            self._length_total += pc.sum(lengths).as_py() or 0
        else:
            self._length_total += int(np.dot(lengths.to_numpy(zero_copy_only=False).astype(np.int64), counts))

    def finish(self) -> ColumnSummary:
        self._sort()
        if self._told is not None:
            self._values, self._nulls = self._told.value_count, self._told.null_count
            self._lower, self._upper = self._told.lower, self._told.upper
        has_length = isinstance(self._type, StringType | BinaryType)
        return ColumnSummary(
            field_id=self._id,
            type=self._type,
            value_count=self._values,
            null_count=self._nulls,
            nan_count=self._nans,
            true_count=self._trues if isinstance(self._type, BooleanType) else None,
            lower=self._lower,
            upper=self._upper,
            length_total=self._length_total if has_length else None,
            length_max=self._length_max if has_length else None,
            theta=None if self._theta is None else self._theta.finish(),
            bit_vector=None if self._bit_vector is None else self._bit_vector.finish(),
            quantiles=None if self._quantiles is None else self._quantiles.finish(),
            heavy=None if self._heavy is None else self._heavy.finish(),
        )


def _used(array: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The dictionary values that rows use, and how often each is used."""
    indices = array.indices
    indices = indices.drop_null() if indices.null_count else indices
    counts = np.bincount(indices.to_numpy(zero_copy_only=False), minlength=len(array.dictionary))
    used = np.flatnonzero(counts)
    return array.dictionary.take(pa.array(used)), counts[used].astype(np.int64)


def is_ascii(array: Any) -> bool:
    """Whether every character of a text column takes one byte, so that bytes tell lengths, which is far quicker."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return True
    ends = np.frombuffer(memoryview(offsets), np.int32)
    used = np.frombuffer(memoryview(data), np.uint8)[ends[array.offset] : ends[array.offset + len(array)]]
    return not len(used) or int(used.max()) < _ASCII_END


def _plain(array: Any) -> Any:
    return array.storage if isinstance(array, pa.ExtensionArray) else array
