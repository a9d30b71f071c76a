"""The skip index of what a commit writes: a sidecar with each manifest, a roll-up with each manifest list.

Law: the index is a cache. Whatever goes wrong here leaves a snapshot without a part of its index, and nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skipstone.commit.context import CommitContext
from skipstone.commit.staging import Staging
from skipstone.index.build import index_entries
from skipstone.index.columns import is_enabled
from skipstone.index.growth import grown_rollup
from skipstone.index.loading import remember_rollup, rollups_of
from skipstone.index.places import index_directory, rollup_path, sidecar_path
from skipstone.index.rollup import ManifestZones
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata


def stage_sidecar(entries: Any, manifest: ManifestFile, metadata: TableMetadata, staging: Staging) -> None:
    """Index a manifest that was just stored, from the entries in it."""
    directory = index_directory(metadata) if is_enabled(metadata) else None
    if directory is None:
        return
    try:
        made = index_entries(entries, manifest, metadata)
        if made is None:
            return
        if made.sidecar is not None:
            path = sidecar_path(directory, manifest.manifest_path)
            staging.store_beside(path, made.sidecar, owner=manifest.manifest_path)
        staging.zones[manifest.manifest_path] = made.zones
    except Exception:  # the commit goes on, whatever the index cannot take in
        return


def stage_rollup(
    listed: Sequence[ManifestFile],
    manifest_list: str,
    parent: Snapshot | None,
    metadata: TableMetadata,
    context: CommitContext,
) -> None:
    """Write the zones of a snapshot whose manifest list was just stored."""
    directory = index_directory(metadata) if is_enabled(metadata) else None
    if directory is None:
        return
    staging = context.staging
    try:
        before = () if parent is None else rollups_of(parent, metadata, context.storage, directory, [])
        zones: dict[str, ManifestZones] = staging.zones
        made = grown_rollup(listed, zones, before)
        if made is not None:
            path = rollup_path(directory, manifest_list)
            staging.store_beside(path, made.data, owner=manifest_list)
            remember_rollup(context.storage, made.at(path), len(made.data))
    except Exception:  # the commit goes on, whatever the index cannot take in
        return
