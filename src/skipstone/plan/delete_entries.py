"""The delete files of a snapshot that a scan may need.

Delete manifests are read first: their equality columns decide which metrics of data files are worth reading.

Spec: "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.reserved import DELETE_FILE_PATH
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import DELETE_COLUMNS, empty_entries, read_live_entries
from skipstone.plan.indexed import read_entries
from skipstone.plan.question import Question
from skipstone.plan.remapped import without_remapped
from skipstone.plan.snapshot_manifests import prune_manifests, spec_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.storage.protocol import Storage
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.judge import prove
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute


def read_deletes(
    manifests: Sequence[ManifestFile],
    metadata: TableMetadata,
    storage: Storage,
    predicate: Predicate,
    schema: Schema,
    float_order: FloatOrder,
    *,
    data: Sequence[ManifestFile] | None = None,
    index_of: Snapshot | None = None,
) -> Any:
    """Live delete files with the bounds that help to match them, from manifests whose partitions can match.

    Of what cannot apply to any file of the manifests in `data` some is left out. With `index_of`, the skip index of
    that snapshot is read where it has the entries.
    """
    chosen = [m for m in manifests if m.content == ManifestContent.DELETES]
    chosen = chosen if data is None else [m for m in chosen if _can_apply(m, data)]
    if not chosen:
        return no_deletes(metadata)
    # Deletes of an unpartitioned spec reach every partition; their manifests have no summaries to be pruned by.
    verdicts = prune_manifests(chosen, predicate, metadata, schema, float_order)
    kept = [m for m, v in zip(chosen, verdicts) if v != Verdict.NO_ROW_MATCHES or spec_of(m, metadata).is_unpartitioned]

    def read(metrics: tuple[int, ...]) -> Any:
        if index_of is None:
            return read_live_entries(kept, metadata, storage, columns=DELETE_COLUMNS, metrics=metrics, schema=schema)
        question = Question(
            metadata=metadata,
            storage=storage,
            snapshot=index_of,
            schema=schema,
            predicate=TRUE,
            float_order=float_order,
            needed=metrics,
            columns=DELETE_COLUMNS,
        )
        return read_entries(kept, question, use_index=True).files

    deletes = read((DELETE_FILE_PATH.id,))
    ids = pc.unique(pc.list_flatten(deletes.column("equality_ids"))).to_pylist()
    if not ids:
        return deletes
    deletes = read((DELETE_FILE_PATH.id, *ids))
    told = without_remapped(deletes, metadata)
    return deletes.filter(pa.array(_may_matter(told, predicate, schema, float_order)))


def _can_apply(deletes: ManifestFile, data: Sequence[ManifestFile]) -> bool:
    """False where all data is newer than any delete of the manifest: deletes reach only what was there before."""
    return any(m.min_sequence_number <= deletes.sequence_number for m in data)


def no_deletes(metadata: TableMetadata) -> Any:
    return empty_entries(metadata, DELETE_COLUMNS)


def _may_matter(deletes: Any, predicate: Predicate, schema: Schema, float_order: FloatOrder) -> npt.NDArray[np.bool_]:
    """False for equality deletes whose keys no row that matches the predicate can have.

    Only the delete columns count: they are equal in every row a delete file removes, other columns need not be.
    """
    keep = np.ones(deletes.num_rows, bool)
    keys = deletes.column("equality_ids").combine_chunks()
    for ids in {tuple(k) for k in keys.to_pylist() if k}:
        rows = np.flatnonzero([tuple(k or ()) == ids for k in keys.to_pylist()])
        zones = from_manifest_table(deletes.take(pa.array(rows)), schema)
        known = replace(zones, columns={i: f for i, f in zones.columns.items() if i in ids})
        keep[rows] = ~prove(predicate, known, float_order).none.to_numpy(zero_copy_only=False)
    return keep
