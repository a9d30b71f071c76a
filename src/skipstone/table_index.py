"""The skip index of a table, as its user meets it: `table.index.status()`, `table.index.tighten()`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow

from skipstone.hosts import spark_host
from skipstone.index.cleaning import index_files
from skipstone.index.columns import indexed_ids, is_enabled
from skipstone.index.loading import forget_opened, rollups_of
from skipstone.index.places import index_directory
from skipstone.maintenance.indexing import IndexReport, Run, build_index
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.refs import MAIN
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.loosened import LEVELS, Level, count_loosened, zones_with_deletes
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """What the index of a snapshot covers, and how well.

    `delete_files` loosen it: bounds still enclose rows that such files delete. `loosened` tells how many zones of each
    level they do so to, `TableIndex.zones` which ones. Compacting the data tightens them.
    `notes` tell of index files that cannot be used.
    """

    is_enabled: bool
    directory: str | None
    columns: tuple[str, ...]
    manifests: int
    manifests_indexed: int
    sidecars: int
    zones: int
    delete_files: int
    loosened: Mapping[Level, int]
    size_in_bytes: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableIndex:
    """The index of one table, as of when the table was loaded."""

    metadata: TableMetadata
    storage: Storage

    def build(
        self,
        *,
        snapshot_id: int | None = None,
        ref: str | None = None,
        rebuild: bool = False,
        run: Run | None = None,
        spark: Any = None,
    ) -> IndexReport:
        """Index what is not indexed; nothing of the table is rewritten.

        With a Spark session a large table is indexed by its tasks; `run` maps the work over machines of your own.
        """
        snapshot = self._snapshot(snapshot_id, ref)
        if spark is not None and run is None:
            where = self.metadata.location
            run = spark_host(f"index {where} with Spark").index_in_tasks(spark, table=where)
        return build_index(self.metadata, self.storage, snapshot, run=run, rebuild=rebuild)

    def tighten(self, *, snapshot_id: int | None = None, ref: str | None = None) -> IndexReport:
        """Make every zone anew, for the columns that the table indexes now, in one roll-up."""
        return self.build(snapshot_id=snapshot_id, ref=ref, rebuild=True)

    def status(self, *, snapshot_id: int | None = None, ref: str | None = None) -> IndexStatus:
        snapshot, metadata, notes = self._snapshot(snapshot_id, ref), self.metadata, list[str]()
        manifests = () if snapshot is None else manifests_of(snapshot, metadata, self.storage)
        directory = index_directory(metadata)
        rollups: tuple[Any, ...] = ()
        if snapshot is not None and directory is not None:
            rollups = rollups_of(snapshot, metadata, self.storage, directory, notes)
        found = {m.manifest_path: (r, p) for m in manifests for r in rollups if (p := r.find(m)) is not None}
        delete_files = sum(
            (m.added_files_count or 0) + (m.existing_files_count or 0)
            for m in manifests
            if m.content == ManifestContent.DELETES
        )
        return IndexStatus(
            is_enabled=is_enabled(metadata),
            directory=directory,
            columns=tuple(metadata.current_schema.name_of(i) for i in indexed_ids(metadata)),
            manifests=len(manifests),
            manifests_indexed=len(found),
            sidecars=sum(r.header.manifests[p].has_sidecar for r, p in found.values()),
            zones=sum(r.num_rows for r in rollups),
            delete_files=delete_files,
            loosened=count_loosened(metadata, self.storage, snapshot) if delete_files else dict.fromkeys(LEVELS, 0),
            size_in_bytes=sum(info.size_in_bytes for info in index_files(metadata, self.storage)),
            notes=tuple(notes),
        )

    def zones(
        self, level: Level = "partitions", *, snapshot_id: int | None = None, ref: str | None = None
    ) -> pyarrow.Table:
        """The zones of a level, each with how many of its files delete files take rows from.

        A zone that is loosened has bounds that hold, and that no row that is left need have.
        """
        found: pyarrow.Table = zones_with_deletes(self.metadata, self.storage, self._snapshot(snapshot_id, ref), level)
        return found

    def drop(self) -> int:
        """Remove every index file, of all snapshots. Results stay the same."""
        paths = [info.path for info in index_files(self.metadata, self.storage)]
        self.storage.delete_many(paths)
        forget_opened()
        return len(paths)

    def _snapshot(self, snapshot_id: int | None, ref: str | None) -> Any:
        if snapshot_id is not None:
            return self.metadata.snapshot(snapshot_id)
        return self.metadata.ref_snapshot(ref or MAIN)
