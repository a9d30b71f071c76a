"""Files that never change, once opened: kept in memory up to a limit, so that the next plan opens nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final

from skipstone.storage.protocol import Storage

_KEPT_BYTES_MAX: Final = 64 * 1024 * 1024


class Opened:
    """Opened files, or parts of them, by storage and key; the least recently used go first."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, Hashable], tuple[Any, Any, int]] = OrderedDict()
        self._bytes = 0

    def find(self, storage: Storage, key: Hashable) -> Any | None:
        with self._lock:
            found = self._kept.get((id(storage), key))
            if found is None:
                return None
            self._kept.move_to_end((id(storage), key))
            return found[0]

    def keep(self, storage: Storage, key: Hashable, value: Any, size: int) -> None:
        with self._lock:
            if (id(storage), key) in self._kept:
                return
            # The storage is kept too, so that its id is not given to another.
            self._kept[id(storage), key] = (value, storage, size)
            self._bytes += size
            while self._bytes > self._bytes_max and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1][2]

    def drop(self, storage: Storage, key: Hashable) -> None:
        """Forget one file, to open it anew when it is asked for."""
        with self._lock:
            found = self._kept.pop((id(storage), key), None)
            self._bytes -= 0 if found is None else found[2]

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


opened: Final = Opened(_KEPT_BYTES_MAX)


def forget_opened() -> None:
    """Open files anew from now on."""
    opened.clear()
