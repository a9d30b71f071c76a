"""Our statistics in Hive's form.

What Hive's form would round or lose happens here only: timestamps become seconds, rounded down; a null counts as a text
of length 0; and where a float column has NaN or infinities Hive keeps nothing of it, so nothing is given.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

from skipstone.hive.statistics import BOUNDED, COUNTED, MEASURED, Bound, ColumnStatistics, all_null
from skipstone.hive.types import Kind, hive_type, kind_of
from skipstone.stats.column_statistics import ColumnStatistics as OurStatistics

_UNITS_PER_SECOND: Final = {
    "timestamp": 1_000_000,
    "timestamptz": 1_000_000,
    "timestamp_ns": 1_000_000_000,
    "timestamptz_ns": 1_000_000_000,
}


def hive_statistics(ours: OurStatistics, *, bit_vector: bytes | None = None) -> ColumnStatistics | None:
    """A column's statistics as Hive would keep them; None where Hive keeps none."""
    text = hive_type(ours.type)
    kind = kind_of(text)
    nulls, values = _value(ours.null_count), _value(ours.value_count)
    if kind is None or nulls is None or values is None:
        return None
    if values == nulls:
        return all_null(ours.name, text, nulls)
    low, high = (_bound(kind, ours.type.name, _value(end)) for end in (ours.low, ours.high))
    has_odd = bool(_value(ours.nan_count)) or any(isinstance(v, float) and not math.isfinite(v) for v in (low, high))
    if kind is Kind.DOUBLE and has_odd:
        return None
    vector = None if ours.bit_vector is None else ours.bit_vector.serialize()
    distincts = _value(ours.ndv) if ours.bit_vector is None else ours.bit_vector.estimate()
    average, longest = _value(ours.average_length), _value(ours.max_length)
    return ColumnStatistics(
        column=ours.name,
        type=text,
        kind=kind,
        num_nulls=nulls,
        num_distincts=(distincts or 0) if kind in COUNTED else None,
        low=low if kind in BOUNDED else None,
        high=high if kind in BOUNDED else None,
        avg_length=(average or 0.0) * (values - nulls) / values if kind in MEASURED else None,
        max_length=(longest or 0) if kind in MEASURED else None,
        num_trues=(_value(ours.true_count) or 0) if kind is Kind.BOOLEAN else None,
        num_falses=(_value(ours.false_count) or 0) if kind is Kind.BOOLEAN else None,
        bit_vector=(bit_vector or vector) if kind in COUNTED else None,
    )


def _value(labelled: Any) -> Any:
    return None if labelled is None else labelled.value


def _bound(kind: Kind, type_name: str, value: Any) -> Bound | None:
    if value is None or kind not in BOUNDED:
        return None
    if kind is Kind.TIMESTAMP:
        return int(value) // _UNITS_PER_SECOND[type_name]
    if kind is Kind.DECIMAL:
        # Hive drops zeros at the end.
        plain = Decimal(value).normalize()
        exponent = plain.as_tuple().exponent
        return plain.quantize(Decimal(1)) if isinstance(exponent, int) and exponent > 0 else plain
    return float(value) if kind is Kind.DOUBLE else int(value)
