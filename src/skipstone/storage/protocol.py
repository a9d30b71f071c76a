"""What every storage can do, and the laws each one keeps.

Files are immutable: they are written once, whole, and never changed. A reader sees a file whole or not at all, and two
writers of one path never both succeed where the storage can tell them apart. Locations are kept as they are written in
metadata; they are literal text, never percent-decoded, because that is how other engines write them.

A file is seen as soon as it is written, and safe from a power failure once `settle` has returned. Catalogs settle
before they publish; a process whose files another one publishes settles before it reports them.

A missing file is NotFound and a taken path AlreadyExists, each naming the path. Everything else that goes wrong with
the outside world is an OSError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from skipstone.errors import AlreadyExists, FormatViolation, InvalidInput, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """A file in a listing. `modified_ms` is the storage's own clock."""

    path: str
    size_in_bytes: int
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A name directly under a directory."""

    name: str
    is_directory: bool


@runtime_checkable
class Storage(Protocol):
    """Files behind one small set of verbs. Safe for use by several threads; pickles unless its files live in memory."""

    def read(self, path: str) -> bytes:
        """The whole file."""

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`; a shorter file is a FormatViolation."""

    def open(self, path: str) -> pa.NativeFile:
        """A seekable file to read from; the caller closes it."""

    def size(self, path: str) -> int:
        """The file's size in bytes."""

    def exists(self, path: str) -> bool:
        """Whether there is a file; a directory is none."""

    def write_new(self, path: str, data: bytes) -> None:
        """Store a file that was not there: whole or absent, AlreadyExists if the path is taken."""

    def write_over(self, path: str, data: bytes) -> None:
        """Store a file, replacing what is there in one step. Only for hints: nothing may rely on the content."""

    def create(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """A file to write to, visible whole when the block ends well, gone when it raises."""

    def delete(self, path: str) -> None:
        """Remove a file; a missing one is fine."""

    def delete_many(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are fine."""

    def list(self, prefix: str) -> Iterator[FileInfo]:
        """All files under a directory, at any depth, in no order; none if there is no such directory."""

    def children(self, path: str) -> Sequence[Child]:
        """The names directly under a directory, sorted; none if there is no such directory."""

    def make_directory(self, path: str) -> None:
        """Make a directory with its parents; an existing one is fine. Writing a file needs no such call."""

    def remove_directory(self, path: str) -> None:
        """Remove a directory with the empty directories under it; a missing one is fine, files in it are an error."""

    def move_new(self, source: str, target: str) -> None:
        """Rename a file in one step, AlreadyExists if the target is taken."""

    def settle(self) -> None:
        """Wait until all that was written through this storage is safe; OSError if it cannot be made so."""


def missing(path: str) -> NotFound:
    """The error of a file that is not there."""
    return NotFound(f"Cannot find file {path}: nothing is stored there.")


def taken(path: str) -> AlreadyExists:
    """The error of a path that is in use."""
    return AlreadyExists(f"Cannot write {path}: a file is stored there already. Files are never replaced.")


def check_range(path: str, offset: int, length: int, *, size: int) -> None:
    """Refuse a range outside its file, before it asks for memory that the file could never fill."""
    if offset < 0 or length < 0:
        raise InvalidInput(f"Cannot read {path}: expected offset and length from 0, got {offset} and {length}.")
    if offset + length > size:
        raise FormatViolation(
            f"Cannot read {path}: expected {length} bytes at offset {offset}, got a file of {size} bytes. "
            f"The file is cut short, or what points into it is damaged."
        )
