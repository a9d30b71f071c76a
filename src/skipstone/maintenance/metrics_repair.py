"""Entries of data files put right: facts in manifests that an audit has found to be wrong are exchanged.

Laws: not a row and not a file comes or goes. The same data file is listed again with its sequence numbers, snapshot id
and row ids; only facts that were wrong change. Where row ids are in use, a file keeps its record count if a greater one
would reach into the row ids of others.

Others may commit meanwhile: files that are gone by then need no repair.

Spec: "Data File Fields", "Snapshots", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow

from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, is_live
from skipstone.commit.merging import carried
from skipstone.commit.writing import store_entries
from skipstone.maintenance.relisting import Relisting
from skipstone.metadata.manifests.manifest import METRIC_COLUMNS, ManifestContent, ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata

pa: Any = pyarrow

RECORD_COUNT = "record_count"


@dataclass(frozen=True, kw_only=True, eq=False)
class RepairEntries(Relisting):
    """`right` has the facts to change by data file: entry columns, and for those about columns values by field id."""

    right: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def operation(self) -> str:
        return "repair of metrics"

    def relisted(
        self, before: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        return [m for manifest in before for m in self._repaired(manifest, metadata, context, snapshot_id)]

    def _repaired(
        self, manifest: ManifestFile, metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        if manifest.content != ManifestContent.DATA:
            return [manifest]
        key = ("repaired", self, metadata.format_version, manifest)
        return context.staging.once(key, lambda: self._rewrite(manifest, metadata, context, snapshot_id))

    def _rewrite(
        self, manifest: ManifestFile, metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        paths = entries_of(context.storage, metadata, manifest, columns=("status", "file_path"))
        if not any(p in self.right for p in paths.filter(pa.array(is_live(paths))).column("file_path").to_pylist()):
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


def with_facts(entries: Any, right: Mapping[str, Mapping[str, Any]]) -> Any:
    """The entries with right facts in place of wrong ones."""
    paths = entries.column("file_path").to_pylist()
    for name in {n for facts in right.values() for n in facts}:
        place = entries.schema.get_field_index(name)
        values = entries.column(name).to_pylist()
        for row, path in enumerate(paths):
            if name in right.get(path, {}):
                values[row] = _changed(entries, row, name, values[row], right[path][name])
        entries = entries.set_column(place, name, pa.array(values, entries.schema.field(name).type))
    return entries


def _changed(entries: Any, row: int, name: str, stored: Any, right: Any) -> Any:
    if name in METRIC_COLUMNS:
        by_column = {**dict(stored or ()), **right}
        return [(field_id, value) for field_id, value in by_column.items() if value is not None]
    if name == RECORD_COUNT and entries.column("first_row_id")[row].is_valid:
        return min(stored, right)
    return right
