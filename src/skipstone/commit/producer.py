"""A change of files becomes a snapshot: manifests staged, a manifest list for this attempt, a summary, a ref moved.

One engine for all kinds of changes. Each kind says which files come, which go, and what it assumes about the commits of
others (`Plan`); the rest is the same for all. Sequence number and row ids are taken from the metadata of the attempt
and stand in the manifest list only, so a retry rewrites nothing else.

Spec: "Snapshots", "Manifest Lists", "Sequence Numbers", "Row Lineage", Appendix F "Optional Snapshot Summary Fields".
"""

from __future__ import annotations

import importlib.metadata
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import pyarrow as pa

from skipstone.commit.added import FileGroup, groups_of, numbered
from skipstone.commit.conflicts import Conflicts
from skipstone.commit.context import CommitContext
from skipstone.commit.history import History, parent_of
from skipstone.commit.indexing import stage_rollup
from skipstone.commit.manifests import counted, manifests_of, remember_manifests
from skipstone.commit.merging import merge_manifests
from skipstone.commit.removal import Remaining, Removal, remove_files
from skipstone.commit.writing import store_entries
from skipstone.commit.written_schema import check_written_with
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_list import write_manifest_list
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.metadata_changes import add_snapshot, set_ref
from skipstone.metadata.tables.properties import PARTITION_SUMMARY_LIMIT, WAP_ENABLED, hint_value, property_value
from skipstone.metadata.tables.refs import MAIN, branch
from skipstone.metadata.tables.snapshot_ids import new_snapshot_id
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.summary import SummaryCollector
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.predicate.float_order import FloatOrder
from skipstone.write.settings import refuse_encryption

