"""Our statistics in Hive's form.

What Hive's form would round or lose happens here only: timestamps become seconds, rounded down; a null counts as a text
of length 0; and where a float column has NaN or infinities Hive keeps nothing of it, so nothing is given.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

import numpy as np

from skipstone.hive.histogram import histogram_of
from skipstone.hive.kll_bytes import Doubles
from skipstone.hive.statistics import BOUNDED, COUNTED, MEASURED, Bound, ColumnStatistics, all_null
from skipstone.hive.types import Kind, hive_type, kind_of
from skipstone.metadata.types import FixedType, UuidType
from skipstone.stats.column_statistics import ColumnStatistics as OurStatistics

_UNITS_PER_SECOND: Final = {
    "timestamp": 1_000_000,
    "timestamptz": 1_000_000,
    "timestamp_ns": 1_000_000_000,
    "timestamptz_ns": 1_000_000_000,
}

_SECONDS_PER_DAY: Final = 86_400
# Below it a product of doubles that ought to be whole rounds to the whole number that it is.
_WHOLE_MAX: Final = 1 << 51
_UUID_LENGTH: Final = 36  # as text, which is what Hive takes it for


def hive_statistics(
    ours: OurStatistics, *, bit_vector: bytes | None = None, has_histogram: bool = False
) -> ColumnStatistics | None:
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
    average, longest = _lengths(ours)
    trues, falses = _value(ours.true_count), _value(ours.false_count)
    # Hive's form has no way to say that a number is not known, and unknown is never zero.
    if (kind in COUNTED and distincts is None) or (kind in MEASURED and (average is None or longest is None)):
        return None
    if kind is Kind.BOOLEAN and (trues is None or falses is None):
        return None
    return ColumnStatistics(
        column=ours.name,
        type=text,
        kind=kind,
        num_nulls=nulls,
        num_distincts=distincts if kind in COUNTED else None,
        low=low if kind in BOUNDED else None,
        high=high if kind in BOUNDED else None,
        avg_length=_over_all_rows(average, values, nulls) if kind in MEASURED and average is not None else None,
        max_length=longest if kind in MEASURED else None,
        num_trues=trues if kind is Kind.BOOLEAN else None,
        num_falses=falses if kind is Kind.BOOLEAN else None,
        bit_vector=(bit_vector or vector) if kind in COUNTED else None,
        histogram=_histogram(ours, kind, low, high, values - nulls) if has_histogram else None,
    )


def _histogram(ours: OurStatistics, kind: Kind, low: Bound | None, high: Bound | None, count: int) -> bytes | None:
    """The distribution of values as floats; dates and timestamps in seconds."""
    if kind not in BOUNDED or ours.quantiles is None or low is None or high is None:
        return None
    seconds_per_unit = _SECONDS_PER_DAY if kind is Kind.DATE else 1
    units_per_second = _UNITS_PER_SECOND.get(ours.type.name, 1)

    def change(values: Doubles) -> Doubles:
        return np.floor_divide(values, units_per_second) if kind is Kind.TIMESTAMP else values * seconds_per_unit

    ends = {"low": float(low) * seconds_per_unit, "high": float(high) * seconds_per_unit}
    found = histogram_of(ours.quantiles, change, **ends, count=count)
    return None if found is None else found.serialize()


def _lengths(ours: OurStatistics) -> tuple[float | None, int | None]:
    """The average and the greatest length of values; every value of some types has the same."""
    match ours.type:
        case UuidType():
            return float(_UUID_LENGTH), _UUID_LENGTH
        case FixedType():
            return float(ours.type.length), ours.type.length
    return _value(ours.average_length), _value(ours.max_length)


def _over_all_rows(average: float, values: int, nulls: int) -> float:
    """An average over values that are not null, as one over all: a null is as long as no text.

    Lengths add up to a whole number, from which Hive divides once; twice would be off in the last digit.
    """
    total = average * (values - nulls)
    return (round(total) if total < _WHOLE_MAX else total) / values


def _value(labelled: Any) -> Any:
    return None if labelled is None else labelled.value


def _bound(kind: Kind, type_name: str, value: Any) -> Bound | None:
    if value is None or kind not in BOUNDED:
        return None
    if kind is Kind.TIMESTAMP:
        return int(value) // _UNITS_PER_SECOND[type_name]
    if kind is Kind.DECIMAL:
        return _without_zeros(Decimal(value))
    return float(value) if kind is Kind.DOUBLE else int(value)


def _without_zeros(value: Decimal) -> Decimal:
    """A decimal without zeros after the point at its end, as Hive keeps it; every other digit stays.

    Python's own `normalize` rounds to 28 digits, ten fewer than a decimal may have.
    """
    sign, digits, exponent = value.as_tuple()
    places = -int(exponent)
    while places > 0 and len(digits) > 1 and digits[-1] == 0:
        digits, places = digits[:-1], places - 1
    return Decimal((sign, digits, -places)) if any(digits) else Decimal(0)
