"""Manifests rewritten: small ones merged, and files of one partition put side by side, so that plans read fewer.

Laws: not a file comes or goes. Entries keep their snapshot id, sequence numbers and row ids, written out; entries of
deleted files, which only told what their snapshot did, are left behind. A manifest holds files of one partition spec
and of one content, as before.

Others may commit meanwhile. What they added stays beside the rewritten manifests; where they replaced a manifest that
was taken in, its group is rewritten anew from what is there now. So a rewrite contradicts nobody.

Spec: "Manifests", "Snapshots", "Commit Conflict Resolution and Retry", "Sequence Number Inheritance", "First Row ID
Inheritance".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.catalog.protocol import Catalog, LoadedTable
from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of
from skipstone.commit.merging import carried
from skipstone.commit.outcome import Committed
from skipstone.commit.producer import Effect
from skipstone.commit.retry import Timing
from skipstone.commit.transaction import Transaction
from skipstone.commit.writing import store_entries
from skipstone.maintenance.relisting import Relisting
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.tables.properties import MANIFEST_TARGET_SIZE_BYTES, property_value
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel
from skipstone.plan.snapshot_manifests import partition_type_of
from skipstone.zones.build.summaries import from_field_summaries

pa: Any = pyarrow
pc: Any = pyarrow.compute

ENTRIES_PROCESSED: Final = "entries-processed"
Group = tuple[ManifestContent, int]  # content and partition spec id


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestReport:
    """How many manifests were taken in, and how many hold their files now."""

    rewritten: int = 0
    added: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class RewriteManifests(Relisting):
    """Merge the manifests of a branch and cluster them by partition. A table that is tidy stays as it is."""

    @property
    def operation(self) -> str:
        return "rewrite of manifests"

    def relisted(
        self, before: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        done = self._groups(before, metadata, context, snapshot_id)
        taken = {m.manifest_path for group in done for m in group.taken}
        kept = [m for m in before if m.manifest_path not in taken]
        return [*kept, *(m for group in done for m in group.made)]

    def _groups(
        self, manifests: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext, snapshot_id: int
    ) -> list[_Rewritten]:
        """What is rewritten: by an earlier attempt where all it took in is still there, else now."""
        known: dict[Group, _Rewritten] = context.staging.once(("rewritten", self, metadata.format_version), dict)
        listed = set(manifests)
        by_group: dict[Group, list[ManifestFile]] = {}
        for manifest in manifests:
            by_group.setdefault((manifest.content, manifest.partition_spec_id), []).append(manifest)
        for group, of_group in by_group.items():
            if group in known and listed.issuperset(m for m in known[group].taken if not m.has_no_live_files):
                continue
            known.pop(group, None)
            if not is_tidy(of_group, metadata):
                known[group] = _rewrite(of_group, metadata, context, snapshot_id)
        return [done for group, done in known.items() if group in by_group]

    def _summary(
        self,
        metadata: TableMetadata,
        parent: Snapshot | None,
        listed: Sequence[ManifestFile],
        before: Sequence[ManifestFile],
        effect: Effect,
    ) -> dict[str, str]:
        summary = super()._summary(metadata, parent, listed, before, effect)
        there = {m.manifest_path for m in before}
        new = [m for m in listed if m.manifest_path not in there]
        return {**summary, ENTRIES_PROCESSED: str(sum(m.existing_files_count or 0 for m in new))}


def rewrite_manifests(
    catalog: Catalog, base: LoadedTable, change: RewriteManifests, *, timing: Timing | None = None
) -> tuple[LoadedTable, ManifestReport]:
    """Commit a rewrite; the table afterwards, and what was done."""
    transaction = Transaction(catalog, base, timing=timing)
    try:
        transaction.add(change)
    except BaseException:
        transaction.discard()
        raise
    outcome = transaction.commit()
    table = outcome.unwrap()
    if not isinstance(outcome, Committed) or not outcome.snapshot_ids:
        return table, ManifestReport()
    summary = table.metadata.snapshot(outcome.snapshot_ids[0]).summary or {}
    rewritten, added = (int(summary[f"manifests-{word}"]) for word in ("replaced", "created"))
    return table, ManifestReport(rewritten=rewritten, added=added)


def is_tidy(manifests: Sequence[ManifestFile], metadata: TableMetadata) -> bool:
    """Whether a rewrite would gain nothing: as few manifests as their size asks for, no dead entries, and clustered."""
    if any(m.deleted_files_count != 0 for m in manifests):
        return False
    size_max = property_value(metadata.properties, MANIFEST_TARGET_SIZE_BYTES)
    if len(manifests) > math.ceil(sum(m.manifest_length for m in manifests) / size_max):
        return False
    return len(manifests) == 1 or _is_clustered(manifests, metadata)


def _is_clustered(manifests: Sequence[ManifestFile], metadata: TableMetadata) -> bool:
    """Whether the first partition field's values lie apart in all manifests, as far as their summaries tell."""
    partition_type = partition_type_of(metadata.spec(manifests[0].partition_spec_id), metadata)
    zones = from_field_summaries(list(manifests), partition_type)
    for field in partition_type.fields:
        facts = zones.columns.get(field.id)
        if facts is None or facts.lower is None or facts.upper is None:
            continue
        order = pc.sort_indices(facts.lower)
        lower, upper = (bounds.take(order).to_pylist() for bounds in (facts.lower, facts.upper))
        return all(u is not None and low is not None and u <= low for u, low in zip(upper, lower[1:]))
    return True


@dataclass(frozen=True, slots=True)
class _Rewritten:
    taken: tuple[ManifestFile, ...]
    made: tuple[ManifestFile, ...]


def _rewrite(
    manifests: Sequence[ManifestFile], metadata: TableMetadata, context: CommitContext, snapshot_id: int
) -> _Rewritten:
    # Oldest first, so that files of one partition come in the order they were added.
    oldest_first = list(reversed(manifests))
    read = partial(entries_of, context.storage, metadata, maps=True)
    parts = [carried(entries, snapshot_id) for entries in in_parallel(read, oldest_first)]
    entries = pa.concat_tables(parts).combine_chunks()
    made = store_entries(
        entries.take(_by_partition(entries)),
        spec=metadata.spec(manifests[0].partition_spec_id),
        content=manifests[0].content,
        metadata=metadata,
        staging=context.staging,
        snapshot_id=snapshot_id,
    )
    return _Rewritten(tuple(manifests), tuple(made))


def _by_partition(entries: Any) -> Any:
    """The order that puts files of one partition side by side; files of the same keep theirs."""
    column = entries.column("partition")
    partition = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    # A struct array of one chunk may still come as a chunked one.
    partition = pa.concat_arrays(partition.chunks) if isinstance(partition, pa.ChunkedArray) else partition
    children = {f"p{i}": child for i, child in enumerate(partition.flatten()) if not pa.types.is_null(child.type)}
    if not children:
        return pa.array(np.arange(entries.num_rows))
    keys = [(name, "ascending") for name in children]
    return pc.sort_indices(pa.table(children), sort_keys=keys)
