"""What ORC stores for timestamps, as moments.

What comes out is what the file says, read as other readers read it: moments of the last second before 1970 come back a
second late, because so they were written.

Source: the ORC specification, "Timestamp Columns".
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow

from skipstone.errors import FormatViolation
from skipstone.read.orc_runs import Integers

pa: Any = pyarrow

# Timestamps are counted from this moment.
_BASE_S: Final = 1_420_070_400  # 2015-01-01T00:00:00Z
_SAME_AS_UTC: Final = ("", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z", "Zulu")
_FIRST_S, _LAST_S = -9_223_372_036_854, 9_223_372_036_853  # seconds whose microseconds fit 64 bits


def timestamps(seconds: Integers, nanos: Integers, *, zone: str, is_instant: bool, source: str) -> Any:
    """What a timestamp column stores, as nanoseconds if all values fit, else as microseconds."""
    moments = _moments(seconds, "UTC" if is_instant else zone, source)
    fractions = _nanos(nanos, source)
    # Seconds were cut toward zero, so that those before 1970 lack one where there is a fraction.
    moments = moments - ((moments < 0) & (fractions > 999_999))
    micros = moments * 1_000_000 + fractions // 1_000
    if _fit_nanoseconds(moments, fractions, micros):
        unit, values = "ns", moments * 1_000_000_000 + fractions
    else:
        unit, values = "us", micros
    return pa.array(values).view(pa.timestamp(unit, "UTC" if is_instant else None))


def _moments(seconds: Integers, zone: str, source: str) -> Integers:
    """Seconds since 1970; those of a writer with a time zone of its own show what its clocks showed."""
    if len(seconds) and not (seconds.min() >= _FIRST_S - _BASE_S and seconds.max() <= _LAST_S - 2 * _BASE_S):
        raise FormatViolation(f"Invalid {source}: expected seconds whose microseconds fit 64 bits, got others.")
    if zone in _SAME_AS_UTC:
        return seconds + _BASE_S
    try:
        clock = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise FormatViolation(f"Invalid {source}: expected a known time zone, got {zone!r}.") from None
    base = int(datetime(2015, 1, 1, tzinfo=clock).timestamp())
    distinct, where = np.unique(seconds + base, return_inverse=True)
    return np.array([s + _offset_s(s, clock) for s in distinct.tolist()], np.int64)[where]


def _offset_s(second: int, clock: ZoneInfo) -> int:
    """How far a zone's clocks are ahead of UTC. Beyond Python's years, as in the nearest of them."""
    first, last = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)
    moment = min(max(second, int(first.timestamp())), int(last.timestamp()))
    offset = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)).astimezone(clock).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _nanos(stored: Integers, source: str) -> Integers:
    """The low three bits tell how many zeros, less one, were cut off. Some writers count back from a later second."""
    zeros = stored & 7
    limit = 1_000_000_000
    if len(stored) and not -limit << 3 < int(stored.min()) <= int(stored.max()) < limit << 3:
        raise FormatViolation(f"Invalid {source}: expected nanoseconds below a second, got others.")
    nanos = (stored >> 3) * np.where(zeros == 0, 1, 10 ** (zeros + 1))
    if len(nanos) and int(np.abs(nanos).max()) >= limit:
        raise FormatViolation(f"Invalid {source}: expected nanoseconds below a second, got {np.abs(nanos).max()}.")
    return nanos


def _fit_nanoseconds(seconds: Integers, nanos: Integers, micros: Integers) -> bool:
    if len(micros) == 0:
        return True
    limits = np.iinfo(np.int64)
    for extreme in (micros.min(), micros.max()):
        there = micros == extreme
        exact = [s * 1_000_000_000 + n for s, n in zip(seconds[there].tolist(), nanos[there].tolist(), strict=True)]
        if not limits.min <= min(exact) <= max(exact) <= limits.max:
            return False
    return True
