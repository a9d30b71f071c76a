"""Files of this machine.

A file is written under a temporary name in its directory and then linked to its own name: a link never replaces
anything, so of two writers one fails, and a killed writer leaves at most a hidden temporary file.

Files are forced to disk several at a time: a file system then needs one flush for many, where one after the other they
would cost a flush each. Until `settle` nothing refers to them.

What reads or writes a file handles paths as plain text: a commit of small files is many such calls, a plan a dozen of
them, and a `Path` costs more than most.
"""

# ruff: noqa: PTH102, PTH103, PTH105, PTH108, PTH110, PTH116, PTH120, PTH123

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import Final, TypeVar

import pyarrow as pa

from skipstone.storage.flushing import Flushing
from skipstone.storage.paths import join, local_path
from skipstone.storage.protocol import Child, FileInfo, check_range, missing, taken

# A directory is no file, and nothing is stored under a file.
_ABSENT: Final = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

T = TypeVar("T")


class LocalStorage:
    """`is_durable` false leaves writing to the operating system: faster, safe against a killed process, not power."""

    def __init__(self, *, is_durable: bool = True) -> None:
        self._flushing = Flushing() if is_durable else None

    def __repr__(self) -> str:
        return "LocalStorage()"

    def read(self, path: str) -> bytes:
        try:
            with open(local_path(path), "rb") as file:
                return file.read()
        except _ABSENT:
            raise missing(path) from None

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        try:
            with open(local_path(path), "rb") as file:
                check_range(path, offset, length, size=os.fstat(file.fileno()).st_size)
                file.seek(offset)
                return file.read(length)
        except _ABSENT:
            raise missing(path) from None

    def open(self, path: str) -> pa.NativeFile:
        try:
            return pa.OSFile(local_path(path), "rb")
        except _ABSENT:
            raise missing(path) from None
        except OSError as error:
            if Path(local_path(path)).is_dir():
                raise missing(path) from error
            raise

    def size(self, path: str) -> int:
        try:
            found = os.stat(local_path(path))
        except (*_ABSENT, ValueError):  # no file has a name with a zero byte in it
            raise missing(path) from None
        if not S_ISREG(found.st_mode):
            raise missing(path)
        return found.st_size

    def exists(self, path: str) -> bool:
        return Path(local_path(path)).is_file()

    def write_new(self, path: str, data: bytes) -> None:
        target = local_path(path)
        temporary = _temporary_beside(target)
        try:
            _write(temporary, data)
            self._link(temporary, target, path, size_in_bytes=len(data))
        finally:
            _remove(temporary)

    def write_over(self, path: str, data: bytes) -> None:
        target = local_path(path)
        temporary = _temporary_beside(target)
        try:
            _write(temporary, data)
            os.replace(temporary, target)
        finally:
            _remove(temporary)

    @contextmanager
    def create(self, path: str) -> Iterator[pa.NativeFile]:
        target = local_path(path)
        if os.path.exists(target):
            raise taken(path)
        temporary = _temporary_beside(target)
        try:
            with _in_directory(lambda: pa.OSFile(temporary, "wb"), temporary) as stream:
                yield stream
            self._link(temporary, target, path, size_in_bytes=os.stat(temporary).st_size)
        finally:
            _remove(temporary)

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            Path(local_path(path)).unlink()

    def delete_many(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.delete(path)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        waiting = [(local_path(prefix), prefix)]
        while waiting:
            directory, location = waiting.pop()
            for entry in _entries(directory):
                path = join(location, entry.name)
                if entry.is_dir():
                    # What a link leads to is not under this directory, and may lead back.
                    if not entry.is_symlink():
                        waiting.append((entry.path, path))
                    continue
                # A file may be deleted while the listing runs.
                with suppress(FileNotFoundError):
                    stat = entry.stat()
                    yield FileInfo(path=path, size_in_bytes=stat.st_size, modified_ms=stat.st_mtime_ns // 1_000_000)

    def children(self, path: str) -> Sequence[Child]:
        found = [Child(name=e.name, is_directory=e.is_dir()) for e in _entries(local_path(path))]
        return sorted(found, key=lambda child: child.name)

    def make_directory(self, path: str) -> None:
        Path(local_path(path)).mkdir(parents=True, exist_ok=True)

    def remove_directory(self, path: str) -> None:
        for entry in _entries(local_path(path)):
            if entry.is_dir(follow_symlinks=False):
                self.remove_directory(entry.path)
        with suppress(FileNotFoundError):
            Path(local_path(path)).rmdir()

    def move_new(self, source: str, target: str) -> None:
        start, end = local_path(source), local_path(target)
        os.makedirs(os.path.dirname(end), exist_ok=True)
        try:
            self._link(start, end, target, size_in_bytes=os.stat(start).st_size)
        except FileNotFoundError:
            raise missing(source) from None
        _remove(start)

    def settle(self) -> None:
        if self._flushing is not None:
            self._flushing.settle()

    def _link(self, source: str, target: str, path: str, *, size_in_bytes: int) -> None:
        try:
            os.link(source, target)
        except FileExistsError:
            raise taken(path) from None
        if self._flushing is not None:
            self._flushing.add(target, size_in_bytes)


def _temporary_beside(target: str) -> str:
    # Hidden, because readers of directories skip hidden files.
    return f"{os.path.dirname(target)}/.{os.urandom(16).hex()}.part"


def _in_directory(open_file: Callable[[], T], path: str) -> T:
    """An opened new file. Its directory is made if it is not there, which is rarely so."""
    try:
        return open_file()
    except FileNotFoundError:
        directory = os.path.dirname(path)
        try:
            os.mkdir(directory)
        except OSError:  # its parent is missing too, or somebody else was faster
            os.makedirs(directory, exist_ok=True)
        return open_file()


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _write(temporary: str, data: bytes) -> None:
    handle = _in_directory(lambda: os.open(temporary, _NEW_FILE, 0o666), temporary)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)
