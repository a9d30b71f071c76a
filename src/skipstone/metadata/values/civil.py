"""The proleptic Gregorian calendar in integer arithmetic, without the year limits of `datetime`.

Every function takes Python integers or NumPy int64 arrays alike: it uses only +, -, *, floor division and modulo,
which round the same way for both. Law: `days_from_civil(*civil_from_days(d)) == d` for every day.
"""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Whole = TypeVar("Whole", int, npt.NDArray[np.int64])

_DAYS_PER_ERA: Final = 146_097  # 400 years
_DAYS_TO_1970_03_01: Final = 719_468  # from 0000-03-01


def civil_from_days(days: Whole) -> tuple[Whole, Whole, Whole]:
    """Year, month and day of month of a count of days since 1970-01-01. Years are astronomical: 0 is 1 BC."""
    # Years are counted from March, so that a leap day is the last day of its year.
    shifted = days + _DAYS_TO_1970_03_01
    era = shifted // _DAYS_PER_ERA
    day_of_era = shifted - era * _DAYS_PER_ERA
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    month = (march_month + 2) % 12 + 1
    year = year_of_era + era * 400 + march_month // 10
    return year, month, day


def days_from_civil(year: Whole, month: Whole, day: Whole) -> Whole:
    """Days since 1970-01-01 of a calendar day."""
    march_month = (month + 9) % 12
    march_year = year - march_month // 10
    era = march_year // 400
    year_of_era = march_year - era * 400
    day_of_year = (153 * march_month + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    days: Whole = era * _DAYS_PER_ERA + day_of_era - _DAYS_TO_1970_03_01
    return days


def years_from_days(days: Whole) -> Whole:
    """Years since 1970, rounded down: 1969-12-31 is -1."""
    year, _, _ = civil_from_days(days)
    return year - 1970


def months_from_days(days: Whole) -> Whole:
    """Months since 1970-01, rounded down: 1969-12-31 is -1."""
    year, month, _ = civil_from_days(days)
    return (year - 1970) * 12 + month - 1
