"""A table opened with the kernel alone: metadata file, manifest lists, manifests. For tests, so plain and slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.support.golden import GoldenTable, local

from skipstone.metadata.blobs.encryption import KeyManagement, decrypt_file, manifest_list_key_metadata
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_list import read_manifest_list
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.metadata.types import StructType


@dataclass(frozen=True)
class OpenTable:
    """Metadata, and how to get the bytes at a location."""

    metadata: TableMetadata
    fetch: Callable[[str], bytes]
    kms: KeyManagement | None = None
    _listed: dict[int, list[ManifestFile]] = field(default_factory=dict, compare=False, repr=False)

    def manifests(self, snapshot: Snapshot | None) -> list[ManifestFile]:
        """The manifests of a snapshot, in the order of its manifest list. Read once."""
        if snapshot is None:
            return []
        if snapshot.snapshot_id not in self._listed:
            self._listed[snapshot.snapshot_id] = self._read_list(snapshot)
        return list(self._listed[snapshot.snapshot_id])

    def _read_list(self, snapshot: Snapshot) -> list[ManifestFile]:
        if snapshot.manifest_list is None:
            return []
        data = self.fetch(snapshot.manifest_list)
        if snapshot.key_id is not None:
            assert self.kms is not None
            key = manifest_list_key_metadata(self.metadata.encryption_keys, snapshot.key_id, self.kms)
            data = decrypt_file(data, key, source=snapshot.manifest_list)
        return read_manifest_list(data, source=snapshot.manifest_list)

    def manifest_bytes(self, manifest: ManifestFile) -> bytes:
        data = self.fetch(manifest.manifest_path)
        if manifest.key_metadata is not None:
            data = decrypt_file(data, manifest.key_metadata, source=manifest.manifest_path)
        return data

    def spec(self, manifest: ManifestFile) -> PartitionSpec:
        return self.metadata.spec(manifest.partition_spec_id)

    def partition_type(self, manifest: ManifestFile) -> StructType:
        return self.spec(manifest).partition_type(self.metadata.current_schema, schemas=self.metadata.schemas)

    def entries(self, manifest: ManifestFile, *, inherit: bool = True, **options: Any) -> pa.Table:
        """The entries of a manifest with their raw metric maps, inherited values filled in."""
        return read_manifest(
            self.manifest_bytes(manifest),
            source=manifest.manifest_path,
            schema=options.pop("schema", None),
            maps=options.pop("maps", True),
            inherit_from=manifest if inherit else None,
            **options,
        )

    def distinct_manifests(self) -> Iterator[ManifestFile]:
        """Every manifest that any snapshot lists, once."""
        seen: set[str] = set()
        for snapshot in self.metadata.snapshots:
            for manifest in self.manifests(snapshot):
                if manifest.manifest_path not in seen:
                    seen.add(manifest.manifest_path)
                    yield manifest


@cache
def open_golden(table: GoldenTable, *, kms: KeyManagement | None = None) -> OpenTable:
    """A golden table; opened once, since nothing may change it."""
    metadata = parse_table_metadata(table.metadata_file.read_bytes(), source=table.metadata_file.name)
    return OpenTable(metadata, lambda location: local(location).read_bytes(), kms)


def open_file(location: str) -> OpenTable:
    """A table on this machine, by the `file:` location or path of its metadata file."""
    return OpenTable(parse_table_metadata(_read(location), source=location), _read)


def _read(location: str) -> bytes:
    return Path(location.removeprefix("file://").removeprefix("file:")).read_bytes()
