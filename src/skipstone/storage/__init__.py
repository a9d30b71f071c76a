"""File systems behind one small protocol."""

from skipstone.storage.local import LocalStorage
from skipstone.storage.memory import MemoryStorage
from skipstone.storage.paths import absolute_location
from skipstone.storage.protocol import Child, FileInfo, Storage

__all__ = [
    "Child",
    "FileInfo",
    "LocalStorage",
    "MemoryStorage",
    "Storage",
    "absolute_location",
]
