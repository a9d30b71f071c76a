"""How large the pieces are that Spark cuts files into, so that all cores end together.

Spark packs files up to a fixed size and leaves the last task alone with a third of the time. Planned bytes are known:
they are spread over a few rounds of all cores.
"""

from __future__ import annotations

from typing import Final

# A few tasks a core even out files of unlike sizes; more only cost their start.
_ROUNDS: Final = 4
_SPLIT_BYTES_MIN: Final = 8 << 20
_SPLIT_BYTES_MAX: Final = 128 << 20
# What opening one more file is worth in bytes: many small files share a task, but not too many.
OPEN_COST_BYTES: Final = 1 << 20


def split_bytes(total_bytes: int, num_files: int, *, cores: int) -> int:
    """The most bytes for one task."""
    work = total_bytes + num_files * OPEN_COST_BYTES
    rounds = max(_ROUNDS, -(-work // (cores * _SPLIT_BYTES_MAX)))
    even = -(-work // (cores * rounds))
    return max(_SPLIT_BYTES_MIN, min(even, _SPLIT_BYTES_MAX))
