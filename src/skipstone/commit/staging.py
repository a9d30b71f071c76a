"""Files that a commit has written and nobody sees yet.

Laws: what one attempt wrote, the next one uses again, so a retry writes little more than a manifest list. A file is
noted before it is written: a storage that wrote it and lost the answer leaves no orphan. Files are deleted only when it
is certain that no published snapshot names them.

Spec: "Commit Conflict Resolution and Retry", "Sequence Number Inheritance".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Hashable
from typing import Any, TypeVar, cast

from skipstone.catalog.metadata_store import metadata_directory
from skipstone.errors import SkipstoneError
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_write import WrittenManifest
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.paths import join
from skipstone.storage.protocol import Storage

T = TypeVar("T")


class Staging:
    """The files of one commit, over all its attempts."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._unique = str(uuid.uuid4())
        self._manifests = 0
        self._lists = 0
        # What was written, and for an index file which file it is about: they stay and go together.
        self._written: dict[str, str | None] = {}
        self.zones: dict[str, Any] = {}  # of the manifests written here, for the roll-up
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once for this key in the whole commit."""
        if key not in self._made:
            self._made[key] = make()
        return cast("T", self._made[key])

    def store_manifest(self, written: WrittenManifest, metadata: TableMetadata, *, snapshot_id: int) -> ManifestFile:
        path = join(metadata_directory(metadata), f"{self._unique}-m{self._manifests}.avro")
        self._manifests += 1
        self._store(path, written.data)
        return written.manifest_file(path, added_snapshot_id=snapshot_id)

    def store_manifest_list(self, data: bytes, metadata: TableMetadata, *, snapshot_id: int) -> str:
        self._lists += 1
        name = f"snap-{snapshot_id}-{self._lists}-{self._unique}.avro"
        path = join(metadata_directory(metadata), name)
        self._store(path, data)
        return path

    def store_beside(self, path: str, data: bytes, *, owner: str) -> None:
        """Store an index file about a file that was stored before.

        It need not be safe when the commit is: one that a power failure spoils is noticed and passed over.
        """
        self._written[path] = owner
        self.storage.write_over(path, data)

    def _store(self, path: str, data: bytes) -> None:
        self._written[path] = None
        self.storage.write_new(path, data)

    def discard(self, *, keep: Collection[str] = ()) -> None:
        """Delete what was written, but for what is published. A failure leaves an orphan file, no more.

        What is kept is forgotten here: nothing that goes wrong later may delete it.
        """
        unused = [path for path, owner in self._written.items() if path not in keep and owner not in keep]
        self._written.clear()
        self._made.clear()
        if not unused:
            return
        try:
            self.storage.delete_many(unused)
        except (SkipstoneError, OSError):
            return
