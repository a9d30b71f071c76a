"""The storage of a location, by its scheme: one storage for all of a catalog's tables.

Options have the names that other Python readers of Iceberg use (`s3.endpoint`, `s3.access-key-id`, ...). Without
options, credentials and regions come from the environment, as pyarrow finds them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.tables.property_kinds import parse_boolean
from skipstone.storage.arrow_fs import ArrowStorage
from skipstone.storage.local import LocalStorage
from skipstone.storage.memory import SHARED
from skipstone.storage.paths import scheme_of, split_authority
from skipstone.storage.protocol import Child, FileInfo, Storage

DURABLE: Final = "local.durable"
_S3_TEXT: Final = {
    "s3.endpoint": "endpoint_override",
    "s3.access-key-id": "access_key",
    "s3.secret-access-key": "secret_key",
    "s3.session-token": "session_token",
    "s3.region": "region",
    "s3.proxy-uri": "proxy_options",
    "s3.role-arn": "role_arn",
}
_S3_SECONDS: Final = {"s3.connect-timeout": "connect_timeout", "s3.request-timeout": "request_timeout"}
_S3_BOOLEAN: Final = {"s3.anonymous": "anonymous", "s3.force-virtual-addressing": "force_virtual_addressing"}
_GCS_TEXT: Final = {"gcs.service.host": "endpoint_override", "gcs.project-id": "project_id"}
_HDFS_TEXT: Final = {"hdfs.user": "user", "hdfs.kerberos-ticket": "kerb_ticket"}


def storage_for(options: Mapping[str, str] | None = None) -> Storage:
    """A storage for any location this package can reach."""
    return RoutingStorage(options or {})


class RoutingStorage:
    """Opens each file system once, when the first location asks for it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._lock = threading.Lock()
        self._opened: dict[tuple[str, str], Storage] = {}

    def __repr__(self) -> str:
        # Options may hold secrets.
        return "RoutingStorage()"

    def __reduce__(self) -> tuple[object, ...]:
        return (RoutingStorage, (self._options,))

    def read(self, path: str) -> bytes:
        return self.of(path).read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self.of(path).read_range(path, offset, length)

    def open(self, path: str) -> pa.NativeFile:
        return self.of(path).open(path)

    def size(self, path: str) -> int:
        return self.of(path).size(path)

    def exists(self, path: str) -> bool:
        return self.of(path).exists(path)

    def write_new(self, path: str, data: bytes) -> None:
        self.of(path).write_new(path, data)

    def write_over(self, path: str, data: bytes) -> None:
        self.of(path).write_over(path, data)

    def create(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        return self.of(path).create(path)

    def delete(self, path: str) -> None:
        self.of(path).delete(path)

    def delete_many(self, paths: Iterable[str]) -> None:
        by_storage: dict[int, tuple[Storage, list[str]]] = {}
        for path in paths:
            storage = self.of(path)
            by_storage.setdefault(id(storage), (storage, []))[1].append(path)
        for storage, of_storage in by_storage.values():
            storage.delete_many(of_storage)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        return self.of(prefix).list(prefix)

    def children(self, path: str) -> Sequence[Child]:
        return self.of(path).children(path)

    def make_directory(self, path: str) -> None:
        self.of(path).make_directory(path)

    def remove_directory(self, path: str) -> None:
        self.of(path).remove_directory(path)

    def move_new(self, source: str, target: str) -> None:
        storage = self.of(source)
        if self.of(target) is not storage:
            raise InvalidInput(f"Cannot rename {source} to {target}: expected two places in one file system.")
        storage.move_new(source, target)

    def settle(self) -> None:
        with self._lock:
            opened = list(self._opened.values())
        for storage in opened:
            storage.settle()

    def of(self, location: str) -> Storage:
        """The storage that holds a location."""
        scheme = scheme_of(location)
        # An HDFS client talks to one name node; the others reach all buckets.
        authority = split_authority(location)[0] if scheme == "hdfs" else ""
        with self._lock:
            storage = self._opened.get((scheme, authority))
            if storage is None:
                storage = self._opened[(scheme, authority)] = self._open(scheme, authority, location)
            return storage

    def _open(self, scheme: str, authority: str, location: str) -> Storage:
        match scheme:
            case "file":
                return LocalStorage(is_durable=_boolean(DURABLE, self._options.get(DURABLE, "true")))
            case "memory":
                return SHARED
            case "s3" | "s3a" | "s3n":
                return ArrowStorage(fs.S3FileSystem(**self._s3()), puts_whole=True)
            case "gs" | "gcs":
                return ArrowStorage(fs.GcsFileSystem(**self._taken(_GCS_TEXT)), puts_whole=True)
            case "hdfs":
                return ArrowStorage(_hdfs(authority, self._taken(_HDFS_TEXT), location), puts_whole=False)
        raise Unsupported(
            f"Cannot open {location}: expected a path or one of file:, s3://, s3a://, gs://, hdfs://, memory://, "
            f"got {scheme}."
        )

    def _s3(self) -> dict[str, Any]:
        found: dict[str, Any] = self._taken(_S3_TEXT)
        endpoint = found.get("endpoint_override", "")
        if endpoint.startswith("http://"):
            found["scheme"] = "http"
        for key, name in _S3_SECONDS.items():
            if key in self._options:
                found[name] = _seconds(key, self._options[key])
        for key, name in _S3_BOOLEAN.items():
            if key in self._options:
                found[name] = _boolean(key, self._options[key])
        return found

    def _taken(self, names: Mapping[str, str]) -> dict[str, Any]:
        return {name: self._options[key] for key, name in names.items() if key in self._options}


def _hdfs(authority: str, options: Mapping[str, Any], location: str) -> fs.FileSystem:
    host, _, port = authority.partition(":")
    if port and not (port.isascii() and port.isdigit()):
        raise InvalidInput(f"Invalid location {location}: expected hdfs://host:port/path, got port {port!r}.")
    try:
        return fs.HadoopFileSystem(host or "default", int(port or 0), **options)
    except OSError as error:
        raise ConnectionError(f"Cannot connect to HDFS for {location}: {error}") from error


def _boolean(key: str, text: str) -> bool:
    value = parse_boolean(text)
    if value is None:
        raise InvalidInput(f"Invalid storage option {key}: expected true or false, got {text!r}.")
    return value


def _seconds(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"Invalid storage option {key}: expected seconds, got {text!r}.") from None
