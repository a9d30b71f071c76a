"""Files in this process's memory, for tests and experiments.

Any location with a scheme and any absolute path is a name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.storage.paths import scheme_of
from skipstone.storage.protocol import Child, FileInfo, check_range, missing, taken


class MemoryStorage:
    """Its files live as long as it does. Does not pickle: another process has other memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, tuple[bytes, int]] = {}
        self._directories: set[str] = set()

    def __repr__(self) -> str:
        return f"MemoryStorage({len(self._files)} files)"

    def __reduce__(self) -> tuple[object, ...]:
        if self is not SHARED:
            raise InvalidInput("Cannot send a memory storage to another process: its files live in this one.")
        return (_shared, ())

    def read(self, path: str) -> bytes:
        try:
            return self._files[_checked(path)][0]
        except KeyError:
            raise missing(path) from None

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        data = self.read(path)
        check_range(path, offset, length, size=len(data))
        return data[offset : offset + length]

    def open(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self.read(path))

    def size(self, path: str) -> int:
        return len(self.read(path))

    def exists(self, path: str) -> bool:
        return _checked(path) in self._files

    def write_new(self, path: str, data: bytes) -> None:
        with self._lock:
            if _checked(path) in self._files:
                raise taken(path)
            self._files[path] = (bytes(data), _now_ms())

    def write_over(self, path: str, data: bytes) -> None:
        with self._lock:
            self._files[_checked(path)] = (bytes(data), _now_ms())

    @contextmanager
    def create(self, path: str) -> Iterator[pa.NativeFile]:
        if self.exists(path):
            raise taken(path)
        stream = pa.BufferOutputStream()
        yield stream
        self.write_new(path, stream.getvalue().to_pybytes())

    def delete(self, path: str) -> None:
        with self._lock:
            self._files.pop(_checked(path), None)

    def delete_many(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.delete(path)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        start = _directory(prefix)
        with self._lock:
            found = [(p, len(data), at) for p, (data, at) in self._files.items() if p.startswith(start)]
        for path, size, modified_ms in found:
            yield FileInfo(path=path, size_in_bytes=size, modified_ms=modified_ms)

    def children(self, path: str) -> Sequence[Child]:
        start = _directory(path)
        with self._lock:
            known = [*self._files, *(d + "/" for d in self._directories)]
        rests = [p[len(start) :] for p in known if p.startswith(start) and len(p) > len(start)]
        found = {rest.partition("/")[0]: False for rest in rests}
        found |= {rest.partition("/")[0]: True for rest in rests if "/" in rest}
        return [Child(name=name, is_directory=found[name]) for name in sorted(found)]

    def make_directory(self, path: str) -> None:
        with self._lock:
            self._directories.add(_checked(path).rstrip("/"))

    def remove_directory(self, path: str) -> None:
        if next(self.list(path), None) is not None:
            raise OSError(f"Cannot remove directory {path}: expected it to be empty, got files in it.")
        start = _directory(path)
        with self._lock:
            self._directories = {d for d in self._directories if not (d + "/").startswith(start)}

    def move_new(self, source: str, target: str) -> None:
        with self._lock:
            if _checked(source) not in self._files:
                raise missing(source)
            if _checked(target) in self._files:
                raise taken(target)
            self._files[target] = self._files.pop(source)

    def settle(self) -> None:
        """Nothing in memory survives a power failure."""


def _checked(path: str) -> str:
    scheme_of(path)
    return path


def _directory(path: str) -> str:
    return _checked(path).rstrip("/") + "/"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _shared() -> MemoryStorage:
    return SHARED


# The files of `memory://` locations, the same for everyone in this process.
SHARED: Final = MemoryStorage()
