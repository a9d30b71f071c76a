"""Metrics of data files that tests write: counts and bounds from the rows, sizes from the Parquet footer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skipstone.metadata.formats.arrow_types import arrow_to_value, to_arrow_field
from skipstone.metadata.formats.parquet_types import to_parquet_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BinaryType,
    Field,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StringType,
    UnknownType,
    VariantType,
)
from skipstone.metadata.values import serialize_bound, truncate_lower, truncate_upper
from skipstone.metadata.values.geo import bounding_box

BOUND_WIDTH = 16


def column_values(rows: Sequence[Mapping[str, Any]], schema: Schema, leaf: Field) -> Any:
    """The values of a primitive column, null where a struct above it is."""
    path = schema.paths_by_id[leaf.id]
    top = to_arrow_field(schema.field(path[0]))
    array: Any = pa.array([row.get(path[0]) for row in rows], top.type)
    for name in path[1:]:
        array = pc.struct_field(array, name)
    return array


def metrics_of(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, Any]]:
    """Counts and bounds of every column that holds at most one value a row."""
    metrics: dict[str, dict[int, Any]] = {
        name: {} for name in ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    }
    for leaf in schema.primitive_leaves:
        if isinstance(leaf.type, UnknownType | VariantType):
            continue
        assert isinstance(leaf.type, PrimitiveType)
        values = [arrow_to_value(leaf.type, v) for v in column_values(rows, schema, leaf)]
        present = [v for v in values if v is not None]
        numbers = [v for v in present if not (isinstance(v, float) and math.isnan(v))]
        metrics["value_counts"][leaf.id] = len(values)
        metrics["null_value_counts"][leaf.id] = len(values) - len(present)
        if str(leaf.type) in ("float", "double"):
            metrics["nan_value_counts"][leaf.id] = len(present) - len(numbers)
        if isinstance(leaf.type, GeometryType | GeographyType):
            box = bounding_box(present)
            if box is not None:
                metrics["lower_bounds"][leaf.id] = serialize_bound(leaf.type, box[0])
                metrics["upper_bounds"][leaf.id] = serialize_bound(leaf.type, box[1])
        elif numbers:
            lower, upper = min(numbers, key=_order), max(numbers, key=_order)
            if isinstance(leaf.type, StringType | BinaryType):
                lower = truncate_lower(leaf.type, lower, BOUND_WIDTH)
                upper = truncate_upper(leaf.type, upper, BOUND_WIDTH)
            metrics["lower_bounds"][leaf.id] = serialize_bound(leaf.type, lower)
            if upper is not None:
                metrics["upper_bounds"][leaf.id] = serialize_bound(leaf.type, upper)
    return metrics


def _order(value: Any) -> Any:
    """-0.0 comes before 0.0, as bounds want it."""
    return (value, math.copysign(1, value)) if isinstance(value, float) else value


def column_sizes_of(path: Path, schema: Schema) -> dict[int, int]:
    ids = {dotted: node.field_id for dotted, node in to_parquet_schema(schema).leaves()}
    footer = pq.read_metadata(path)
    sizes: dict[int, int] = {}
    for group in range(footer.num_row_groups):
        for c in range(footer.num_columns):
            chunk = footer.row_group(group).column(c)
            field_id = ids.get(chunk.path_in_schema)
            if field_id is not None:
                sizes[field_id] = sizes.get(field_id, 0) + chunk.total_compressed_size
    return sizes
