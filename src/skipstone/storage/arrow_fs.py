"""Files of S3, Google Cloud Storage, HDFS or any other file system that pyarrow knows.

Object stores show an object when it is complete, so files are put under their own names; HDFS and local disks get a
temporary file that is renamed. Here "is the path taken?" is a question asked before the write: two writers of one path
at the same moment are not told apart, which is why names of files are unique, and a rename that must not replace
anything is refused on object stores.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import pyarrow as pa
from pyarrow import fs

from skipstone.errors import Unsupported
from skipstone.storage.paths import FILE, join, local_path, scheme_of, split_authority
from skipstone.storage.protocol import Child, FileInfo, check_range, missing, taken

_HDFS: Final = ("hdfs", "viewfs")


class ArrowStorage:
    """`puts_whole` says that the file system shows a file when it is complete, as object stores do."""

    def __init__(self, filesystem: fs.FileSystem, *, puts_whole: bool) -> None:
        self._filesystem = filesystem
        self._puts_whole = puts_whole

    def __repr__(self) -> str:
        return f"ArrowStorage({self._filesystem.type_name})"

    def read(self, path: str) -> bytes:
        with self.open(path) as file:
            return bytes(file.read())

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        with self.open(path) as file:
            check_range(path, offset, length, size=file.size())
            file.seek(offset)
            return bytes(file.read(length))

    def open(self, path: str) -> pa.NativeFile:
        try:
            return self._filesystem.open_input_file(_inner(path))
        except FileNotFoundError:
            raise missing(path) from None
        except OSError as error:
            if self._info(path).type == fs.FileType.Directory:
                raise missing(path) from error
            raise

    def size(self, path: str) -> int:
        info = self._info(path)
        if not info.is_file:
            raise missing(path)
        return int(info.size)

    def exists(self, path: str) -> bool:
        return bool(self._info(path).is_file)

    def write_new(self, path: str, data: bytes) -> None:
        with self.create(path) as stream:
            stream.write(data)

    def write_over(self, path: str, data: bytes) -> None:
        with self._written(path) as stream:
            stream.write(data)

    @contextmanager
    def create(self, path: str) -> Iterator[pa.NativeFile]:
        if self._info(path).type != fs.FileType.NotFound:
            raise taken(path)
        with self._written(path, is_new=True) as stream:
            yield stream

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._filesystem.delete_file(_inner(path))

    def delete_many(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.delete(path)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        base = _inner(prefix).rstrip("/")
        for info in self._filesystem.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True)):
            if info.is_file:
                yield FileInfo(
                    path=join(prefix, info.path[len(base) :].lstrip("/")),
                    size_in_bytes=int(info.size),
                    modified_ms=(info.mtime_ns or 0) // 1_000_000,
                )

    def children(self, path: str) -> Sequence[Child]:
        found = self._filesystem.get_file_info(fs.FileSelector(_inner(path), allow_not_found=True))
        children = (Child(name=info.base_name, is_directory=not info.is_file) for info in found)
        return sorted(children, key=lambda child: child.name)

    def make_directory(self, path: str) -> None:
        self._filesystem.create_dir(_inner(path), recursive=True)

    def remove_directory(self, path: str) -> None:
        if next(self.list(path), None) is not None:
            raise OSError(f"Cannot remove directory {path}: expected it to be empty, got files in it.")
        with suppress(FileNotFoundError):
            self._filesystem.delete_dir(_inner(path))

    def move_new(self, source: str, target: str) -> None:
        if self._puts_whole:
            raise Unsupported(
                f"Cannot rename {source} to {target}: expected a file system that renames in one step, got an object "
                f"store. Keep the table in a SQL catalog."
            )
        if not self.exists(source):
            raise missing(source)
        if self._info(target).type != fs.FileType.NotFound:
            raise taken(target)
        self._rename(_inner(source), _inner(target))

    def settle(self) -> None:
        """A stream that was closed is as safe as its file system makes it."""

    @contextmanager
    def _written(self, path: str, *, is_new: bool = False) -> Iterator[pa.NativeFile]:
        """A stream whose file is complete under its own name afterwards, or not there at all."""
        final = _inner(path)
        written = final if self._puts_whole else _temporary_beside(final)
        try:
            with self._open_output(written) as stream:
                yield stream
            if written != final:
                if is_new and self.exists(path):
                    raise taken(path)
                self._rename(written, final)
        except BaseException:
            # Closing the stream stored what there was.
            with suppress(OSError):
                self._filesystem.delete_file(written)
            raise

    def _open_output(self, inner: str) -> pa.NativeFile:
        try:
            return self._filesystem.open_output_stream(inner)
        except FileNotFoundError:
            self._filesystem.create_dir(inner.rpartition("/")[0], recursive=True)
            return self._filesystem.open_output_stream(inner)

    def _rename(self, source: str, target: str) -> None:
        self._filesystem.create_dir(target.rpartition("/")[0], recursive=True)
        self._filesystem.move(source, target)

    def _info(self, path: str) -> fs.FileInfo:
        return self._filesystem.get_file_info(_inner(path))


def _inner(location: str) -> str:
    """The path that pyarrow's file systems know a location by."""
    scheme = scheme_of(location)
    if scheme == FILE:
        return local_path(location)
    authority, path = split_authority(location)
    return f"/{path}" if scheme in _HDFS else f"{authority}/{path}".rstrip("/")


def _temporary_beside(inner: str) -> str:
    return join(inner.rpartition("/")[0], f".{uuid.uuid4().hex}.part")
