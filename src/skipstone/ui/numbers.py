"""Numbers as people read them."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")
_STEP: Final = 1000


def in_bytes(size: float) -> str:
    """`in_bytes(1_234_567)` is `1.23 MB`."""
    value = float(size)
    for unit in _UNITS:
        if abs(value) < _STEP or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= _STEP
    raise AssertionError("unreachable")


def in_seconds(seconds: float) -> str:
    """`in_seconds(0.0123)` is `12 ms`, `in_seconds(3.21)` is `3.21 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def in_percent(part: float, whole: float) -> str:
    """How much `part` is of `whole`; empty where there is no whole."""
    if not whole:
        return ""
    share = part / whole
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.2%}"
