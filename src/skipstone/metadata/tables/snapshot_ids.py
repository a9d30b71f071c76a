"""New snapshot ids: positive, random, unused.

Spec: Appendix F, "Assignment of Snapshot IDs and `current-snapshot-id`".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container
from typing import Final

_LONG_MASK: Final = 2**64 - 1
_LONG_MAX: Final = 2**63 - 1


def snapshot_id_of(random: uuid.UUID) -> int:
    """The two halves of a random UUID folded into a non-negative long."""
    return ((random.int >> 64) ^ (random.int & _LONG_MASK)) & _LONG_MAX


def new_snapshot_id(used: Container[int] = (), *, random_uuid: Callable[[], uuid.UUID] = uuid.uuid4) -> int:
    """A positive id that no known snapshot has."""
    while True:
        snapshot_id = snapshot_id_of(random_uuid())
        if snapshot_id != 0 and snapshot_id not in used:
            return snapshot_id
