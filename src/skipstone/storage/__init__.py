"""File systems behind one small protocol."""

from skipstone.storage.arrow_fs import ArrowStorage
from skipstone.storage.local import LocalStorage
from skipstone.storage.memory import MemoryStorage
from skipstone.storage.moved import MovedStorage
from skipstone.storage.paths import absolute_location
from skipstone.storage.protocol import Child, FileInfo, Storage
from skipstone.storage.routing import storage_for

__all__ = [
    "ArrowStorage",
    "Child",
    "FileInfo",
    "LocalStorage",
    "MemoryStorage",
    "MovedStorage",
    "Storage",
    "absolute_location",
    "storage_for",
]
