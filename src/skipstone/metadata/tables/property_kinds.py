"""What a table property's text may be, and the value it stands for.

Spec: "Table Metadata Fields" (properties). Names, meanings and defaults are those of Iceberg's configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

import pyarrow

from skipstone.errors import InvalidInput

T = TypeVar("T")
MetricsKind = Literal["none", "counts", "truncate", "full"]

LONG_MAX: Final = 2**63 - 1
_LEVELLED: Final = frozenset({"zstd", "gzip", "brotli"})
_codec: Any = pyarrow.Codec
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_TRUNCATE: Final = re.compile(r"truncate\(\s*([0-9]{1,9})\s*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Property(Generic[T]):
    """One key. Where it is not set, `fallback` is asked, and then `default` holds."""

    key: str
    default: T
    parse: Callable[[str], T | None]
    expected: str
    fallback: Property[T] | None = None

    def value(self, text: str) -> T:
        """What the text stands for; InvalidInput if the property cannot be that."""
        value = self.parse(text)
        if value is None:
            raise InvalidInput(f"Invalid table property {self.key}: expected {self.expected}, got {text!r}.")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyFamily(Generic[T]):
    """One key per column: the prefix and then the column's name."""

    prefix: str
    parse: Callable[[str], T | None]
    expected: str

    def value(self, key: str, text: str) -> T:
        """What the text stands for; InvalidInput if the property cannot be that."""
        value = self.parse(text)
        if value is None:
            raise InvalidInput(f"Invalid table property {key}: expected {self.expected}, got {text!r}.")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsMode:
    """Which metrics of a column are kept in manifests; `width` is how much of a bound, in code points or bytes."""

    kind: MetricsKind
    width: int | None = None

    def __str__(self) -> str:
        return self.kind if self.width is None else f"{self.kind}({self.width})"


def parse_metrics_mode(text: str) -> MetricsMode | None:
    """`none`, `counts`, `truncate(N)` or `full`, in any case; None for anything else."""
    lowered = text.strip().lower()
    found = _TRUNCATE.fullmatch(lowered)
    if found is not None:
        width = int(found[1])
        return MetricsMode(kind="truncate", width=width) if width > 0 else None
    match lowered:
        case "none" | "counts" | "full":
            return MetricsMode(kind=lowered)
    return None


def integer(
    key: str, default: int, *, low: int = 0, high: int = LONG_MAX, fallback: Property[int] | None = None
) -> Property[int]:
    """A property that is a whole number."""
    upto = f"from {low}" if high == LONG_MAX else f"from {low} to {high}"
    return Property(
        key=key,
        default=default,
        parse=lambda text: parse_integer(text, low, high),
        expected=f"an integer {upto}",
        fallback=fallback,
    )


def optional_integer(key: str, *, fallback: Property[int | None] | None = None) -> Property[int | None]:
    """A property that is a whole number, or not set at all."""
    return Property(
        key=key,
        default=None,
        parse=lambda text: parse_integer(text, -LONG_MAX, LONG_MAX),
        expected="an integer",
        fallback=fallback,
    )


def boolean(key: str, default: bool) -> Property[bool]:
    """A property that is true or false."""
    return Property(key=key, default=default, parse=parse_boolean, expected="true or false")


def choice(key: str, default: str, choices: Sequence[str], *, fallback: Property[str] | None = None) -> Property[str]:
    """A property that is one of some words, in any case; its value is in lower case."""

    def parse(text: str) -> str | None:
        lowered = text.strip().lower()
        return lowered if lowered in choices else None

    return Property(key=key, default=default, parse=parse, expected=f"one of {', '.join(choices)}", fallback=fallback)


def optional_choice(key: str, choices: Sequence[str]) -> Property[str | None]:
    """A property that is one of some words, or not set at all."""

    def parse(text: str) -> str | None:
        lowered = text.strip().lower()
        return lowered if lowered in choices else None

    return Property(key=key, default=None, parse=parse, expected=f"one of {', '.join(choices)}")


def fraction(key: str, default: float) -> Property[float]:
    """A property between 0 and 1."""
    return Property(key=key, default=default, parse=parse_fraction, expected=FRACTION)


def location(key: str) -> Property[str | None]:
    """A property that is a path or URI, or not set at all; its value has no trailing slash."""
    return Property(
        key=key, default=None, parse=lambda text: text.rstrip("/") or None, expected="a path or URI that is not empty"
    )


def names(key: str) -> Property[tuple[str, ...] | None]:
    """Column names with commas between them."""

    def parse(text: str) -> tuple[str, ...] | None:
        found = tuple(name.strip() for name in text.split(","))
        return found if all(found) else None

    return Property(key=key, default=None, parse=parse, expected="column names with commas between them")


def parse_integer(text: str, low: int, high: int) -> int | None:
    stripped = text.strip()
    if _INTEGER.fullmatch(stripped) is None:
        return None
    value = int(stripped)
    return value if low <= value <= high else None


def parse_boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.strip().lower())


FRACTION: Final = "a number between 0 and 1"


def parse_fraction(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1 else None


def usable_level(codec: str, level: int | None, key: str) -> int | None:
    """The level, if the codec has levels at all; others ignore it, as they do elsewhere."""
    if level is None or codec not in _LEVELLED:
        return None
    low, high = _codec.minimum_compression_level(codec), _codec.maximum_compression_level(codec)
    if not low <= level <= high:
        raise InvalidInput(
            f"Invalid table property {key}: expected a level from {low} to {high} for {codec}, got {level}."
        )
    return level
