"""Rows in the order that a sort order says.

Law: rows are ordered by the transformed values, nulls where the field puts them, floats as the format orders them
(-NaN < -Infinity < … < -0.0 < 0.0 < … < NaN); rows that compare equal keep their order.

Spec: "Sorting".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import Unsupported
from skipstone.metadata.partitions.sorting import NullOrder, SortDirection, SortOrder, float_order_keys
from skipstone.metadata.partitions.transforms import UnknownTransform, VoidTransform
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DoubleType, FloatType, StructType
from skipstone.write.routing import source_column

_compute: Any = pc


def sort_table(table: pa.Table, order: SortOrder, schema: Schema, struct: StructType) -> pa.Table:
    """The rows of a table in this order; `struct` is the shape of the table."""
    if order.is_unsorted or table.num_rows < 2:
        return table
    table = table.combine_chunks()
    columns: list[Any] = []
    keys: list[tuple[str, str, str]] = []
    for field in order.fields:
        if isinstance(field.transform, VoidTransform):
            continue
        if isinstance(field.transform, UnknownTransform):
            raise Unsupported(
                f"Cannot sort rows by order {order.order_id}: it has the unknown transform {str(field.transform)!r}. "
                f"Replace the sort order first."
            )
        source = schema.field(field.source_id)
        column = apply_arrow(field.transform, source.type, source_column(table, struct, field.source_id))
        result = field.transform.result_type(source.type)
        columns.append(_comparable(column, is_float=isinstance(result, FloatType | DoubleType)))
        direction = "ascending" if field.direction is SortDirection.ASC else "descending"
        nulls = "at_start" if field.null_order is NullOrder.NULLS_FIRST else "at_end"
        keys.append((str(len(keys)), direction, nulls))
    if not keys:
        return table
    by = pa.table(columns, names=[name for name, _, _ in keys])
    return table.take(_compute.sort_indices(by, sort_keys=keys))


def _comparable(column: Any, *, is_float: bool) -> Any:
    """The column as Arrow orders it the way the format does."""
    if is_float:
        values = column.fill_null(0).to_numpy().astype(np.float64)
        nulls = column.is_null().to_numpy() if column.null_count else None
        return pa.array(float_order_keys(values), mask=nulls)
    if isinstance(column.type, pa.BaseExtensionType):
        made: Any = pa.chunked_array
        return made([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return column
