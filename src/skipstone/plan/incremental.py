"""Files appended between two snapshots, for readers that follow a table.

Only appends are followed: a snapshot that removes data is refused, unless it is to be passed over; one that changes no
rows is passed over always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import EntryStatus, ManifestContent
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.history import snapshots_between
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.delete_entries import no_deletes
from skipstone.plan.entries import FILE_COLUMNS, read_live_entries
from skipstone.plan.file_verdicts import judge_files
from skipstone.plan.scan import ScanPlan, finish
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate, field_ids
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute


def plan_appends(
    metadata: TableMetadata,
    storage: Storage,
    *,
    after_id: int | None,
    up_to_id: int,
    schema: Schema,
    predicate: Predicate = TRUE,
    float_order: FloatOrder = FloatOrder.IEEE,
    skip_others: bool = False,
) -> ScanPlan:
    """A plan over the files that appends added after one snapshot (None: from the beginning) up to another."""
    between = snapshots_between(metadata, after_id=after_id, up_to_id=up_to_id)
    for snapshot in between:
        if snapshot.operation not in (Operation.APPEND, Operation.REPLACE) and not skip_others:
            raise InvalidInput(
                f"Cannot read appends up to snapshot {up_to_id}: snapshot {snapshot.snapshot_id} is "
                f"{snapshot.operation}, expected append or replace. Read the changes between the snapshots instead, or "
                f"pass skip_others=True for the appends alone."
            )
    return plan_added(
        metadata,
        storage,
        snapshots=[s for s in between if s.operation == Operation.APPEND],
        up_to=metadata.snapshot(up_to_id),
        schema=schema,
        predicate=predicate,
        float_order=float_order,
    )


def plan_added(
    metadata: TableMetadata,
    storage: Storage,
    *,
    snapshots: Sequence[Snapshot],
    up_to: Snapshot,
    schema: Schema,
    predicate: Predicate = TRUE,
    float_order: FloatOrder = FloatOrder.IEEE,
) -> ScanPlan:
    """A plan over the files that some snapshots have added, as they were when they came."""
    appended = {s.snapshot_id for s in snapshots}
    manifests = {
        m.manifest_path: m
        for s in snapshots
        for m in manifests_of(s, metadata, storage)
        if m.content == ManifestContent.DATA and m.added_snapshot_id in appended
    }

    def keep_new(table: Any) -> Any:
        is_new = np.isin(table.column("snapshot_id").to_numpy(), list(appended))
        added = table.column("status").to_numpy() == EntryStatus.ADDED
        return table.filter(pa.array(is_new & added))

    chosen = list(manifests.values())
    files = read_live_entries(
        chosen,
        metadata,
        storage,
        columns=(*FILE_COLUMNS, "snapshot_id"),
        metrics=tuple(field_ids(predicate)),
        schema=schema,
        keep=keep_new,
    )
    judging: dict[str, Any] = {"metadata": metadata, "schema": schema}
    return finish(
        judge_files(files, predicate=predicate, float_order=float_order, **judging),
        no_deletes(metadata),
        metadata=metadata,
        snapshot=up_to,
        schema=schema,
        predicate=predicate,
        float_order=float_order,
        levels=[],
    )
