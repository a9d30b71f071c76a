"""The index of one manifest, made from its entries: a sidecar if it is large enough for one, and its zones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skipstone.index.blocks import cut_blocks
from skipstone.index.columns import indexed_ids
from skipstone.index.entry_facts import live_entries
from skipstone.index.identity import identity_of
from skipstone.index.rollup import ManifestRecord, ManifestZones
from skipstone.index.sidecar_write import write_sidecar
from skipstone.index.whole_zone import whole_zone
from skipstone.index.zone_rows import zone_rows
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.tables.properties import INDEX_SIDECAR_MIN_FILES, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestIndex:
    """`sidecar` is None for a manifest so small that reading it costs no more."""

    sidecar: bytes | None
    zones: ManifestZones


def index_entries(entries: Any, manifest: ManifestFile, metadata: TableMetadata) -> ManifestIndex | None:
    """The index of a manifest with these entries, as they are stored in it, metric maps included.

    None where the manifest has no live entry, is encrypted, or is odd in a way that only reading it can tell.
    """
    if manifest.key_metadata is not None:
        return None  # what is encrypted must not lie open beside it
    schema = metadata.current_schema
    spec = metadata.spec(manifest.partition_spec_id)
    type_ = spec.partition_type(schema, schemas=tuple(reversed(metadata.schemas)))
    ids = indexed_ids(metadata)
    if entries.num_rows < property_value(metadata.properties, INDEX_SIDECAR_MIN_FILES):
        rows, count = whole_zone(entries, ids, schema, manifest.manifest_path)
        record = ManifestRecord(identity=identity_of(manifest, count), has_sidecar=False)
        return ManifestIndex(sidecar=None, zones=ManifestZones(record=record, rows=rows)) if count else None
    live = live_entries(entries, ids=ids, schema=schema, partition_type=type_, source=manifest.manifest_path)
    if live is None or not len(live):
        return None
    sort = metadata.default_sort_order.fields
    blocks = cut_blocks(live, sort_id=sort[0].source_id if sort else None)
    identity = identity_of(manifest, len(live))
    record = ManifestRecord(identity=identity, has_sidecar=True, cut=blocks.cut)
    return ManifestIndex(
        sidecar=write_sidecar(live, blocks, identity),
        zones=ManifestZones(record=record, rows=zone_rows(live, blocks, schema)),
    )


def index_manifest(data: bytes, manifest: ManifestFile, metadata: TableMetadata) -> ManifestIndex | None:
    """The index of a stored manifest, whoever wrote it."""
    entries = read_manifest(
        data,
        source=manifest.manifest_path,
        schema=metadata.current_schema,
        spec=metadata.spec(manifest.partition_spec_id),
        maps=True,
    )
    return index_entries(entries, manifest, metadata)
