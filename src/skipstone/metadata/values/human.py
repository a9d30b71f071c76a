"""Partition values as text, the way partition paths show them.

The form is Iceberg Java's, so that paths written here and there look alike. Paths are for people: nothing may
parse them back.
"""

from __future__ import annotations

import base64
import math
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import numpy as np

from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FixedType,
    FloatType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    Value,
)
from skipstone.metadata.values.civil import civil_from_days
from skipstone.metadata.values.iso import format_timestamp


def human_year(years: int) -> str:
    return f"{1970 + years:04d}"


def human_month(months: int) -> str:
    return f"{1970 + months // 12:04d}-{months % 12 + 1:02d}"


def human_day(days: int) -> str:
    year, month, day = civil_from_days(days)
    return f"{year:04d}-{month:02d}-{day:02d}"


def human_hour(hours: int) -> str:
    return f"{human_day(hours // 24)}-{hours % 24:02d}"


def human_value(type_: Type, value: Value) -> str:
    """A value that is shown as what it is, not as a count of periods."""
    match type_:
        case DateType():
            return human_day(value)
        case TimeType():
            return _human_time(value)
        case TimestampType():
            return format_timestamp(value)
        case TimestamptzType():
            return f"{format_timestamp(value)}+00:00"
        case TimestampNsType():
            return format_timestamp(value, digits=9)
        case TimestamptzNsType():
            return f"{format_timestamp(value, digits=9)}+00:00"
        case BinaryType() | FixedType():
            return base64.b64encode(value).decode("ascii")
        case BooleanType():
            return "true" if value else "false"
        case FloatType():
            return _human_float(np.float32(value))
        case DoubleType():
            return _human_float(np.float64(value))
        case _:
            return str(value)


def _human_time(micros: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if fraction:
        digits = f"{fraction:06d}"
        return f"{text}:{seconds % 60:02d}.{digits[:3] if digits.endswith('000') else digits}"
    return f"{text}:{seconds % 60:02d}" if seconds % 60 else text


def _human_float(value: np.floating[Any]) -> str:
    """The shortest decimal, plain from 0.001 up to ten million, else with an exponent, as Java prints it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    shortest = Decimal(np.format_float_scientific(value, unique=True, trim="-"))
    sign, digits, exponent = shortest.as_tuple()
    body = "".join(str(d) for d in digits)
    power = int(exponent) + len(body) - 1
    prefix = "-" if sign else ""
    if value == 0:
        return f"{prefix}0.0"
    if -3 <= power < 7:
        plain = f"{abs(shortest):f}"
        return f"{prefix}{plain}" if "." in plain else f"{prefix}{plain}.0"
    return f"{prefix}{body[0]}.{body[1:] or '0'}E{power}"


def path_escape(text: str) -> str:
    """Form-encoding in UTF-8: letters, digits and `.-*_` stay, a space becomes `+`, the rest is in percent form."""
    escaped = quote(text, safe="*", encoding="utf-8", errors="replace")
    return escaped.replace("~", "%7E").replace("%20", "+")
