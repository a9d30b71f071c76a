"""Any storage, with failures at chosen calls: for tests of what a commit leaves behind.

A call fails before it does anything, or it is performed and its answer is lost. Both look the same to the caller.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from skipstone.storage.protocol import Child, FileInfo, Storage

T = TypeVar("T")


class InjectedFault(OSError):
    """A failure that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that was made: the verb's name and the (first) path."""

    kind: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Fail the `number`-th call, counted from 1 among the calls of these kinds, or among all calls."""

    number: int
    kinds: frozenset[str] | None = None
    is_answer_lost: bool = False


class FaultyStorage:
    """Passes every call on, counts it, and fails where a fault says so. Each fault happens once."""

    def __init__(self, storage: Storage, faults: Iterable[Fault] = ()) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._waiting = list(faults)
        self.calls: list[Call] = []

    def __repr__(self) -> str:
        return f"FaultyStorage({self._storage!r})"

    def plan(self, faults: Iterable[Fault]) -> None:
        """Start counting anew, with these faults ahead."""
        with self._lock:
            self._waiting = list(faults)
            self.calls = []

    @property
    def faults_ahead(self) -> int:
        """How many faults have not happened yet."""
        return len(self._waiting)

    def read(self, path: str) -> bytes:
        return self._call("read", path, lambda: self._storage.read(path))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self._call("read_range", path, lambda: self._storage.read_range(path, offset, length))

    def open(self, path: str) -> pa.NativeFile:
        return self._call("open", path, lambda: self._storage.open(path))

    def size(self, path: str) -> int:
        return self._call("size", path, lambda: self._storage.size(path))

    def exists(self, path: str) -> bool:
        return self._call("exists", path, lambda: self._storage.exists(path))

    def write_new(self, path: str, data: bytes) -> None:
        self._call("write_new", path, lambda: self._storage.write_new(path, data))

    def write_over(self, path: str, data: bytes) -> None:
        self._call("write_over", path, lambda: self._storage.write_over(path, data))

    @contextmanager
    def create(self, path: str) -> Iterator[pa.NativeFile]:
        fault = self._count("create", path)
        if fault is not None and not fault.is_answer_lost:
            raise _injected("create", path)
        with self._storage.create(path) as stream:
            yield stream
        if fault is not None:
            raise _injected("create", path)

    def delete(self, path: str) -> None:
        self._call("delete", path, lambda: self._storage.delete(path))

    def delete_many(self, paths: Iterable[str]) -> None:
        known = list(paths)
        self._call("delete_many", known[0] if known else "", lambda: self._storage.delete_many(known))

    def list(self, prefix: str) -> Iterator[FileInfo]:
        return self._call("list", prefix, lambda: self._storage.list(prefix))

    def children(self, path: str) -> Sequence[Child]:
        return self._call("children", path, lambda: self._storage.children(path))

    def make_directory(self, path: str) -> None:
        self._call("make_directory", path, lambda: self._storage.make_directory(path))

    def remove_directory(self, path: str) -> None:
        self._call("remove_directory", path, lambda: self._storage.remove_directory(path))

    def move_new(self, source: str, target: str) -> None:
        self._call("move_new", source, lambda: self._storage.move_new(source, target))

    def settle(self) -> None:
        self._call("settle", "", self._storage.settle)

    def _call(self, kind: str, path: str, perform: Callable[[], T]) -> T:
        fault = self._count(kind, path)
        if fault is None:
            return perform()
        if fault.is_answer_lost:
            perform()
        raise _injected(kind, path)

    def _count(self, kind: str, path: str) -> Fault | None:
        """Note the call; the fault that is due with it, taken off the plan."""
        with self._lock:
            self.calls.append(Call(kind=kind, path=path))
            for fault in self._waiting:
                counted = [c for c in self.calls if fault.kinds is None or c.kind in fault.kinds]
                if len(counted) == fault.number and counted[-1] is self.calls[-1]:
                    self._waiting.remove(fault)
                    return fault
        return None


def _injected(kind: str, path: str) -> InjectedFault:
    return InjectedFault(f"Cannot {kind} {path}: a fault was injected here.")
