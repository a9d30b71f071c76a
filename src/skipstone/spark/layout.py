"""Which rows go to which task, in which order: the table's partitions, sort order and distribution as a DataFrame.

Hidden columns hold the partition keys. Spark names directories after them and leaves them out of the files; a
partition's own source column stays in, as the format asks.

Spec: "Partitioning", "Sorting"; table property `write.distribution-mode`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from pyspark.sql import functions as F

from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import UNSORTED, NullOrder, SortDirection, SortOrder
from skipstone.metadata.partitions.transforms import UnknownTransform, VoidTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.properties import DISTRIBUTION_MODE, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import DoubleType, FloatType
from skipstone.spark.routing import add_key, directory_key
from skipstone.spark.scan_names import quoted
from skipstone.write.routing import path_to

_SORT_PREFIX: Final = "sort_key_"
# A directory's name has 255 bytes, most of which are for the value.
_NAME_BYTES_MAX: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where rows go. `names` are the columns' names in the frame, in the schema's order."""

    schema: Schema
    spec: PartitionSpec
    order: SortOrder
    mode: str
    names: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The hidden columns of the partition keys: of every field but void ones."""
        taken = {n.lower() for n in self.names}
        found: list[str] = []
        for f in self.spec.fields:
            if not f.is_void:
                name = f.name if len(quote(f.name)) <= _NAME_BYTES_MAX else f"by_{f.field_id}"
                # What begins like this is hidden from those who look for files.
                while name.lower() in taken or name.startswith(("_", ".")):
                    name = f"by_{name}"
                taken.add(name.lower())
                found.append(name)
        return tuple(found)

    def source(self, field_id: int) -> Any:
        """The column of a field at any depth of structs."""
        place, *below = path_to(self.schema.struct, field_id)
        column = F.col(quoted(self.names[place]))
        struct: Any = self.schema.struct.fields[place].type
        for i in below:
            column = column.getField(struct.fields[i].name)
            struct = struct.fields[i].type
        return column


def layout_of(metadata: TableMetadata, names: Sequence[str]) -> Layout:
    """The layout a table's properties ask for."""
    spec, order = metadata.default_spec, metadata.default_sort_order
    spec.check_writable()
    if any(isinstance(f.transform, UnknownTransform) for f in order.fields):
        order = UNSORTED
    return Layout(
        schema=metadata.current_schema, spec=spec, order=order, mode=_mode(metadata, spec, order), names=tuple(names)
    )


def _mode(metadata: TableMetadata, spec: PartitionSpec, order: SortOrder) -> str:
    chosen = property_value(metadata.properties, DISTRIBUTION_MODE)
    if chosen is not None:
        return chosen
    if not order.is_unsorted:
        return "range"
    return "none" if spec.is_unpartitioned else "hash"


def with_keys(frame: Any, layout: Layout) -> Any:
    """The frame with the hidden columns of its partition keys."""
    keys = iter(layout.keys)
    for f in layout.spec.fields:
        if f.is_void:
            continue
        key, source = next(keys), layout.schema.field(f.source_id)
        frame = add_key(frame, f.transform, source.type, layout.source(source.id), key)
        frame = directory_key(frame, f.transform.result_type(source.type), key)
    return frame


def distributed(frame: Any, layout: Layout, *, has_sorted_tasks: bool = True) -> Any:
    """The frame with rows brought together by partition or order, and sorted within each task."""
    columns = frame.columns
    frame, sorting = _with_sort_keys(frame, layout)
    keys = [F.col(quoted(k)) for k in layout.keys]
    if layout.mode == "range" and (keys or sorting):
        frame = frame.repartitionByRange(*[k.asc() for k in keys], *sorting)
    elif layout.mode == "hash" and keys:
        frame = frame.hint("rebalance", *keys)
    if sorting and has_sorted_tasks:
        frame = frame.sortWithinPartitions(*keys, *sorting)
    return frame.drop(*[c for c in frame.columns if c not in columns])


def _with_sort_keys(frame: Any, layout: Layout) -> tuple[Any, list[Any]]:
    sorting: list[Any] = []
    for i, f in enumerate(layout.order.fields):
        if isinstance(f.transform, VoidTransform):
            continue
        source, name = layout.schema.field(f.source_id), f"{_SORT_PREFIX}{i}"
        while name in frame.columns:
            name = f"by_{name}"
        frame = add_key(frame, f.transform, source.type, layout.source(source.id), name)
        key = F.col(quoted(name))
        sorting.append(_ordered(key, f))
        if isinstance(source.type, FloatType | DoubleType):
            # Spark takes -0.0 for 0.0; the format puts it before.
            is_above = F.when(key == 0, ~key.cast("string").startswith("-")).otherwise(F.lit(True))
            sorting.append(_ordered(is_above, f))
    return frame, sorting


def _ordered(key: Any, field: Any) -> Any:
    nulls_first = field.null_order is NullOrder.NULLS_FIRST
    if field.direction is SortDirection.ASC:
        return key.asc_nulls_first() if nulls_first else key.asc_nulls_last()
    return key.desc_nulls_first() if nulls_first else key.desc_nulls_last()