WAP_ID = "wap.id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a change did to the files of its parent snapshot."""

    added: Sequence[FileGroup]
    remaining: Remaining

    def adds(self, content: ManifestContent) -> bool:
        return any(g.content == content for g in self.added)

    def removes(self, content: ManifestContent) -> bool:
        return any(r.content == content for r in self.remaining.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which files come and go, and what must still hold when they do."""

    added: pa.Table | None = None
    removal: Removal = field(default_factory=Removal)
    data_sequence_number: int | None = None
    merges: bool = True
    check: Callable[[Conflicts, Effect], None] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SnapshotChange:
    """A change that adds a snapshot.

    `ref` is the branch to commit to, made if it is not there. `stage_only` adds the snapshot without moving any ref,
    for write-audit-publish; a `wap_id` does so too. `summary` is added to the snapshot's summary. `written_with` is
    the schema that new files were written with.
    """

    ref: str = MAIN
    stage_only: bool = False
    wap_id: str | None = None
    summary: Mapping[str, str] = field(default_factory=dict)
    float_order: FloatOrder = FloatOrder.IEEE
    written_with: Schema | None = None

    @property
    @abstractmethod
    def operation(self) -> str: ...

    @property
    def marks(self) -> Mapping[str, str]:
        """What this kind of change always says in the snapshot's summary."""
        return {}

    @abstractmethod
    def plan(self, current: TableMetadata, context: CommitContext) -> Plan: ...

    @abstractmethod
    def kind(self, effect: Effect) -> Operation: ...

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        self._check_target(current)
        refuse_encryption(current.properties)
        if self.written_with is not None:
            check_written_with(self.written_with, current.current_schema, self.operation)
        staging = context.staging
        snapshot_id = staging.once(("snapshot", self), lambda: new_snapshot_id(current.snapshots_by_id))
        plan = self.plan(current, context)
        parent = parent_of(current, self.ref)
        manifests = manifests_of(context.storage, current, parent)
        remaining = remove_files(manifests, plan.removal, metadata=current, context=context, snapshot_id=snapshot_id)
        groups = staging.once(("added", self, current.default_spec_id), lambda: groups_of(plan.added, current))
        effect = Effect(added=groups, remaining=remaining)
        if plan.check is not None:
            history = History(base, context, ref=self.ref, operation=self.operation)
            conflicts = Conflicts(history, context, self.operation, self.float_order)
            if remaining.partly_matching is not None:
                raise conflicts.partly_matching(remaining.partly_matching, plan.removal.predicate)
            plan.check(conflicts, effect)
        new = staging.once(
            ("new manifests", self, current.format_version),
            lambda: self._stage(groups, plan, current, context, snapshot_id),
        )
        listed = _live((*new, *remaining.manifests), current, context, snapshot_id)
        if plan.merges:
            listed = merge_manifests(listed, metadata=current, context=context, snapshot_id=snapshot_id)
        return self._publishable(current, context, snapshot_id, parent, listed, manifests, effect)

    def _stage(
        self,
        groups: Sequence[FileGroup],
        plan: Plan,
        metadata: TableMetadata,
        context: CommitContext,
        snapshot_id: int,
    ) -> list[ManifestFile]:
        return [
            manifest
            for group in groups
            for manifest in store_entries(
                numbered(group, plan.data_sequence_number, metadata),
                spec=group.spec,
                content=group.content,
                metadata=metadata,
                staging=context.staging,
                snapshot_id=snapshot_id,
            )
        ]

    def _publishable(
        self,
        current: TableMetadata,
        context: CommitContext,
        snapshot_id: int,
        parent: Snapshot | None,
        listed: tuple[ManifestFile, ...],
        before: tuple[ManifestFile, ...],
        effect: Effect,
    ) -> TableMetadata:
        has_row_ids = current.format_version >= 3
        written = write_manifest_list(
            listed,
            format_version=current.format_version,
            snapshot_id=snapshot_id,
            parent_snapshot_id=None if parent is None else parent.snapshot_id,
            sequence_number=current.next_sequence_number,
            first_row_id=current.next_row_id if has_row_ids else None,
        )
        location = context.staging.store_manifest_list(written.data, current, snapshot_id=snapshot_id)
        remember_manifests(location, written.manifests)
        stage_rollup(written.manifests, location, parent, current, context)
        snapshot = Snapshot(
            snapshot_id=snapshot_id,
            parent_snapshot_id=None if parent is None else parent.snapshot_id,
            sequence_number=current.next_sequence_number,
            # Clocks of writers differ; time in a table never runs backwards.
            timestamp_ms=max(context.now_ms, current.last_updated_ms),
            manifest_list=location,
            summary=self._summary(current, parent, written.manifests, before, effect),
            schema_id=current.current_schema_id,
            first_row_id=current.next_row_id if has_row_ids else None,
            added_rows=None if written.next_row_id is None else written.next_row_id - current.next_row_id,
        )
        changed = add_snapshot(current, snapshot)
        context.snapshots[snapshot_id] = written.manifests
        context.manifest_lists.append(location)
        if self.stage_only or self.wap_id is not None:
            return changed
        known = current.refs.get(self.ref)
        ref = branch(snapshot_id) if known is None else replace(known, snapshot_id=snapshot_id)
        return set_ref(changed, self.ref, ref)

    def _summary(
        self,
        metadata: TableMetadata,
        parent: Snapshot | None,
        listed: Sequence[ManifestFile],
        before: Sequence[ManifestFile],
        effect: Effect,
    ) -> dict[str, str]:
        collector = SummaryCollector(partition_limit=hint_value(metadata.properties, PARTITION_SUMMARY_LIMIT))
        schema, schemas = metadata.current_schema, metadata.schemas
        for group in effect.added:
            collector.add(group.entries, spec=group.spec, schema=schema, schemas=schemas)
        for removed in effect.remaining.removed:
            collector.remove(removed.entries, spec=removed.spec, schema=schema, schemas=schemas)
        known = {m.manifest_path for m in before}
        kept = sum(m.manifest_path in known for m in listed)
        collector.set_manifests(created=len(listed) - kept, kept=kept, replaced=len(before) - kept)
        own = {"engine-name": "skipstone", "engine-version": _version(), **self.marks, **self.summary}
        if self.wap_id is not None:
            own[WAP_ID] = self.wap_id
        previous = None if parent is None else (parent.summary or {})
        return collector.summary(self.kind(effect), previous, properties=own)

    def _check_target(self, metadata: TableMetadata) -> None:
        known = metadata.refs.get(self.ref)
        if known is not None and not known.is_branch:
            raise InvalidInput(
                f"Cannot commit {self.operation} to tag '{self.ref}': expected a branch. Tags never move."
            )
        if self.wap_id is not None and not property_value(metadata.properties, WAP_ENABLED):
            raise InvalidInput(
                f"Cannot stage {self.operation} with wap.id {self.wap_id!r}: expected table property "
                f"{WAP_ENABLED.key} to be true. Set it first."
            )
        if self.wap_id is not None and self.ref != MAIN:
            raise InvalidInput(
                f"Cannot stage {self.operation} with wap.id for branch '{self.ref}': expected no branch."
            )


def _live(
    manifests: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext, snapshot_id: int
) -> tuple[ManifestFile, ...]:
    """The manifests a new list names: those with live files, and this snapshot's own, all with their counts."""
    if metadata.format_version > 1:
        manifests = [_counted(m, metadata, context) for m in manifests]
    return tuple(m for m in manifests if m.added_snapshot_id == snapshot_id or not m.has_no_live_files)


def _counted(manifest: ManifestFile, metadata: TableMetadata, context: CommitContext) -> ManifestFile:
    if manifest.added_files_count is not None and manifest.added_rows_count is not None:
        return counted(context.storage, metadata, manifest)
    return context.staging.once(("counted", manifest), lambda: counted(context.storage, metadata, manifest))


@cache
def _version() -> str:
    return importlib.metadata.version("skipstone")
