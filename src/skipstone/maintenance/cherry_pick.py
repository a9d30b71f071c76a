"""Cherry-pick: what a snapshot did, done again on the current state. It is how staged writes are published.

A snapshot whose parent is current becomes current itself. Otherwise the files that it added are committed again: for
an append always, for an overwrite of whole partitions only while nobody else has changed them. Nothing is picked twice.

Write-audit-publish: a write with a `wap.id` adds a snapshot that no branch reaches; once looked at, it is picked by it.

Spec: "Snapshots", Appendix F "Optional Snapshot Summary Fields" (`source-snapshot-id`, `wap.id`, `published-wap-id`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow

from skipstone.commit.append import Append
from skipstone.commit.conflicts import Isolation
from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, integers, manifests_of
from skipstone.commit.overwrite import REPLACE_PARTITIONS, ReplacePartitions
from skipstone.commit.producer import WAP_ID
from skipstone.errors import InvalidInput, NotFound, Unsupported, what_exists
from skipstone.maintenance.branches import require_snapshot
from skipstone.maintenance.reachable import live_files
from skipstone.metadata.manifests.manifest import EntryStatus, ManifestContent
from skipstone.metadata.tables.history import ancestors_of, is_ancestor
from skipstone.metadata.tables.metadata_changes import set_ref
from skipstone.metadata.tables.refs import MAIN, branch
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import unified_type, unify_partition
from skipstone.plan.snapshot_manifests import partition_type_of
from skipstone.storage.paths import key_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

SOURCE_SNAPSHOT_ID: Final = "source-snapshot-id"
PUBLISHED_WAP_ID: Final = "published-wap-id"


@dataclass(frozen=True, kw_only=True, eq=False)
class CherryPick:
    """Do what a snapshot did again, on `main`."""

    snapshot_id: int

    @property
    def operation(self) -> str:
        return f"cherry-pick of snapshot {self.snapshot_id}"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        require_snapshot(base, current, self.snapshot_id, context, self.operation)
        picked = current.snapshot(self.snapshot_id)
        self._refuse_twice(current, picked)
        if picked.parent_snapshot_id == current.current_snapshot_id:
            known = current.refs.get(MAIN)
            ref = branch(self.snapshot_id) if known is None else replace(known, snapshot_id=self.snapshot_id)
            return set_ref(current, MAIN, ref)
        # The same change in every attempt, so that what one attempt staged the next one finds.
        change = context.staging.once(("cherry-pick", self), lambda: self._change(picked, current, context.storage))
        self._refuse_live(change.files, current, context.storage)
        return change.apply(_as_seen_by(picked, current), current, context)

    def _change(self, picked: Snapshot, metadata: TableMetadata, storage: Storage) -> Append | ReplacePartitions:
        summary = {SOURCE_SNAPSHOT_ID: str(self.snapshot_id)}
        wap_id = (picked.summary or {}).get(WAP_ID)
        if wap_id is not None:
            summary[PUBLISHED_WAP_ID] = wap_id
        if picked.operation == Operation.APPEND:
            return Append(files=added_files(picked, metadata, storage), summary=summary)
        if picked.operation == Operation.OVERWRITE and (picked.summary or {}).get(REPLACE_PARTITIONS) == "true":
            files = added_files(picked, metadata, storage)
            return ReplacePartitions(files=files, isolation=Isolation.SERIALIZABLE, summary=summary)
        raise Unsupported(
            f"Cannot cherry-pick snapshot {self.snapshot_id}: expected an append, an overwrite of partitions, or a "
            f"child of the current snapshot, got operation {picked.operation or 'unknown'} on snapshot "
            f"{picked.parent_snapshot_id}. Do the work again on the current table."
        )

    def _refuse_live(self, files: Any, metadata: TableMetadata, storage: Storage) -> None:
        """The history that would tell may have expired; the files themselves tell it too."""
        current = metadata.current_snapshot
        if current is None:
            return
        manifests = [m for m in manifests_of(storage, metadata, current) if m.content == ManifestContent.DATA]
        live = live_files(manifests, metadata, storage)
        there = [path for path in files.column("file_path").to_pylist() if key_of(path) in live]
        if there:
            raise InvalidInput(
                f"Cannot cherry-pick snapshot {self.snapshot_id}: {len(there)} of its files are in the table already, "
                f"such as {there[0]}."
            )

    def _refuse_twice(self, metadata: TableMetadata, picked: Snapshot) -> None:
        current = metadata.current_snapshot_id
        if current is None:
            return
        wap_id = (picked.summary or {}).get(WAP_ID)
        for snapshot in ancestors_of(metadata, current):
            summary = snapshot.summary or {}
            if snapshot.snapshot_id == self.snapshot_id:
                raise InvalidInput(
                    f"Cannot cherry-pick snapshot {self.snapshot_id}: the current snapshot descends from it already."
                )
            if summary.get(SOURCE_SNAPSHOT_ID) == str(self.snapshot_id):
                raise InvalidInput(
                    f"Cannot cherry-pick snapshot {self.snapshot_id}: it was picked already, as snapshot "
                    f"{snapshot.snapshot_id}."
                )
            if wap_id is not None and wap_id in (summary.get(WAP_ID), summary.get(PUBLISHED_WAP_ID)):
                raise InvalidInput(
                    f"Cannot publish wap.id {wap_id!r}: it was published already, as snapshot {snapshot.snapshot_id}."
                )


def staged_snapshot(metadata: TableMetadata, wap_id: str) -> Snapshot:
    """The snapshot that was staged under a write-audit-publish id."""
    staged: dict[str, list[Snapshot]] = {}
    for snapshot in metadata.snapshots:
        known = (snapshot.summary or {}).get(WAP_ID)
        if known is not None:
            staged.setdefault(known, []).append(snapshot)
    match staged.get(wap_id, []):
        case []:
            raise NotFound(
                f"Cannot find a staged snapshot with wap.id {wap_id!r}. {what_exists('Ids', wap_id, sorted(staged))}"
            )
        case [found]:
            return found
        case several:
            ids = ", ".join(str(s.snapshot_id) for s in several)
            raise InvalidInput(
                f"Cannot tell which snapshot wap.id {wap_id!r} means: expected one, got {len(several)}: {ids}. "
                "Cherry-pick one of them by its id."
            )


def added_files(snapshot: Snapshot, metadata: TableMetadata, storage: Storage) -> Any:
    """The data files that a snapshot added, as a commit takes them."""
    unified = unified_type(metadata)
    tables = []
    for manifest in manifests_of(storage, metadata, snapshot):
        if manifest.content != ManifestContent.DATA or manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        table: Any = entries_of(storage, metadata, manifest, maps=True)
        is_added = integers(table, "status") == EntryStatus.ADDED
        table = table.take(np.flatnonzero(is_added & (integers(table, "snapshot_id") == snapshot.snapshot_id)))
        spec = metadata.spec(manifest.partition_spec_id)
        tuples = unify_partition(table.column("partition"), partition_type_of(spec, metadata), unified)
        table = table.set_column(table.schema.get_field_index("partition"), "partition", tuples)
        tables.append(table.append_column("spec_id", pa.repeat(pa.scalar(spec.spec_id, pa.int32()), table.num_rows)))
    if not tables:
        raise InvalidInput(f"Cannot cherry-pick snapshot {snapshot.snapshot_id}: it added no data files.")
    return pa.concat_tables(tables)


def _as_seen_by(picked: Snapshot, current: TableMetadata) -> TableMetadata:
    """The table as the picked snapshot saw it, so that all that came since counts as done by others."""
    parent_id = picked.parent_snapshot_id
    if parent_id is None:
        refs = {name: ref for name, ref in current.refs.items() if name != MAIN}
        return replace(current, current_snapshot_id=None, refs=refs)
    if parent_id not in current.snapshots_by_id or not _is_current(parent_id, current):
        if picked.operation == Operation.OVERWRITE:
            raise InvalidInput(
                f"Cannot cherry-pick snapshot {picked.snapshot_id}: expected an overwrite based on an ancestor of the "
                f"current snapshot, got one based on snapshot {parent_id}."
            )
        return current
    return replace(current, current_snapshot_id=parent_id, refs={**current.refs, MAIN: branch(parent_id)})


def _is_current(snapshot_id: int, metadata: TableMetadata) -> bool:
    current = metadata.current_snapshot_id
    return current is not None and is_ancestor(metadata, ancestor_id=snapshot_id, snapshot_id=current)
