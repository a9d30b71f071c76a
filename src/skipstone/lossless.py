"""Python values that Arrow would change without a word on their way into a column.

Law: what is written is what was given. Arrow itself refuses most of what does not fit; it cuts off fractions, times of
day, zones and nanoseconds, and makes infinity of doubles too large for a float.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow

pa: Any = pyarrow

_FLOAT_MAX: Final = float(np.finfo(np.float32).max)


def may_lose(type_: Any, values: Sequence[Any]) -> bool:
    """Whether Arrow could change one of the Python values to make it one of this type."""
    kinds = {*map(type, values)} - {type(None)}
    if pa.types.is_integer(type_):
        return kinds != {int}
    if pa.types.is_date(type_):
        return kinds != {datetime.date}
    return bool(pa.types.is_float32(type_) or pa.types.is_time(type_) or pa.types.is_timestamp(type_))


def expected_instead(value: Any, type_: Any) -> str | None:
    """What the column needs, if this value would be changed; None if it is kept as it is."""
    if pa.types.is_integer(type_):
        return None if isinstance(value, int) or _is_whole(value) else "whole numbers"
    if pa.types.is_float32(type_):
        return "numbers that a float can hold" if _is_too_large(value) else None
    if pa.types.is_date(type_):
        return "dates without a time of day" if _has_time_of_day(value) else None
    if pa.types.is_time(type_):
        has_zone = isinstance(value, datetime.time) and value.tzinfo is not None
        return "times without a zone" if has_zone else None
    if pa.types.is_timestamp(type_) and isinstance(value, datetime.datetime):
        if type_.tz is None and value.tzinfo is not None:
            return "timestamps without a zone"
        if type_.unit == "us" and getattr(value, "nanosecond", 0):
            return "timestamps in microseconds"
    return None


def _is_whole(value: Any) -> bool:
    """True for what has no fraction, and for what Arrow is to judge: text, NaN."""
    try:
        return not math.isfinite(value) or bool(value == int(value))
    except (TypeError, ValueError):
        return True


def _is_too_large(value: Any) -> bool:
    return isinstance(value, float | np.floating) and _FLOAT_MAX < abs(float(value)) < math.inf


def _has_time_of_day(value: Any) -> bool:
    return isinstance(value, datetime.datetime) and (value.time() != datetime.time() or value.tzinfo is not None)
