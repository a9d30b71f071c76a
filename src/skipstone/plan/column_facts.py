"""All that a plan knows about one column of its files: their metrics, and the partition values that fix it.

A column that a file is partitioned by identity has one value in every row of the file, told exactly. It is preferred to
the metrics, which may be truncated or missing.

Spec: "Partition Transforms", "Column Projection".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput, NotFound, what_exists
from skipstone.metadata.partitions.transforms import IdentityTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import PrimitiveType
from skipstone.metadata.values import bound_type
from skipstone.plan.entries import unified_type
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.nodes import Column
from skipstone.zones.build.manifests import known_count
from skipstone.zones.build.partitions import one_value_zones
from skipstone.zones.zone_map import FACTS, ColumnFacts, ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute


def column_named(name: str, schema: Schema, *, what: str, table: str, case_sensitive: bool = True) -> Column:
    """The primitive column of a name, for something that needs one value a row."""
    field = schema.find(name, case_sensitive=case_sensitive)
    if field is None:
        names = [".".join(path) for path in schema.paths_by_id.values()]
        raise NotFound(f"Cannot {what} {name!r} in {table}: no such column. {what_exists('Columns', name, names)}")
    if not isinstance(field.type, PrimitiveType) or schema.is_in_list_or_map(field.id):
        raise InvalidInput(
            f"Cannot {what} field {field.id} '{schema.name_of(field.id)}' of {table}: expected one primitive value a "
            f"row, got {field.type}. Name a primitive column outside lists and maps."
        )
    is_nested = field.id in schema.parents_by_id
    return Column(field_id=field.id, type=field.type, name=schema.name_of(field.id), is_nested=is_nested)


def zones_of(plan: ScanPlan, column: Column) -> ZoneMap:
    """The files of a plan as zones with all that is known about one column."""
    rows = known_count(_one(plan.files.column("record_count")))
    known = None if plan.facts is None else plan.facts.columns.get(column.field_id)
    facts = known if known is not None and known.type == column.type else ColumnFacts(type=column.type)
    fixed = None if column.is_nested else fixed_by_partition(plan, column)
    if fixed is not None:
        facts = _preferring(fixed[1], fixed[0], facts, rows)
    if _is_required(plan.schema, column) and facts.null_count is None:
        facts = replace(facts, null_count=pa.repeat(pa.scalar(0, pa.int64()), len(plan)))
    return ZoneMap(num_zones=len(plan), row_count=rows, columns={column.field_id: facts})


def fixed_by_partition(plan: ScanPlan, column: Column) -> tuple[npt.NDArray[np.bool_], Any] | None:
    """Which files have one value of the column in all their rows, and that value, as bounds are held."""
    unified = unified_type(plan.metadata)
    spec_ids = plan.files.column("spec_id").to_numpy()
    tuples = _one(plan.files.column("partition"))
    is_fixed = np.zeros(len(plan), bool)
    values: Any = None
    for spec_id in np.unique(spec_ids).tolist():
        for field in plan.metadata.spec(spec_id).fields:
            if field.source_ids != (column.field_id,) or not isinstance(field.transform, IdentityTransform):
                continue
            place = next(i for i, f in enumerate(unified.fields) if f.id == field.field_id)
            found = _partition_values(tuples, place, column)
            if found is None:
                continue
            here = spec_ids == spec_id
            values = found if values is None else pc.if_else(pa.array(here), found, values)
            is_fixed |= here
    return None if values is None else (is_fixed, values)


def _partition_values(tuples: Any, place: int, column: Column) -> Any | None:
    """The values of one partition field in the form of the column's bounds; None if they have another type."""
    values = pc.struct_field(tuples, [place])
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    return values if values.type == bound_type(column.type) else None


def _preferring(values: Any, where: npt.NDArray[np.bool_], facts: ColumnFacts, rows: Any) -> ColumnFacts:
    one = one_value_zones(0, facts.type, values).columns[0]
    scaled = replace(
        one,
        null_count=pc.multiply(one.null_count, rows),
        nan_count=pc.multiply(one.nan_count, rows),
        value_count=rows,
    )
    chosen = pa.array(where)
    joined: dict[str, Any] = {}
    for name in FACTS:
        told, metric = getattr(scaled, name), getattr(facts, name)
        if told is not None:
            other = pa.scalar(None, told.type) if metric is None else metric
            joined[name] = pc.if_else(chosen, told, other)
        else:
            joined[name] = metric
    return ColumnFacts(type=facts.type, **joined)


def _is_required(schema: Schema, column: Column) -> bool:
    field = schema.find(column.field_id)
    return field is not None and field.required and all(a.required for a in schema.ancestors(field.id))


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
