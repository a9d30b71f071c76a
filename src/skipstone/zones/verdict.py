"""What is proven about the rows of zones.

There is no NOT on verdicts: a null row matches neither `x < 5` nor `NOT x < 5`. Predicates have NOT pushed to their
leaves before they are judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import reduce

import numpy as np
import numpy.typing as npt

from skipstone.zones.arrow import Bits, pa, pc, unpacked


class Verdict(IntEnum):
    """What is proven about the rows of one zone. AND is min(), OR is max()."""

    NO_ROW_MATCHES = 0  # the zone can be skipped
    UNKNOWN = 1  # the zone must be read and filtered
    EVERY_ROW_MATCHES = 2  # the zone can be read without a filter, counted, or dropped whole


@dataclass(frozen=True, slots=True)
class Proofs:
    """Verdicts of many zones as two bitmaps: is it proven that no row matches, and that every row does?

    An empty zone has both proofs. It counts as NO_ROW_MATCHES.
    """

    none: Bits
    every: Bits

    def __len__(self) -> int:
        return len(self.none)

    def verdicts(self) -> npt.NDArray[np.int8]:
        kept, every = unpacked(self.kept()).view(np.int8), unpacked(self.every).view(np.int8)
        verdicts: npt.NDArray[np.int8] = kept + (kept & every)
        return verdicts

    def kept(self) -> Bits:
        """True for zones that must be read."""
        return pc.invert(self.none)


def constant(num_zones: int, verdict: Verdict) -> Proofs:
    yes, no = bits(num_zones, True), bits(num_zones, False)
    match verdict:
        case Verdict.NO_ROW_MATCHES:
            return Proofs(yes, no)
        case Verdict.EVERY_ROW_MATCHES:
            return Proofs(no, yes)
        case Verdict.UNKNOWN:
            return Proofs(no, no)


def bits(length: int, value: bool) -> Bits:
    return pa.repeat(pa.scalar(value), length)


def both(parts: list[Proofs]) -> Proofs:
    """AND: none matches if none matches one part; every row matches if every row matches all parts."""
    return Proofs(reduce(pc.or_, (p.none for p in parts)), reduce(pc.and_, (p.every for p in parts)))


def either(parts: list[Proofs]) -> Proofs:
    """OR: none matches if none matches any part; every row matches if every row matches one part."""
    return Proofs(reduce(pc.and_, (p.none for p in parts)), reduce(pc.or_, (p.every for p in parts)))


def intersected(parts: list[Proofs]) -> Proofs:
    """Several proofs about the same predicate and zones, each sound on its own: any of them will do."""
    return Proofs(reduce(pc.or_, (p.none for p in parts)), reduce(pc.or_, (p.every for p in parts)))
