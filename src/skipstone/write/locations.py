"""Where new data and delete files go.

A name is never used twice: it holds a fresh UUID per write. Object storage gets entropy in front of the partition, so
that requests spread over its servers; directories are otherwise for people, and nothing ever parses them.

Spec: "File System Operations"; table properties `write.data.path` and `write.object-storage.*`.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import uuid
from collections.abc import Mapping
from typing import Final

from skipstone.metadata.partitions.hashing import hash_bytes
from skipstone.metadata.tables.properties import (
    DATA_PATH,
    OBJECT_STORE_ENABLED,
    OBJECT_STORE_PARTITIONED_PATHS,
    property_value,
)
from skipstone.metadata.tables.table_metadata import TableMetadata

# Names of directories have at most so many bytes, on most file systems.
_PART_BYTES_MAX: Final = 255
_PART_BYTES_KEPT: Final = 128
# Twenty bits of the name's hash as three directories of four and one of eight.
_ENTROPY_BITS: Final = 20
_ENTROPY_CUTS: Final = ((0, 4), (4, 8), (8, 12), (12, 20))


class DataLocations:
    """Fresh locations for the files of one write. Safe to use from several threads."""

    def __init__(self, metadata: TableMetadata, *, task: int = 0) -> None:
        self._data = data_location(metadata)
        # Tables that share a directory of objects are told apart by the end of their own location.
        inside = self._data.startswith(metadata.location.rstrip("/"))
        self._context = "" if inside else "/".join(metadata.location.rstrip("/").split("/")[-2:])
        properties: Mapping[str, str] = metadata.properties
        self._is_object_store = property_value(properties, OBJECT_STORE_ENABLED)
        self._has_partitions = property_value(properties, OBJECT_STORE_PARTITIONED_PATHS)
        self._stem = f"{task:05d}-0-{uuid.uuid4()}"
        self._counter = itertools.count(1)
        self._lock = threading.Lock()

    def new(self, partition_path: str, extension: str, *, suffix: str = "") -> str:
        """The location of the next file of a partition; the path is empty for an unpartitioned one."""
        with self._lock:
            count = next(self._counter)
        name = f"{self._stem}-{count:05d}{suffix}.{extension}"
        partition_path = "/".join(_cut(part) for part in partition_path.split("/"))
        if not self._is_object_store:
            return "/".join(part for part in (self._data, partition_path, name) if part)
        if partition_path and self._has_partitions:
            name = f"{partition_path}/{name}"
        entropy = entropy_of(name)
        if self._context:
            return f"{self._data}/{entropy}/{self._context}/{name}"
        # Without directories for partitions the last bits lead the name itself.
        return f"{self._data}/{entropy}{'/' if self._has_partitions else '-'}{name}"


def _cut(part: str) -> str:
    """A part of a path in as many bytes as file systems take; what is cut off is told by a digest."""
    data = part.encode()
    if len(data) <= _PART_BYTES_MAX:
        return part
    return f"{data[:_PART_BYTES_KEPT].decode(errors='ignore')}~{hashlib.sha256(data).hexdigest()}"


def entropy_of(name: str) -> str:
    """Directories made of the bits of a name's hash."""
    bits = f"{hash_bytes(name.encode()) & 0xFFFFFFFF:032b}"[-_ENTROPY_BITS:]
    return "/".join(bits[a:b] for a, b in _ENTROPY_CUTS)


def data_location(metadata: TableMetadata) -> str:
    """The directory of a table's data files."""
    chosen = property_value(metadata.properties, DATA_PATH)
    return chosen.rstrip("/") if chosen else f"{metadata.location.rstrip('/')}/data"
