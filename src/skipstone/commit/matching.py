"""Which entries of a manifest a filter is about: by partition tuple and by metrics.

Spec: "Scan Planning", "Partition Values".
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
import pyarrow as pa

from skipstone.metadata.manifest import ManifestFile
from skipstone.metadata.manifest_rows import partition_values
from skipstone.metadata.partitioning import PartitionSpec, partition_key
from skipstone.metadata.table_metadata import TableMetadata
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate, field_ids
from skipstone.zones.build import from_field_summaries, from_manifest_table, from_partitions
from skipstone.zones.levels import prove_files, prove_partitions
from skipstone.zones.verdict import Verdict


def metric_ids(predicate: Predicate, metadata: TableMetadata) -> tuple[int, ...]:
    """The columns whose metrics can decide the predicate."""
    return tuple(i for i in sorted(field_ids(predicate)) if metadata.current_schema.find(i) is not None)


def verdicts_of_files(
    predicate: Predicate, entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec, float_order: FloatOrder
) -> Any:
    """What is proven about the rows of each data file; `entries` has their metric columns."""
    schema = metadata.current_schema
    proofs = prove_files(
        predicate,
        metrics=from_manifest_table(entries, schema),
        partitions=_tuples(entries, metadata, spec),
        spec=spec,
        schema=schema,
        float_order=float_order,
    )
    return proofs.verdicts()


def verdicts_of_partitions(
    predicate: Predicate, entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec, float_order: FloatOrder
) -> Any:
    """What is proven about any row in the partition of each file."""
    zones = _tuples(entries, metadata, spec)
    return prove_partitions(predicate, spec, metadata.current_schema, zones, float_order).verdicts()


def may_hold_match(
    predicate: Predicate, manifest: ManifestFile, metadata: TableMetadata, float_order: FloatOrder
) -> bool:
    """False if the manifest's partition summaries prove that no row of its files matches."""
    spec = metadata.spec(manifest.partition_spec_id)
    zones = from_field_summaries([manifest], spec.partition_type(metadata.current_schema, schemas=metadata.schemas))
    verdict = prove_partitions(predicate, spec, metadata.current_schema, zones, float_order).verdicts()[0]
    return bool(verdict != Verdict.NO_ROW_MATCHES)


def _tuples(entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec) -> Any:
    partition_type = spec.partition_type(metadata.current_schema, schemas=metadata.schemas)
    return from_partitions(_partition(entries), partition_type, spec)


def partition_keys(entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec) -> list[Hashable]:
    """A key for each entry's partition: equal keys, equal partitions."""
    if not spec.fields:
        return [()] * entries.num_rows
    partition_type = spec.partition_type(metadata.current_schema, schemas=metadata.schemas)
    return [partition_key(partition_type, v) for v in partition_values(_partition(entries), partition_type)]


def in_partitions(entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec, wanted: Collection[Hashable]) -> Any:
    """Which entries lie in one of the partitions."""
    return np.array([key in wanted for key in partition_keys(entries, metadata, spec)], np.bool_)


def _partition(entries: pa.Table) -> Any:
    column: Any = entries.column("partition")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column
