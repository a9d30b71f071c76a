"""Points in time as callers write them."""

from __future__ import annotations

import datetime
from typing import Any

from skipstone.errors import InvalidInput
from skipstone.predicate.literals import LiteralMismatch, instant_nanos


def timestamp_ms(moment: Any) -> int:
    """A point in time as milliseconds since the epoch; without a zone it is UTC, and a date is its first moment."""
    match moment:
        case bool():
            raise InvalidInput(f"Invalid point in time {moment!r}: expected a datetime, ISO text or milliseconds.")
        case int():
            return moment
        case datetime.datetime():
            zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
            return (zoned - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
        case datetime.date():
            return timestamp_ms(datetime.datetime.combine(moment, datetime.time(), datetime.UTC))
        case str():
            try:
                return instant_nanos(moment) // 1_000_000
            except LiteralMismatch as error:
                raise InvalidInput(f"Invalid point in time: {error}") from error
        case _:
            raise InvalidInput(f"Invalid point in time {moment!r}: expected a datetime, ISO text or milliseconds.")


def older_than_ms(moment: Any, now_ms: int) -> int:
    """The moment before which something is old: a point in time, or an age as a timedelta."""
    if isinstance(moment, datetime.timedelta):
        return now_ms - moment // datetime.timedelta(milliseconds=1)
    return timestamp_ms(moment)
