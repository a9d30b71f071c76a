"""Metadata files in storage: where a new one goes, written, read, and remembered once parsed.

A metadata file never changes, so what was parsed is kept by location and content. The kept value is shared: metadata
is immutable.

Spec: "Metastore Tables", Appendix F "Naming for GZIP compressed Metadata JSON files".
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from hashlib import blake2b

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.tables.metadata_files import MetadataFileName, parse_metadata_file_name
from skipstone.metadata.tables.properties import METADATA_COMPRESSION, METADATA_PATH, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata, serialize_table_metadata
from skipstone.storage.paths import join
from skipstone.storage.protocol import Storage

_KEPT_MAX = 64


class MetadataStore:
    """Reads and writes the metadata files of one catalog. With `is_unique`, no location is ever used twice."""

    def __init__(self, storage: Storage, *, is_unique: bool) -> None:
        self.storage = storage
        self._is_unique = is_unique
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, bytes], TableMetadata] = OrderedDict()

    def load(self, location: str, *, table: str) -> TableMetadata:
        """The metadata in a file. `table` names the table in messages."""
        if self._is_unique and (kept := self._find((location, b""))) is not None:
            return kept
        try:
            data = self.storage.read(location)
        except NotFound as error:
            raise NotFound(
                f"Cannot load table {table}: its metadata file {location} does not exist. "
                f"Restore the file, or register the table with a metadata file that does."
            ) from error
        key = self._key(location, data)
        kept = self._find(key)
        if kept is None:
            kept = parse_table_metadata(data, source=location)
            self._keep(key, kept)
        return kept

    def store(self, location: str, metadata: TableMetadata, *, is_gzip: bool) -> None:
        """Write a new metadata file, and settle all files that it may name."""
        data = serialize_table_metadata(metadata, compression="gzip" if is_gzip else "none")
        try:
            self.storage.write_new(location, data)
            self.storage.settle()
        except OSError:
            # It may have been written all the same, and nobody will ever point at it.
            self.forget(location)
            raise
        self._keep(self._key(location, data), metadata)

    def moved(self, old: str, new: str) -> None:
        """Remember what was stored under one location under another."""
        with self._lock:
            for key in [k for k in self._kept if k[0] == old]:
                self._kept[(new, key[1])] = self._kept.pop(key)

    def forget(self, location: str) -> None:
        """Delete a metadata file that was definitely not published; a failure leaves an orphan, no more."""
        with self._lock:
            for key in [k for k in self._kept if k[0] == location]:
                del self._kept[key]
        try:
            self.storage.delete(location)
        except OSError:
            return

    def _key(self, location: str, data: bytes) -> tuple[str, bytes]:
        return (location, b"" if self._is_unique else blake2b(data, digest_size=20).digest())

    def _find(self, key: tuple[str, bytes]) -> TableMetadata | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def _keep(self, key: tuple[str, bytes], metadata: TableMetadata) -> None:
        with self._lock:
            self._kept[key] = metadata
            while len(self._kept) > _KEPT_MAX:
                self._kept.popitem(last=False)


def metadata_directory(metadata: TableMetadata) -> str:
    """Where a table's metadata files go."""
    return property_value(metadata.properties, METADATA_PATH) or join(metadata.location, "metadata")


def next_metadata_location(base_location: str | None, metadata: TableMetadata) -> tuple[str, bool]:
    """A new unique location for a metadata file of a metastore table, and whether it is compressed."""
    is_gzip = property_value(metadata.properties, METADATA_COMPRESSION) == "gzip"
    name = MetadataFileName(version=_next_version(base_location), unique=str(uuid.uuid4()), is_gzip=is_gzip)
    return join(metadata_directory(metadata), str(name)), is_gzip


def check_same_table(base: TableMetadata, metadata: TableMetadata, *, table: str) -> None:
    """Refuse to publish one table's metadata over another's: a table keeps its UUID for life."""
    if base.table_uuid is not None and base.table_uuid != metadata.table_uuid:
        raise InvalidInput(
            f"Cannot commit to {table}: expected metadata of table {base.table_uuid}, got table {metadata.table_uuid}. "
            f"The table was replaced; load it again."
        )


def _next_version(base_location: str | None) -> int:
    if base_location is None:
        return 0
    try:
        return parse_metadata_file_name(base_location).version + 1
    except InvalidInput:
        # A registered file may have any name; counting starts after it.
        return 1
