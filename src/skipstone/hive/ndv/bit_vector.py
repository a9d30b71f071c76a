"""A column's bit vector, of either kind; which one, its first bytes say.

Two bytes `HL` alone are what Hive stores for a column without a sketch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from skipstone.hive.ndv import flajolet_martin
from skipstone.hive.ndv.flajolet_martin import FlajoletMartin
from skipstone.stats.hyperloglog import HyperLogLog

BitVector: TypeAlias = HyperLogLog | FlajoletMartin

_NONE = b"HL"


def parse_bit_vector(data: bytes | None) -> BitVector | None:
    """The sketch in stored bytes; None if there is none."""
    if not data or data == _NONE:
        return None
    if data[:2] == flajolet_martin.MAGIC:
        return FlajoletMartin.parse(data)
    return HyperLogLog.parse(data)


def merge_bit_vectors(vectors: Iterable[BitVector | None]) -> BitVector | None:
    """The sketch of all values; None as soon as one is missing or two cannot be merged."""
    known = list(vectors)
    if not known or any(v is None for v in known):
        return None
    if all(isinstance(v, HyperLogLog) for v in known):
        return HyperLogLog.empty().merge(v for v in known if isinstance(v, HyperLogLog))
    sketches = [v for v in known if isinstance(v, FlajoletMartin)]
    if len(sketches) == len(known) and len({len(s.vectors) for s in sketches}) == 1:
        return sketches[0].merge(sketches[1:])
    return None
