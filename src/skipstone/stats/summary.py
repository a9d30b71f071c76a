"""What a scan found out about one column of some rows: of a file, a partition, a table.

Laws: all of it is exact for the rows that were read, but for the sketches, which say themselves how far they are off.
Merged summaries describe the rows of all parts; a part that lacks a fact makes the whole lack it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np

from skipstone.metadata.partitions.sorting import float_order_keys
from skipstone.metadata.types import PrimitiveType, Value
from skipstone.stats.heavy_values import HeavyValues, merge_heavy
from skipstone.stats.hyperloglog import HyperLogLog
from skipstone.stats.quantiles import Quantiles, merge_quantiles
from skipstone.stats.theta import ThetaSketch, union


class Held(IntFlag):
    """What a summary may have beside counts and bounds."""

    THETA = 1
    BIT_VECTOR = 2
    QUANTILES = 4
    HEAVY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """Lengths are in characters for strings and in bytes for binary values; a null has none.

    `lower` and `upper` leave nulls and NaNs out; both are None where nothing else is there.
    """

    field_id: int
    type: PrimitiveType
    value_count: int
    null_count: int
    nan_count: int = 0
    true_count: int | None = None
    lower: Value = None
    upper: Value = None
    length_total: int | None = None
    length_max: int | None = None
    theta: ThetaSketch | None = None
    bit_vector: HyperLogLog | None = None
    quantiles: Quantiles | None = None
    heavy: HeavyValues | None = None

    @property
    def held(self) -> Held:
        """Which sketches it has."""
        sketches = (self.theta, self.bit_vector, self.quantiles, self.heavy)
        return Held(sum(flag for flag, sketch in zip(Held, sketches, strict=True) if sketch is not None))

    @property
    def ordinary_count(self) -> int:
        return self.value_count - self.null_count - self.nan_count


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSummary:
    """The columns of one data file, without the rows that `deletes_key` names as deleted ("" for none)."""

    file_path: str
    row_count: int
    deletes_key: str
    columns: tuple[ColumnSummary, ...]


def merge_summaries(parts: Sequence[ColumnSummary]) -> ColumnSummary:
    """One summary of the same column over all parts, of which there is at least one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return ColumnSummary(
        field_id=first.field_id,
        type=first.type,
        value_count=sum(p.value_count for p in parts),
        null_count=sum(p.null_count for p in parts),
        nan_count=sum(p.nan_count for p in parts),
        true_count=_total([p.true_count for p in parts]),
        lower=widest([p.lower for p in parts], is_upper=False),
        upper=widest([p.upper for p in parts], is_upper=True),
        length_total=_total([p.length_total for p in parts]),
        length_max=_most([p.length_max for p in parts]),
        theta=_all_known([p.theta for p in parts], union),
        bit_vector=_all_known([p.bit_vector for p in parts], lambda known: HyperLogLog.empty().merge(known)),
        quantiles=_all_known([p.quantiles for p in parts], merge_quantiles),
        heavy=_all_known([p.heavy for p in parts], merge_heavy),
    )


def widest(values: Sequence[Value], *, is_upper: bool) -> Value:
    """The least or greatest value, in the order of bounds, in which -0.0 comes before 0.0."""
    known = [v for v in values if v is not None]
    if not known:
        return None
    if isinstance(known[0], float):
        keys = float_order_keys(np.array(known, np.float64))
        return known[int(keys.argmax() if is_upper else keys.argmin())]
    # Python compares text by code point and bytes as unsigned, which is how the format orders them.
    return max(known) if is_upper else min(known)


def _total(counts: Sequence[int | None]) -> int | None:
    known = [c for c in counts if c is not None]
    return sum(known) if len(known) == len(counts) else None


def _most(counts: Sequence[int | None]) -> int | None:
    known = [c for c in counts if c is not None]
    return max(known) if len(known) == len(counts) else None


def _all_known(parts: Sequence[Any], merge: Any) -> Any:
    return None if any(p is None for p in parts) else merge(parts)
