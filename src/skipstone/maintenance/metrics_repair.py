"""Entries of files put right: facts in manifests and manifest lists that an audit has found to be wrong are exchanged.

Laws: not a row and not a file comes or goes. The same data file is listed again with its sequence numbers, snapshot id
and row ids; only facts that were wrong change. Where row ids are in use, a file keeps its record count if a greater one
would reach into the row ids of others. A manifest that its list is wrong about is described anew before anything is
concluded from the description. Totals of the new snapshot are counted, because those before may be wrong.

Others may commit meanwhile: files that are gone by then need no repair.

Spec: "Data File Fields", "Snapshots", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow

from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, is_live
from skipstone.commit.merging import carried
from skipstone.commit.writing import store_entries
from skipstone.maintenance.relisting import Relisting
from skipstone.metadata.manifests.description import DESCRIBED_BY, described
from skipstone.metadata.manifests.manifest import METRIC_COLUMNS, ManifestFile
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.summary import TOTALLED, totals_of
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import read_live_entries
from skipstone.plan.snapshot_manifests import partition_type_of

pa: Any = pyarrow

RECORD_COUNT = "record_count"
# A data or delete file by its path; a deletion vector by where it is in the file as well, which it shares.
FileKey = str | tuple[str, int]
_KEY: Final = ("file_path", "content_offset")


@dataclass(frozen=True, kw_only=True, eq=False)
class RepairEntries(Relisting):
    """`right` has the facts to change by file: entry columns, and for those about columns values by field id.

    `misdescribed` are manifests that the manifest list is wrong about. With `recounts`, a snapshot is made for its
    totals alone, if they are wrong.
    """

    right: Mapping[FileKey, Mapping[str, Any]] = field(default_factory=dict)
    misdescribed: frozenset[str] = frozenset()
    recounts: bool = False

    @property
    def operation(self) -> str:
        return "repair of metrics"

    def relisted(
        self, before: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        return [
            m
            for manifest in before
            for m in self._repaired(self._described(manifest, metadata, context), metadata, context, snapshot_id)
        ]

    def _described(self, manifest: ManifestFile, metadata: TableMetadata, context: CommitContext) -> ManifestFile:
        if manifest.manifest_path not in self.misdescribed:
            return manifest
        entries = entries_of(context.storage, metadata, manifest, columns=DESCRIBED_BY)
        type_ = partition_type_of(metadata.spec(manifest.partition_spec_id), metadata)
        length = context.storage.size(manifest.manifest_path) if manifest.key_metadata is None else None
        right = described(manifest, entries, type_)
        return right if length is None else replace(right, manifest_length=length)

    def is_all_right(
        self, parent: Snapshot, manifests: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext
    ) -> bool:
        told = parent.summary or {}
        return not self.recounts or all(
            told.get(name, value) == value for name, value in _totals(manifests, metadata, context).items()
        )

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        changed = super().apply(base, current, context)
        snapshot_id = context.staging.once(("snapshot", self), lambda: -1)
        made = changed.snapshots_by_id.get(snapshot_id)
        if changed is current or made is None:
            return changed
        # What the parent says was counted with what was wrong.
        totals = _totals(context.snapshots[snapshot_id], changed, context)
        counted = replace(made, summary={**(made.summary or {}), **totals})
        return replace(changed, snapshots=tuple(counted if s is made else s for s in changed.snapshots))

    def _repaired(
        self, manifest: ManifestFile, metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        key = ("repaired", self, metadata.format_version, manifest)
        return context.staging.once(key, lambda: self._rewrite(manifest, metadata, context, snapshot_id))

    def _rewrite(
        self, manifest: ManifestFile, metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        files = entries_of(context.storage, metadata, manifest, columns=("status", *_KEY))
        if not any(key in self.right for key in _keys(files.filter(pa.array(is_live(files))))):
            return [manifest]
        entries = carried(entries_of(context.storage, metadata, manifest, maps=True), snapshot_id)
        return store_entries(
            with_facts(entries, self.right),
            spec=metadata.spec(manifest.partition_spec_id),
            content=manifest.content,
            metadata=metadata,
            staging=context.staging,
            snapshot_id=snapshot_id,
        )


def _totals(manifests: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext) -> dict[str, str]:
    return totals_of(read_live_entries(manifests, metadata, context.storage, columns=TOTALLED))


def _keys(entries: Any) -> list[FileKey]:
    paths, offsets = (entries.column(name).to_pylist() for name in _KEY)
    return [path if offset is None else (path, offset) for path, offset in zip(paths, offsets, strict=True)]


def with_facts(entries: Any, right: Mapping[FileKey, Mapping[str, Any]]) -> Any:
    """The entries with right facts in place of wrong ones."""
    keys = _keys(entries)
    for name in {n for facts in right.values() for n in facts}:
        place = entries.schema.get_field_index(name)
        values = entries.column(name).to_pylist()
        for row, key in enumerate(keys):
            if name in right.get(key, {}):
                values[row] = _changed(entries, row, name, values[row], right[key][name])
        entries = entries.set_column(place, name, pa.array(values, entries.schema.field(name).type))
    return entries


def _changed(entries: Any, row: int, name: str, stored: Any, right: Any) -> Any:
    if name in METRIC_COLUMNS:
        by_column = {**dict(stored or ()), **right}
        return [(field_id, value) for field_id, value in by_column.items() if value is not None]
    if name == RECORD_COUNT and entries.column("first_row_id")[row].is_valid:
        return min(stored, right)
    return right
