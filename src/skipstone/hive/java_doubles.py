"""Doubles as Java writes them, up to its version 18, on which Hive runs.

Java did not look for the fewest digits before version 19. Whole numbers of 64 bits lose the digits that no double
holds and keep all others; any other number is divided out digit by digit until what is left is less than half the
distance to the next double. That distance is computed in 32 or 64 bits where the numbers fit, and may wrap around
there. What comes out is at times longer than need be, and not the nearest: 2e23 is 1.9999999999999998E23.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_PRECISION: Final = 53
_LEAST_POWER: Final = -1074
_LONG_BITS: Final = 63
_WORDS: Final = (32, 64)
_PLAIN: Final = range(-3, 7)  # powers of ten that are written without an exponent
_SHORT: Final = range(-3, 8)  # ones at which a single digit is enough


def java_double(value: float) -> str:
    """What `Double.toString` says: an exponent below 0.001 and from ten million on, and always a fraction."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return f"{sign}0.0"
    digits, power = _digits(abs(value))
    if power not in _PLAIN:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
    digits = "0" * -power + digits
    whole = max(power, 0) + 1
    return f"{sign}{digits[:whole].ljust(whole, '0')}.{digits[whole:] or '0'}"


def _digits(value: float) -> tuple[str, int]:
    """The digits without zeros at either end, and the power of ten of the first."""
    mantissa, bits = math.frexp(value)  # 0.5 <= mantissa < 1, value = mantissa * 2^bits
    odd, denominator = mantissa.as_integer_ratio()
    width = denominator.bit_length() - 1
    precision = min(_PRECISION, bits - _LEAST_POWER)
    if width <= bits <= _LONG_BITS:
        return _of_whole(odd << (bits - width), bits - precision)
    digits, power = _rounded(*_divided(_Division.of(mantissa, bits, odd, width, precision)))
    return digits.strip("0"), power - (len(digits) - len(digits.lstrip("0")))


def _of_whole(number: int, spare_bits: int) -> tuple[str, int]:
    """A whole number, rounded to the digits that say something; `spare_bits` of it are not in the double."""
    dropped = len(str(1 << max(spare_bits - 2, 0))) - 1
    unit = 10**dropped
    text = str((number + unit // 2) // unit)
    return text.rstrip("0"), len(text) - 1 + dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class _Division:
    """The value is rest / unit * 10^power, half the distance to the next one half / unit * 10^power.

    `power` is estimated, and at times one too high.
    """

    rest: int
    unit: int
    half: int
    power: int
    word: int | None

    @classmethod
    def of(cls, mantissa: float, bits: int, odd: int, width: int, precision: int) -> _Division:
        exponent, tiny = bits - 1, max(0, width - bits)
        power = math.floor((2 * mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)
        rest_5, unit_5 = max(0, -power), max(0, power)
        rest_2, unit_2 = rest_5 + tiny + bits - width, unit_5 + tiny
        # Below a power of two the doubles lie twice as close.
        half_2 = rest_5 + tiny + exponent - precision - (width == 1)
        common = min(rest_2, unit_2, half_2)
        rest_2, unit_2, half_2 = rest_2 - common, unit_2 - common, half_2 - common
        largest = max(width + rest_2 + _bits_of_5(rest_5), unit_2 + 1 + _bits_of_5(unit_5 + 1))
        return cls(
            rest=odd * 5**rest_5 << rest_2,
            unit=5**unit_5 << unit_2,
            half=5**rest_5 << half_2,
            power=power,
            word=next((word for word in _WORDS if largest < word), None),
        )


def _divided(division: _Division) -> tuple[str, int, bool]:
    """The digits, the power of ten of the first, and whether the last is to be rounded up."""
    rest, half, unit, power, word = division.rest, division.half, division.unit, division.power, division.word
    digits, is_first = "", True
    while True:
        digit, rest = divmod(rest, unit)
        rest, half = 10 * rest, _wrapped(10 * half, word)
        is_low, is_high = rest < half, _wrapped(rest + half, word) > 10 * unit - (word is None)
        if not is_first and half <= 0:
            is_low = is_high = True
        if is_first and not digit and not is_high:
            power -= 1
        else:
            digits += str(digit)
        if (is_low or is_high) and (not is_first or power in _SHORT):
            break
        is_first = False
    is_nearer_above = rest > 5 * unit or (rest == 5 * unit and int(digits[-1]) % 2 == 1)
    return digits, power, is_high and (not is_low or is_nearer_above)


def _rounded(digits: str, power: int, is_up: bool) -> tuple[str, int]:
    if not is_up:
        return digits, power
    text = str(int(digits) + 1).rjust(len(digits), "0")
    return text, power + len(text) - len(digits)


def _bits_of_5(power: int) -> int:
    return (5**power).bit_length() if power else 0


def _wrapped(value: int, word: int | None) -> int:
    """A number as so many bits hold it."""
    if word is None:
        return value
    half = 1 << (word - 1)
    return (value + half) % (2 * half) - half
