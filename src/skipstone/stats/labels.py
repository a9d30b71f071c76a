"""How far a statistic can be trusted: exact, a bound, or an estimate.

Law: a value carries the weakest label of all that went into it. An `exact` value equals what a full scan of the
snapshot would give; a `bound` encloses it (a low value from below, a high value or a count from above); an `estimate`
is near it, with a stated relative error; an `upper estimate` is near a number that is at least the true one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Accuracy(StrEnum):
    EXACT = "exact"
    BOUND = "bound"
    ESTIMATE = "estimate"
    UPPER_ESTIMATE = "upper estimate"


_STRENGTH = (Accuracy.EXACT, Accuracy.BOUND, Accuracy.ESTIMATE, Accuracy.UPPER_ESTIMATE)


def weakest(labels: Iterable[Accuracy]) -> Accuracy:
    """The label of something made of parts with these labels."""
    return max(labels, key=_STRENGTH.index, default=Accuracy.EXACT)


@dataclass(frozen=True, slots=True)
class Labelled(Generic[T_co]):
    """A value and how far it can be trusted. `error` is the relative standard error of an estimate."""

    value: T_co
    accuracy: Accuracy = Accuracy.EXACT
    error: float = 0.0

    @property
    def is_exact(self) -> bool:
        return self.accuracy is Accuracy.EXACT

    def __str__(self) -> str:
        if self.is_exact:
            return str(self.value)
        tail = f" ± {self.error:.1%}" if self.error else ""
        return f"{self.value} ({self.accuracy}{tail})"


class StatisticsIgnored(UserWarning):
    """A statistics file was damaged, missing or strange. Nothing was concluded from it."""


def ignore_file(path: str, reason: object) -> None:
    """Say that a statistics file is not used, and why."""
    text = (str(reason).splitlines() or [type(reason).__name__])[0]
    warnings.warn(f"Ignored statistics file {path}: {text}", StatisticsIgnored, stacklevel=3)
