"""A table that was copied: its metadata names places that are now elsewhere. Read only.

A location is looked up by the longest prefix that holds it, at the border of a name; `/a`, `file:/a` and `file:///a`
are one prefix. What no prefix holds is read where it says it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NoReturn

import pyarrow as pa

from skipstone.errors import Unsupported
from skipstone.storage.paths import absolute_location, canonical
from skipstone.storage.protocol import Child, FileInfo, Storage


class MovedStorage:
    """Another storage, read through a map from old prefixes to new ones."""

    def __init__(self, storage: Storage, moved: Mapping[str, str]) -> None:
        self._storage = storage
        pairs = {canonical(old).rstrip("/"): absolute_location(new) for old, new in moved.items()}
        self._moved = sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def __repr__(self) -> str:
        return f"MovedStorage({self._storage!r}, {dict(self._moved)!r})"

    def read(self, path: str) -> bytes:
        return self._storage.read(self.where(path))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self._storage.read_range(self.where(path), offset, length)

    def open(self, path: str) -> pa.NativeFile:
        return self._storage.open(self.where(path))

    def size(self, path: str) -> int:
        return self._storage.size(self.where(path))

    def exists(self, path: str) -> bool:
        return self._storage.exists(self.where(path))

    def list(self, prefix: str) -> Iterator[FileInfo]:
        start = self.where(prefix).rstrip("/")
        for info in self._storage.list(start):
            yield replace(info, path=prefix.rstrip("/") + info.path[len(start) :])

    def children(self, path: str) -> Sequence[Child]:
        return self._storage.children(self.where(path))

    def write_new(self, path: str, data: bytes) -> None:
        _refuse(path)

    def write_over(self, path: str, data: bytes) -> None:
        _refuse(path)

    def create(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        _refuse(path)

    def delete(self, path: str) -> None:
        _refuse(path)

    def delete_many(self, paths: Iterable[str]) -> None:
        _refuse(next(iter(paths), "files"))

    def make_directory(self, path: str) -> None:
        _refuse(path)

    def remove_directory(self, path: str) -> None:
        _refuse(path)

    def move_new(self, source: str, target: str) -> None:
        _refuse(target)

    def settle(self) -> None:
        """Nothing is written here."""

    def where(self, path: str) -> str:
        """Where the file of a location in the metadata is now."""
        known = canonical(path)
        for old, new in self._moved:
            if known == old or known.startswith(old + "/"):
                return new + known[len(old) :]
        return path


def _refuse(path: str) -> NoReturn:
    raise Unsupported(f"Cannot change {path}: the table was copied and is open for reading only.")
