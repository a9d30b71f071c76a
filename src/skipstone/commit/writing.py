"""Entries become stored manifests: one, or several where one would grow far beyond the target size.

Spec: "Manifests"; table properties `commit.manifest.target-size-bytes` and `write.manifest.compression-*`.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from skipstone.commit.indexing import stage_sidecar
from skipstone.commit.manifests import remember_entries
from skipstone.commit.staging import Staging
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_write import WrittenManifest, write_manifest
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.tables.properties import (
    MANIFEST_COMPRESSION,
    MANIFEST_COMPRESSION_LEVEL,
    MANIFEST_TARGET_SIZE_BYTES,
    property_value,
)
from skipstone.metadata.tables.property_kinds import usable_level
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.snapshot_manifests import partition_type_of
from skipstone.write.avro import CODECS

# So many entries tell how large a manifest of more will be.
_SAMPLE_ENTRIES: Final = 1_000


def store_entries(
    entries: pa.Table,
    *,
    spec: PartitionSpec,
    content: ManifestContent,
    metadata: TableMetadata,
    staging: Staging,
    snapshot_id: int,
) -> list[ManifestFile]:
    """Write entries of one spec and content, in order."""
    compression = property_value(metadata.properties, MANIFEST_COMPRESSION)
    level = property_value(metadata.properties, MANIFEST_COMPRESSION_LEVEL)

    def write(piece: pa.Table) -> WrittenManifest:
        return write_manifest(
            piece,
            format_version=metadata.format_version,
            schema=metadata.current_schema,
            spec=spec,
            content=content,
            snapshot_id=snapshot_id,
            partition_type=partition_type_of(spec, metadata),
            codec=CODECS[compression],
            level=usable_level(compression, level, MANIFEST_COMPRESSION_LEVEL.key),
        )

    step = entries.num_rows
    if step > 2 * _SAMPLE_ENTRIES:
        size = len(write(entries.slice(0, _SAMPLE_ENTRIES)).data)
        size_max = property_value(metadata.properties, MANIFEST_TARGET_SIZE_BYTES)
        step = max(_SAMPLE_ENTRIES, size_max * _SAMPLE_ENTRIES // size)
    stored: list[ManifestFile] = []
    for at in range(0, entries.num_rows, max(step, 1)):
        piece = entries.slice(at, step)
        stored.append(staging.store_manifest(write(piece), metadata, snapshot_id=snapshot_id))
        stage_sidecar(piece, stored[-1], metadata, staging)
    if len(stored) == 1:
        remember_entries(stored[0].manifest_path, entries)
    return stored
