"""How the engine that will read the rows compares floating-point numbers.

-0.0 and 0.0 are equal under both. What differs is NaN, and a pruner that ignores the difference loses rows.
"""

from __future__ import annotations

from enum import Enum


class FloatOrder(Enum):
    SPARK = "spark"  # NaN equals NaN and is greater than every other number
    IEEE = "ieee"  # NaN equals nothing and is neither less nor greater
