"""Small manifests are merged: a table that grows by many commits is still planned from few files.

Manifests are packed in the order of the list into bins of the target size, from the oldest on, so that the open bin is
the newest. A full bin becomes one manifest at once; the newest only when it holds enough manifests, so that a small
commit usually rewrites nothing and each entry is rewritten rarely.

Table properties `commit.manifest-merge.enabled`, `commit.manifest.min-count-to-merge`,
`commit.manifest.target-size-bytes`. Spec: "Manifests", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, integers, rows_at
from skipstone.commit.writing import store_entries
from skipstone.metadata.manifests.manifest import EntryStatus, ManifestContent, ManifestFile
from skipstone.metadata.tables.properties import (
    MANIFEST_MERGE_ENABLED,
    MANIFEST_MIN_MERGE_COUNT,
    MANIFEST_TARGET_SIZE_BYTES,
    property_value,
)
from skipstone.metadata.tables.table_metadata import TableMetadata


def merge_manifests(
    manifests: Sequence[ManifestFile], *, metadata: TableMetadata, context: CommitContext, snapshot_id: int
) -> tuple[ManifestFile, ...]:
    """The manifests, newest first, with those merged that should be."""
    if len(manifests) < 2 or not property_value(metadata.properties, MANIFEST_MERGE_ENABLED):
        return tuple(manifests)
    size_max = property_value(metadata.properties, MANIFEST_TARGET_SIZE_BYTES)
    count_min = property_value(metadata.properties, MANIFEST_MIN_MERGE_COUNT)
    merged: list[ManifestFile] = []
    for content in ManifestContent:
        of_kind = [m for m in manifests if m.content == content]
        newest = of_kind[0] if of_kind else None
        for spec_id in sorted({m.partition_spec_id for m in of_kind}, reverse=True):
            group = [m for m in of_kind if m.partition_spec_id == spec_id]
            for bin_ in _bins(group, size_max):
                if len(bin_) == 1 or (newest in bin_ and len(bin_) < count_min):
                    merged += bin_
                else:
                    merged += _merged(tuple(bin_), metadata, context, snapshot_id)
    return tuple(merged)


def _bins(manifests: Sequence[ManifestFile], size_max: int) -> list[list[ManifestFile]]:
    """Neighbours together up to the size, filled from the end of the list."""
    bins: list[list[ManifestFile]] = []
    size = 0
    for manifest in reversed(manifests):
        if not bins or size + manifest.manifest_length > size_max:
            bins.append([])
            size = 0
        bins[-1].append(manifest)
        size += manifest.manifest_length
    return [bin_[::-1] for bin_ in reversed(bins)]


def _merged(
    bin_: tuple[ManifestFile, ...], metadata: TableMetadata, context: CommitContext, snapshot_id: int
) -> list[ManifestFile]:
    # The numbers that entries inherit are in the manifest files: other numbers, another manifest.
    key = ("merged", snapshot_id, metadata.format_version, bin_)
    return context.staging.once(key, lambda: _write_merged(bin_, metadata, context, snapshot_id))


def _write_merged(
    bin_: tuple[ManifestFile, ...], metadata: TableMetadata, context: CommitContext, snapshot_id: int
) -> list[ManifestFile]:
    parts = [carried(entries_of(context.storage, metadata, m, maps=True), snapshot_id) for m in bin_]
    return store_entries(
        pa.concat_tables(parts).combine_chunks(),
        spec=metadata.spec(bin_[0].partition_spec_id),
        content=bin_[0].content,
        metadata=metadata,
        staging=context.staging,
        snapshot_id=snapshot_id,
    )


def carried(entries: pa.Table, snapshot_id: int) -> pa.Table:
    """Entries as a later manifest holds them: this snapshot's as they are, older ones existing, older deletes gone."""
    status = integers(entries, "status")
    own = integers(entries, "snapshot_id") == snapshot_id
    place = entries.schema.get_field_index("status")
    carried = np.where(own, status, int(EntryStatus.EXISTING)).astype(np.int32)
    return rows_at(entries.set_column(place, "status", pa.array(carried)), own | (status != EntryStatus.DELETED))
