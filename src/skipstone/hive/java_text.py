"""Values as Hive's own Java code writes them: dates and moments, decimals, structs, escaped text.

Law: what is written here for a value is, character for character, what Java's `toString` says of the same value, so
that scripts which read Hive's output read ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any, Final

from skipstone.hive.java_doubles import java_double
from skipstone.hive.thrift import Struct
from skipstone.hive.thrift.idl import ListOf, MapOf, Named, Scalar, TypeRef

_NUMBERS: Final = ("byte", "i16", "i32", "i64")
# Numbers on the wire that are names in Java.
_NAMES: Final[Mapping[tuple[str, str], Mapping[int, str]]] = {
    ("Table", "ownerType"): {1: "USER", 2: "ROLE", 3: "GROUP"}
}
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_DAY_SECONDS: Final = 86_400
_JAVA_DAYS: Final = range(-365_243_219_162, 365_241_780_472)
_YEAR_MAX: Final = 9_999
_MOMENT_LENGTH: Final = len("1970-01-01 00:00:00")
_DECIMAL_DIGITS: Final = 38
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\n": "\\n", "\t": "\\t", "\f": "\\f", "\r": "\\r"}
_ESCAPE_TABLE: Final = str.maketrans(_ESCAPES)


def java_date(days: int) -> str:
    """A day by its number since 1970, of any year; like Hive's own, the number is of 32 bits."""
    year, month, day = _calendar((days + (1 << 31)) % (1 << 32) - (1 << 31))
    return f"{_signed(year)}-{month:02d}-{day:02d}"


def java_moment(seconds: int) -> str:
    """A moment by its seconds since 1970; the number itself where Java's calendar ends.

    Hive writes one with the year of its era, which is never below 1, and where the text with the year itself is longer
    than 19 characters puts the end of that behind it once more.
    """
    days, within = divmod(seconds, _DAY_SECONDS)
    if days not in _JAVA_DAYS:
        return str(seconds)
    year, month, day = _calendar(days)
    rest = f"-{month:02d}-{day:02d} {within // 3600:02d}:{within // 60 % 60:02d}:{within % 60:02d}"
    of_era = year if year > 0 else 1 - year
    return f"{_signed(of_era)}{rest}{f'{_signed(year)}{rest}'[_MOMENT_LENGTH:]}"


def _calendar(days: int) -> tuple[int, int, int]:
    # Dates repeat every 400 years, which brings any of them into the years that Python knows.
    cycles, within = divmod(days, _CYCLE_DAYS)
    day = date(1970, 1, 1) + timedelta(days=within)
    return day.year + cycles * _CYCLE_YEARS, day.month, day.day


def _signed(year: int) -> str:
    """A year of four digits or more, and where they are more, or the year is below 0, with its sign."""
    return f"{'-' if year < 0 else '+' if year > _YEAR_MAX else ''}{abs(year):04d}"


def java_decimal(value: Decimal) -> str:
    """A decimal as Hive keeps one: rounded to 38 digits, without zeros at its end; nothing if more digits are whole."""
    whole = max(value.adjusted() + 1, 0)
    if whole > _DECIMAL_DIGITS:
        return ""
    with localcontext(prec=200) as exact:
        exact.rounding = ROUND_HALF_UP
        if -int(value.as_tuple().exponent) > _DECIMAL_DIGITS - whole:
            value = value.quantize(Decimal(1).scaleb(whole - _DECIMAL_DIGITS))
        text = format(value.normalize(), "f")
    return "0" if not value else text


def java_struct(value: Struct) -> str:
    """A struct as its class in Hive shows itself; an optional field that is not set is left out."""
    name = value._declaration.name
    shown = []
    for field in value._declaration.fields:
        held = getattr(value, field.name)
        if held is None and field.is_optional:
            continue
        named = _NAMES.get((name, field.name), {}).get(held) if isinstance(held, int) else None
        shown.append(f"{field.name}:{named or _text(held, field.type)}")
    return f"{name}({', '.join(shown)})"


def escaped(text: str) -> str:
    """Quotes, backslashes and line ends with a backslash; all other characters as they are."""
    return text.translate(_ESCAPE_TABLE)


def escaped_to_ascii(text: str) -> str:
    """The same, and every other character that is not printable ASCII by its number."""
    units = (_ESCAPES.get(c) or (c if " " <= c <= "\x7f" else _by_number(c)) for c in text)
    return "".join(units)


def padded(text: str, width: int = 20) -> str:
    """A text with spaces up to a width; Java counts 16-bit units."""
    return text + " " * (width - len(text.encode("utf-16-be", "surrogatepass")) // 2)


def _by_number(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))


def _text(value: Any, ref: TypeRef) -> str:
    match ref:
        case Scalar("bool"):
            return "true" if value else "false"
        case Scalar(name) if name in _NUMBERS:
            return str(value or 0)
        case Scalar("double"):
            return java_double(value or 0.0)
        case _ if value is None:
            return "null"
        case Named():
            return java_struct(value)
        case ListOf(element):
            return f"[{', '.join(_text(one, element) for one in value)}]"
        case MapOf(_, of):
            return f"{{{', '.join(f'{key}={_text(value[key], of)}' for key in _in_hash_order(value))}}}"
    return str(value)


def _in_hash_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of Java's hash map: as a client reads one from the wire, and copies it once."""
    known = list(keys)
    read = _in_buckets(known, 2 * len(known))
    return _in_buckets(read, int(len(known) / 0.75 + 1))


def _in_buckets(keys: list[str], capacity: int) -> list[str]:
    mask = (1 << max(capacity - 1, 0).bit_length()) - 1
    return sorted(keys, key=lambda key: _spread_hash(key) & mask)


def _spread_hash(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    total = 0
    for at in range(0, len(units), 2):
        total = (31 * total + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return total ^ (total >> 16)
