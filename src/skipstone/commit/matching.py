"""Which entries of a manifest a filter is about: by partition tuple and by metrics.

Spec: "Scan Planning", "Partition Values".
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_rows import partition_values
from skipstone.metadata.partitions.partitioning import PartitionSpec, partition_key
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import PrimitiveType, StructType, UnknownType
from skipstone.plan.remapped import without_remapped
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Column, In, IsNan, IsNull, Predicate, and_, field_ids, or_
from skipstone.zones.build import from_field_summaries, from_manifest_table, from_partitions
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_files, prove_partitions
from skipstone.zones.verdict import Verdict

# Partition tuples (values by partition field id) by the id of their spec.
Partitions: TypeAlias = Mapping[int, Sequence[Mapping[int, Any]]]


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
        metrics=from_manifest_table(without_remapped(entries, metadata), schema),
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


def manifests_that_may_hold(
    partitions: Partitions, manifests: Iterable[ManifestFile], metadata: TableMetadata
) -> set[str]:
    """The paths of manifests whose partition summaries do not prove that they hold none of the partitions."""
    found: set[str] = set()
    by_spec: dict[int, list[ManifestFile]] = {}
    for manifest in manifests:
        by_spec.setdefault(manifest.partition_spec_id, []).append(manifest)
    for spec_id, group in by_spec.items():
        tuples = partitions.get(spec_id)
        if not tuples:
            continue
        partition_type = metadata.spec(spec_id).partition_type(metadata.current_schema, schemas=metadata.schemas)
        zones = from_field_summaries(group, partition_type)
        kept = prove(_one_of(tuples, partition_type), zones, FloatOrder.SPARK).kept().to_pylist()
        found.update(m.manifest_path for m, is_kept in zip(group, kept, strict=True) if is_kept)
    return found


def _one_of(tuples: Sequence[Mapping[int, Any]], partition_type: StructType) -> Predicate:
    """A predicate on partition fields that every one of the tuples matches."""
    parts: list[Predicate] = []
    for f in partition_type.fields:
        if not isinstance(f.type, PrimitiveType) or isinstance(f.type, UnknownType):
            continue
        column = Column(field_id=f.id, type=f.type, name=f.name)
        values = [t.get(f.id) for t in tuples]
        plain = tuple({v for v in values if v is not None and v == v})
        options: list[Predicate] = [In(column, plain)] if plain else []
        if None in values:
            options.append(IsNull(column))
        if any(v != v for v in values):
            options.append(IsNan(column))
        parts.append(or_(*options))
    return and_(*parts)


def tuples_of(entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec) -> list[dict[int, Any]]:
    """The partition tuples of entries, by partition field id."""
    if not spec.fields:
        return [{}] * entries.num_rows
    partition_type = spec.partition_type(metadata.current_schema, schemas=metadata.schemas)
    return partition_values(_partition(entries), partition_type)


def _tuples(entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec) -> Any:
    partition_type = spec.partition_type(metadata.current_schema, schemas=metadata.schemas)
    return from_partitions(_partition(entries), partition_type, spec)


def partition_keys(entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec) -> list[Hashable]:
    """A key for each entry's partition: equal keys, equal partitions."""
    if not spec.fields:
        return [()] * entries.num_rows
    partition_type = spec.partition_type(metadata.current_schema, schemas=metadata.schemas)
    return [partition_key(partition_type, v) for v in tuples_of(entries, metadata, spec)]


def in_partitions(entries: pa.Table, metadata: TableMetadata, spec: PartitionSpec, wanted: Collection[Hashable]) -> Any:
    """Which entries lie in one of the partitions."""
    return np.array([key in wanted for key in partition_keys(entries, metadata, spec)], np.bool_)


def _partition(entries: pa.Table) -> Any:
    column: Any = entries.column("partition")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column
