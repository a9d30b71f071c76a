"""Files judged by their partition tuples and their metrics: two verdicts a file, as columns beside its others.

The law: a file that holds a matching row is never told to hold none.

Spec: "Scan Planning".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import partition_codes, unified_type
from skipstone.plan.remapped import remapped_ids
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_partitions
from skipstone.zones.verdict import Proofs, Verdict
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow

BY_PARTITION: Final = "verdict.partition"
BY_ALL: Final = "verdict.all"
Verdicts = npt.NDArray[np.int8]


def judge_files(
    files: Any, *, predicate: Predicate, metadata: TableMetadata, schema: Schema, float_order: FloatOrder
) -> Any:
    """Files of any specs with their verdicts: metrics are looked at where the tuple leaves a match possible.

    Without a predicate there is nothing to judge.
    """
    if predicate == TRUE:
        return files
    by_partition = _by_partition(files, predicate, metadata, schema, float_order)
    left = by_partition != Verdict.NO_ROW_MATCHES
    rows = files if left.all() else files.filter(pa.array(left))
    by_all = by_partition.copy()
    by_all[left] = joined(
        by_partition[left], prove(predicate, metrics_of(rows, metadata, schema), float_order).verdicts()
    )
    for name, column in zip((BY_PARTITION, BY_ALL), verdict_columns(by_partition, by_all).columns, strict=True):
        files = files.append_column(name, column)
    return files


def joined(by_partition: Verdicts, by_metrics: Verdicts) -> Verdicts:
    """What both prove together: one says that none match, or one that all do."""
    none = (by_partition == Verdict.NO_ROW_MATCHES) | (by_metrics == Verdict.NO_ROW_MATCHES)
    return np.where(none, np.int8(Verdict.NO_ROW_MATCHES), np.maximum(by_partition, by_metrics))


def verdict_columns(by_partition: Verdicts, by_all: Verdicts) -> Any:
    return pa.table({BY_PARTITION: by_partition, BY_ALL: by_all})


def metrics_of(files: Any, metadata: TableMetadata, schema: Schema) -> ZoneMap:
    """Files as zones; metrics that may speak of another column are left out."""
    zones = from_manifest_table(files, schema)
    for field_id in remapped_ids(metadata):
        zones = zones.forget(field_id)
    return zones


def _by_partition(
    files: Any, predicate: Predicate, metadata: TableMetadata, schema: Schema, float_order: FloatOrder
) -> Verdicts:
    found = np.full(files.num_rows, np.int8(Verdict.UNKNOWN))
    spec_ids = files.column("spec_id").to_numpy()
    codes = partition_codes(files.column("spec_id"), files.column("partition"))
    for spec_id in np.unique(spec_ids).tolist():
        rows = np.flatnonzero(spec_ids == spec_id)
        # Many files share a tuple: judge each tuple once.
        first, where = np.unique(codes[rows], return_index=True, return_inverse=True)[1:]
        tuples = files.column("partition").combine_chunks().take(pa.array(rows[first]))
        zones = from_partitions(tuples, unified_type(metadata))
        proofs: Proofs = prove_partitions(predicate, metadata.spec(spec_id), schema, zones, float_order)
        found[rows] = proofs.verdicts()[where]
    return found
