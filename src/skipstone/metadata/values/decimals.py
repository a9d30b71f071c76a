"""Decimals as the integers they store: value times ten to the scale, and that integer's bytes.

Law: nothing is rounded. A value with more digits of fraction than the scale is refused, whatever the thread's own
decimal context says.

Spec: "Binary single-value serialization", "Appendix B: 32-bit Hash Requirements".
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Final

from skipstone.errors import InvalidInput

# More digits than any decimal of the format has, intermediate results included.
_DIGITS_MAX: Final = 100
# The thread's own context would round to 28 digits.
_EXACT: Final = Context(prec=_DIGITS_MAX, Emax=MAX_EMAX, Emin=MIN_EMIN)


def unscaled(value: Decimal, scale: int) -> int:
    """The integer a decimal of this scale stores; InvalidInput when digits would be lost."""
    if value.is_finite() and not value:
        return 0
    # The size is checked before scaling: 1E+999999 must not become a million digits.
    if value.is_finite() and value.adjusted() + scale < _DIGITS_MAX:
        shifted = value.scaleb(scale, _EXACT)
        if shifted == shifted.to_integral_value(context=_EXACT):
            return int(shifted)
    raise InvalidInput(f"Invalid decimal {value}: expected a finite value with at most {scale} digits of fraction.")


def from_unscaled(number: int, scale: int) -> Decimal:
    """The decimal with exactly this scale."""
    return Decimal(number).scaleb(-scale, _EXACT)


def minimal_big_endian(number: int) -> bytes:
    """The shortest two's-complement big-endian form of an integer; zero takes one byte."""
    # ~n of a negative n needs as many bits as n without its sign.
    bits = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)
