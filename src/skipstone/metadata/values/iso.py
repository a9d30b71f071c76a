"""ISO-8601 text for dates and times held as integers, over the whole range the format can hold.

Python's datetime ends at the years 1 and 9999; an int of days reaches about ±5.8 million years. So the calendar is that
of `civil`. Years of more than four digits carry a sign (+10000-01-01, -0044-03-15) and the year 0 exists, as in
ISO 8601. Fractions are written without trailing zeros.

A parse function returns None for text that is not of its form; the caller knows what to say about it.

Spec: "JSON single-value serialization".
"""

from __future__ import annotations

import re
from typing import Final

from skipstone.metadata.values.civil import civil_from_days, days_from_civil

DAY_S: Final = 86_400
DAY_US: Final = DAY_S * 1_000_000
DAY_NS: Final = DAY_US * 1_000

_DATE: Final = re.compile(r"([+-]?\d{4,10})-(\d\d)-(\d\d)", re.ASCII)
_TIME: Final = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?", re.ASCII)
_OFFSET: Final = re.compile(r"[Zz]|[+-]\d\d(?::?\d\d(?::?\d\d)?)?", re.ASCII)
_OFFSET_AT_END: Final = re.compile(rf"({_OFFSET.pattern})\Z", re.ASCII)


def format_date(days: int) -> str:
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def format_time(units: int, *, digits: int = 6) -> str:
    """Time of day from a count of 10**-digits seconds since midnight."""
    seconds, fraction = divmod(units, 10**digits)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    tail = f"{fraction:0{digits}d}".rstrip("0")
    return f"{text}.{tail}" if tail else text


def format_timestamp(units: int, *, digits: int = 6, separator: str = "T") -> str:
    """Date and time from a count of 10**-digits seconds since 1970-01-01T00:00:00."""
    days, rest = divmod(units, DAY_S * 10**digits)
    return f"{format_date(days)}{separator}{format_time(rest, digits=digits)}"


def parse_date(text: str) -> int | None:
    m = _DATE.fullmatch(text)
    if m is None:
        return None
    year, month, day = int(m[1]), int(m[2]), int(m[3])
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    days = days_from_civil(year, month, day)
    return days if civil_from_days(days) == (year, month, day) else None


def parse_time(text: str, *, digits: int = 6) -> int | None:
    """Count of 10**-digits seconds since midnight. Digits beyond the unit must be zeros: nothing is rounded."""
    m = _TIME.fullmatch(text)
    if m is None:
        return None
    hour, minute, second = int(m[1]), int(m[2]), int(m[3] or 0)
    fraction, lost = (m[4] or "").ljust(digits, "0")[:digits], (m[4] or "")[digits:]
    if hour > 23 or minute > 59 or second > 59 or lost.strip("0"):
        return None
    return int(((hour * 60 + minute) * 60 + second) * 10**digits) + int(fraction)


def parse_timestamp(text: str, *, digits: int = 6, separators: str = "T") -> int | None:
    """Count of 10**-digits seconds since 1970-01-01T00:00:00, from text without an offset."""
    for separator in separators:
        date_text, found, time_text = text.partition(separator)
        if found:
            days, time = parse_date(date_text), parse_time(time_text, digits=digits)
            return None if days is None or time is None else days * DAY_S * 10**digits + time
    return None


def split_offset(text: str) -> tuple[str, str | None]:
    """A timestamp's text without its offset, and the offset. A date alone has none: its -16 is a day."""
    m = _OFFSET_AT_END.search(text)
    if m is None or ":" not in text[: m.start()]:
        return text, None
    return text[: m.start()], m[1]


def offset_seconds(offset: str) -> int | None:
    """Seconds east of UTC of an offset such as Z, +02:00, -0330 or +05."""
    if _OFFSET.fullmatch(offset) is None:
        return None
    if offset in ("Z", "z"):
        return 0
    digits = offset[1:].replace(":", "").ljust(6, "0")
    hour, minute, second = int(digits[:2]), int(digits[2:4]), int(digits[4:6])
    if hour > 18 or minute > 59 or second > 59:
        return None
    total = hour * 3600 + minute * 60 + second
    return -total if offset[0] == "-" else total
