"""Which values of a large file are looked at where some are as good as all: for quantiles and frequent values.

Laws: of a file with fewer rows than the least of `SAMPLE_STRIDES`, all are. Of a larger one at least 62,500 are, which
tells ranks to a third of the error that quantiles state.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow

pa: Any = pyarrow

# From so many rows on, one value in so many.
SAMPLE_STRIDES: Final = ((2_000_000, 32), (1_000_000, 16), (500_000, 8), (200_000, 2))
STRIDE_MAX: Final = max(stride for _, stride in SAMPLE_STRIDES)


class Sampler:
    """Picks values of one file; `num_rows` says how large it will be."""

    def __init__(self, num_rows: int) -> None:
        self.stride = next((stride for rows, stride in SAMPLE_STRIDES if num_rows >= rows), 1)
        self._random = np.random.default_rng(num_rows)

    def of(self, array: Any) -> Any:
        """The chosen values of a batch that are not null."""
        array = array.drop_null() if array.null_count else array
        if self.stride == 1 or not len(array):
            return array
        # One of each stretch at random: rows may come with a period of their own.
        first = np.arange(0, len(array), self.stride)
        within = self._random.integers(0, self.stride, len(first))
        return array.take(pa.array(np.minimum(first + within, len(array) - 1)))
