"""The sketch of Flajolet and Martin as Hive wrote it before HyperLogLog: read, merged and estimated, never made.

Bytes: `FM`, the number of vectors in two bytes, the lower first, then four bytes for each vector's 31 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation, InvalidInput

MAGIC: Final = b"FM"
_PHI: Final = 0.77351


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlajoletMartin:
    vectors: npt.NDArray[np.uint32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlajoletMartin) and np.array_equal(self.vectors, other.vectors)

    def estimate(self) -> int:
        """The number of distinct values by the mean position of the lowest zero."""
        zeros = ~self.vectors.astype(np.uint64)
        lowest = np.frexp((zeros & (~zeros + np.uint64(1))).astype(np.float64))[1] - 1
        mean = int(lowest.sum()) / (len(self.vectors) * 1.0) - math.log(_PHI) / math.log(2.0)
        return int(2.0**mean)

    def merge(self, others: Iterable[FlajoletMartin]) -> FlajoletMartin:
        merged = self.vectors.copy()
        for other in others:
            if len(other.vectors) != len(merged):
                raise InvalidInput(
                    f"Cannot merge sketches: expected {len(merged)} vectors in both, got {len(other.vectors)}."
                )
            merged |= other.vectors
        return FlajoletMartin(vectors=merged)

    def serialize(self) -> bytes:
        return MAGIC + len(self.vectors).to_bytes(2, "little") + self.vectors.astype("<u4").tobytes()

    @classmethod
    def parse(cls, data: bytes) -> FlajoletMartin:
        count = int.from_bytes(data[2:4], "little")
        if data[:2] != MAGIC or not count or len(data) < 4 + 4 * count:
            raise FormatViolation(
                f"Invalid FM bit vector: expected {MAGIC!r}, a count and 4 bytes for each vector, "
                f"got {len(data)} bytes that begin {data[:8]!r}."
            )
        return cls(vectors=np.frombuffer(data, "<u4", count, 4).astype(np.uint32))
