"""A table's metadata as Arrow tables: `table.inspect.snapshots()`, `table.inspect.files()` and so on.

Tables named `all_*` go over every snapshot that the table still has, others over one: the current one, or the one that
`snapshot_id` or `ref` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skipstone.errors import InvalidInput
from skipstone.inspect import files, manifests, timeline
from skipstone.inspect.partitions import partitions
from skipstone.inspect.position_deletes import position_deletes
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.storage.protocol import Storage


class Inspector:
    """Looks into one version of a table's metadata."""

    def __init__(self, metadata: TableMetadata, storage: Storage, *, metadata_location: str) -> None:
        self._metadata = metadata
        self._storage = storage
        self._metadata_location = metadata_location

    # -- from the metadata file

    def snapshots(self) -> Any:
        """Every snapshot that the table still has."""
        return timeline.snapshots(self._metadata)

    def history(self) -> Any:
        """Which snapshot was current from when on."""
        return timeline.history(self._metadata)

    def refs(self) -> Any:
        """Branches and tags, with their retention rules."""
        return timeline.refs(self._metadata)

    def metadata_log_entries(self) -> Any:
        """The metadata files that the table remembers, the current one last."""
        return timeline.metadata_log_entries(self._metadata, self._metadata_location)

    # -- of one snapshot

    def manifests(self, *, snapshot_id: int | None = None, ref: str | None = None) -> Any:
        """The manifests of a snapshot."""
        return manifests.manifests(self._snapshot(snapshot_id, ref), self._metadata, self._storage)

    def entries(self, *, snapshot_id: int | None = None, ref: str | None = None) -> Any:
        """Every entry of the manifests of a snapshot, deleted ones too."""
        return files.entries(self._listed(snapshot_id, ref), self._metadata, self._storage)

    def files(self, *, snapshot_id: int | None = None, ref: str | None = None) -> Any:
        """The data and delete files of a snapshot."""
        return files.files(self._listed(snapshot_id, ref), self._metadata, self._storage)

    def data_files(self, *, snapshot_id: int | None = None, ref: str | None = None) -> Any:
        return self._files(self._listed(snapshot_id, ref), ManifestContent.DATA)

    def delete_files(self, *, snapshot_id: int | None = None, ref: str | None = None) -> Any:
        return self._files(self._listed(snapshot_id, ref), ManifestContent.DELETES)

    def partitions(self, *, snapshot_id: int | None = None, ref: str | None = None) -> Any:
        """How much each partition of a snapshot holds."""
        return partitions(self._listed(snapshot_id, ref), self._metadata, self._storage)

    def position_deletes(self, *, snapshot_id: int | None = None, ref: str | None = None) -> Any:
        """Every position that delete files and deletion vectors of a snapshot delete."""
        return position_deletes(self._listed(snapshot_id, ref), self._metadata, self._storage)

    # -- of all snapshots

    def all_manifests(self) -> Any:
        """The manifests of every snapshot; one that several snapshots list is there once for each."""
        return manifests.all_manifests(self._metadata, self._storage)

    def all_entries(self) -> Any:
        """Every entry of every manifest that a snapshot lists. A file may be in several manifests."""
        return files.entries(self._all(), self._metadata, self._storage)

    def all_files(self) -> Any:
        """The files of every manifest that a snapshot lists. A file may be in several manifests."""
        return files.files(self._all(), self._metadata, self._storage)

    def all_data_files(self) -> Any:
        return self._files(self._all(), ManifestContent.DATA)

    def all_delete_files(self) -> Any:
        return self._files(self._all(), ManifestContent.DELETES)

    # -- help

    def _files(self, listed: Sequence[ManifestFile], content: ManifestContent) -> Any:
        return files.files([m for m in listed if m.content == content], self._metadata, self._storage)

    def _all(self) -> Sequence[ManifestFile]:
        return manifests.distinct(manifests.lists_of(self._metadata.snapshots, self._metadata, self._storage))

    def _listed(self, snapshot_id: int | None, ref: str | None) -> Sequence[ManifestFile]:
        snapshot = self._snapshot(snapshot_id, ref)
        return () if snapshot is None else manifests_of(snapshot, self._metadata, self._storage)

    def _snapshot(self, snapshot_id: int | None, ref: str | None) -> Snapshot | None:
        if snapshot_id is not None and ref is not None:
            raise InvalidInput(f"Cannot inspect snapshot {snapshot_id} and ref {ref!r} at once: expected one of them.")
        if snapshot_id is not None:
            return self._metadata.snapshot(snapshot_id)
        return self._metadata.current_snapshot if ref is None else self._metadata.ref_snapshot(ref)
