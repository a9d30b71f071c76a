"""Partition statistics: how many rows and files each partition holds, and between which bounds its columns lie.

Laws: one row for each spec and partition tuple that has files; `total_record_count` is there only if it is proven.
Counts of rows are of the files' records; zones speak of all records of the data files, deleted ones too, so they may
rule a partition out and never in by mistake.

Spec: "Partition Statistics", "Partition Statistics File".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.partitions.sorting import float_order_keys
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import DoubleType, FloatType, StructType
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate
from skipstone.stats.partition_layout import COUNTS, PARTITION, SPEC_ID, TOTAL_RECORD_COUNT
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_partitions
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatistics:
    """Statistics of one snapshot. `rows` has the spec's columns, one row a partition, `zones` a zone for each.

    `is_own` says that the counts were computed here, so that others can be added to them.
    """

    snapshot_id: int
    partition_type: StructType
    rows: Any
    zones: ZoneMap
    is_own: bool = True

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def take(self, places: npt.NDArray[np.int64]) -> PartitionStatistics:
        chosen = pa.array(places, pa.int64())
        return replace(self, rows=self.rows.take(chosen).combine_chunks(), zones=self.zones.take(chosen))

    def sorted(self) -> PartitionStatistics:
        """Ascending by partition, field by field, nulls first."""
        return self.take(sort_order(self.rows, self.partition_type))

    def is_sound(self) -> bool:
        """Whether no count is below zero, as sums of wrong parts could be."""
        return all((_numbers(self.rows, name) >= 0).all() for name in COUNTS if name in self.rows.column_names)

    def without_doubtful_totals(self) -> PartitionStatistics:
        """The same with `total_record_count` only where it can be believed.

        Other writers carry one from file to file, past deletes that came since. Theirs is believed where it is what
        the counts prove, ours where it can be true at all.
        """
        if TOTAL_RECORD_COUNT not in self.rows.column_names or not len(self):
            return self
        column = self.rows.column(TOTAL_RECORD_COUNT)
        totals, records = _numbers(self.rows, TOTAL_RECORD_COUNT), _numbers(self.rows, "data_record_count")
        if self.is_own:
            is_sure = (totals >= 0) & (totals <= records)
        else:
            is_sure = totals == records - _numbers(self.rows, "position_delete_record_count")
            is_sure &= _numbers(self.rows, "equality_delete_file_count") == 0
            is_sure &= _numbers(self.rows, "position_delete_file_count") == 0
        known = pa.array(totals, mask=~is_sure | column.is_null().to_numpy())
        at = self.rows.schema.get_field_index(TOTAL_RECORD_COUNT)
        return replace(self, rows=self.rows.set_column(at, TOTAL_RECORD_COUNT, known))

    def filter(
        self, predicate: Predicate, metadata: TableMetadata, schema: Schema, float_order: FloatOrder = FloatOrder.SPARK
    ) -> PartitionStatistics:
        """The partitions that can hold a row that matches, by their tuples and by the bounds of their columns."""
        keep = ~prove(predicate, self.zones, float_order).none.to_numpy(zero_copy_only=False)
        spec_ids = _numbers(self.rows, SPEC_ID)
        tuples = self.rows.column(PARTITION).combine_chunks()
        for spec_id in np.unique(spec_ids).tolist():
            if spec_id not in metadata.specs_by_id:
                continue
            places = np.flatnonzero(spec_ids == spec_id)
            zones = from_partitions(tuples.take(pa.array(places)), self.partition_type)
            proofs = prove_partitions(predicate, metadata.spec(spec_id), schema, zones, float_order)
            keep[places] &= ~proofs.none.to_numpy(zero_copy_only=False)
        return self.take(np.flatnonzero(keep))


def sort_order(rows: Any, partition_type: StructType) -> npt.NDArray[np.int64]:
    """The places of rows in ascending order of their partition, nulls first; equal tuples by spec."""
    tuples = rows.column(PARTITION)
    tuples = tuples.combine_chunks() if isinstance(tuples, pa.ChunkedArray) else tuples
    columns: dict[str, Any] = {}
    for place, field in enumerate(partition_type.fields):
        column = pc.struct_field(tuples, [place])
        if pa.types.is_null(column.type):
            continue
        if isinstance(field.type, FloatType | DoubleType):
            keys = float_order_keys(column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64))
            column = pa.array(keys, mask=column.is_null().to_numpy(zero_copy_only=False))
        columns[str(place)] = column.storage if isinstance(column, pa.ExtensionArray) else column
    columns[SPEC_ID] = rows.column(SPEC_ID)
    sort_keys = [(name, "ascending", "at_start") for name in columns]
    order: npt.NDArray[np.int64] = pc.sort_indices(pa.table(columns), sort_keys=sort_keys).to_numpy().astype(np.int64)
    return order


def _numbers(rows: Any, name: str) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = pc.fill_null(rows.column(name), 0).to_numpy().astype(np.int64)
    return numbers
