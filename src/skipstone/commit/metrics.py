"""Metric columns for entries that are in memory with their metric maps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from skipstone.commit.matching import metric_ids, verdicts_of_files, verdicts_of_partitions
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import PrimitiveType
from skipstone.metadata.values import parse_bounds_array
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate

_KINDS = {
    "value_count": "value_counts",
    "null_count": "null_value_counts",
    "nan_count": "nan_value_counts",
    "lower": "lower_bounds",
    "upper": "upper_bounds",
}


def verdicts_of_entries(
    predicate: Predicate,
    entries: pa.Table,
    metadata: TableMetadata,
    spec: PartitionSpec,
    float_order: FloatOrder,
    *,
    content: ManifestContent,
) -> Any:
    """What is proven about the rows that files hold, or, for delete files, about the rows that they may delete."""
    if content == ManifestContent.DELETES:
        # Metrics of deletes are those of the delete file, not of the rows that go.
        return verdicts_of_partitions(predicate, entries, metadata, spec, float_order)
    return verdicts_of_files(predicate, with_metrics(entries, predicate, metadata), metadata, spec, float_order)


def with_metrics(entries: pa.Table, predicate: Predicate, metadata: TableMetadata) -> pa.Table:
    """The entries with a typed column, such as "4.lower", for each metric that the predicate can use."""
    maps = {map_name: entries.column(map_name).to_pylist() for map_name in _KINDS.values()}
    for field_id in metric_ids(predicate, metadata):
        field = metadata.current_schema.field(field_id)
        if not isinstance(field.type, PrimitiveType):
            continue
        for kind, map_name in _KINDS.items():
            values = [None if pairs is None else dict(pairs).get(field_id) for pairs in maps[map_name]]
            if kind in ("lower", "upper"):
                raw = pa.array(values, pa.binary())
                column: Any = parse_bounds_array(field.type, raw, source="manifest", place=kind, on_bad="unknown")
            else:
                column = pa.array(values, pa.int64())
            entries = entries.append_column(f"{field_id}.{kind}", column)
    return entries
