"""What files say about themselves: entries for a manifest from the footers of files that Spark wrote.

Laws: facts equal those that our own writer collects from the same rows. A footer is believed where it covers all
values; where one value hides the others (NaN, a text too long to keep), just that column is read back. All rows of a
file share a partition, so the kernel's transform of any one of them is the partition's value.

Spec: "Data File Fields", "Partitioning".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skipstone.metadata.formats.arrow_convert import convert_array
from skipstone.metadata.formats.arrow_types import arrow_to_value, values_to_array
from skipstone.metadata.manifests.manifest import DataFile
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    Value,
)
from skipstone.spark.footer_ids import add_ids
from skipstone.storage.protocol import Storage
from skipstone.write.files import added_files
from skipstone.write.metrics import MetricsPlan, TrackedColumn, count_nans, extremes, is_float
from skipstone.write.parquet import first_page
from skipstone.write.parquet_metrics import RowFacts, footer_metrics, statistic_value

_compute: Any = pc
# The least value of a row group is one of its values for these, and for short text.
_EXACT: Final = (BooleanType, IntType, LongType, DateType, TimestampType, TimestamptzType, DecimalType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """What is asked of every file of one job. `ids_by_path` are field ids that Spark did not write."""

    storage: Storage
    schema: Schema
    spec: PartitionSpec
    plan: MetricsPlan
    sort_order_id: int
    bound_bytes_max: int
    leaf_ids: tuple[int | None, ...]
    ids_by_path: tuple[tuple[str, int], ...] = ()

    def entries(self, files: Sequence[tuple[str, int]]) -> pa.Table:
        """Entries of files by path and size; files without rows have none."""
        found = [f for f in (self.entry(path, size) for path, size in files) if f is not None]
        return added_files(found, self.spec.partition_type(self.schema), self.spec.spec_id)

    def entry(self, path: str, size: int) -> DataFile | None:
        """The entry of one file, if it has rows. Files stay: a task that is tried again finds what it found."""
        if self.ids_by_path:
            size = add_ids(self.storage, path, size, dict(self.ids_by_path))
        with self.storage.open(path) as stream:
            opened: Any = pq.ParquetFile(stream)
            footer = opened.metadata
            if not footer.num_rows:
                return None
            metrics = footer_metrics(footer, self.plan, self._row_facts(opened))
            return DataFile(
                file_path=path,
                file_format="PARQUET",
                partition={f.field_id: self._partition_value(opened, f) for f in self.spec.fields},
                record_count=footer.num_rows,
                file_size_in_bytes=size,
                column_sizes=metrics.column_sizes,
                value_counts=metrics.value_counts,
                null_value_counts=metrics.null_value_counts,
                nan_value_counts=metrics.nan_value_counts,
                lower_bounds=metrics.lower_bounds,
                upper_bounds=metrics.upper_bounds,
                split_offsets=tuple(first_page(footer.row_group(i)) for i in range(footer.num_row_groups)),
                sort_order_id=self.sort_order_id,
            )

    # -- what the footer does not say

    def _row_facts(self, opened: Any) -> dict[int, RowFacts]:
        facts: dict[int, RowFacts] = {}
        for column in self.plan.tracked:
            if is_float(column.type):
                facts[column.field_id] = RowFacts()
            if (is_float(column.type) or column.has_bounds) and not _is_told(opened.metadata, column):
                facts[column.field_id] = _read_back(opened, column)
        return facts

    # -- partition values

    def _partition_value(self, opened: Any, field: PartitionField) -> Value:
        if field.is_void:
            return None
        source = self.schema.field(field.source_id)
        type_: Any = source.type
        value = self._any_value(opened, self.leaf_ids.index(source.id), type_)
        result = apply_arrow(field.transform, type_, values_to_array(type_, [value]))
        return arrow_to_value(field.transform.result_type(type_), result[0])

    def _any_value(self, opened: Any, leaf: int, type_: PrimitiveType) -> Value:
        chunk = opened.metadata.row_group(0).column(leaf)
        statistics = chunk.statistics
        if statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values:
            return None
        if statistics is not None and statistics.has_min_max and self._is_exact(type_, statistics.min_raw):
            return statistic_value(type_, statistics.min_raw)
        batch = next(opened.iter_batches(batch_size=1, columns=[chunk.path_in_schema]))
        column = _inside(batch.column(0))
        return arrow_to_value(type_, convert_array(column, type_, where=chunk.path_in_schema)[0])

    def _is_exact(self, type_: PrimitiveType, raw: Any) -> bool:
        if isinstance(type_, _EXACT):
            return True
        return isinstance(type_, StringType) and len(_bytes(raw)) < self.bound_bytes_max


def _bytes(raw: Any) -> bytes:
    return raw if isinstance(raw, bytes) else str(raw).encode()


def _is_told(footer: Any, column: TrackedColumn) -> bool:
    """Whether the footer bounds every value of the column that is there.

    Spark's writer orders NaN above all: a greatest value that is none proves that there is none.
    """
    for i in range(footer.num_row_groups):
        chunk = footer.row_group(i).column(column.file_column)
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return False
        if statistics.null_count == chunk.num_values:
            continue
        if not statistics.has_min_max:
            return False
        if is_float(column.type) and (math.isnan(statistics.min) or math.isnan(statistics.max)):
            return False
    return True


def _read_back(opened: Any, column: TrackedColumn) -> RowFacts:
    """Facts from the values of one column."""
    facts = RowFacts()
    for i in range(opened.metadata.num_row_groups):
        path = opened.metadata.row_group(i).column(column.file_column).path_in_schema
        read = opened.read_row_group(i, columns=[path]).column(0)
        values = _inside(read)
        values = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
        if is_float(column.type):
            facts.nans += count_nans(values)
        if column.has_bounds:
            facts.widen(column.type, *extremes(column.type, values))
    return facts


def _inside(column: Any) -> Any:
    """A leaf of a column that was read alone, null where a struct above it is."""
    while pa.types.is_struct(column.type):
        column = _compute.struct_field(column, [0])
    return column
