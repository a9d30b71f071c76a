"""What was derived from things that never change, by the identity of these: made once, for the plans that follow.

Law: the same things give the same value, and no other things do. They are kept with the value, so that no other object
can take their identity.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

_KEPT_MAX: Final = 16


class Recent:
    """The least recently used value goes first."""

    def __init__(self, kept_max: int) -> None:
        self._kept_max = kept_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, Sequence[Any]]] = OrderedDict()

    def derived(self, what: Hashable, things: Sequence[Any], make: Callable[[], T]) -> T:
        """The value that `make` gives for these things; `what` tells one kind of value from another."""
        key = what, tuple(map(id, things))
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                known: T = found[0]
                return known
        value = make()
        with self._lock:
            self._kept[key] = (value, tuple(things))
            while len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
        return value


recent: Final = Recent(_KEPT_MAX)
