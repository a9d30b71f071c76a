"""Metrics of data files as people read them: a struct for each column, with counts and typed bounds.

A bound that does not fit its column is null here: unknown, as it is for a scan.

Spec: "Data File Fields", "Bound serialization".
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow

from skipstone.inspect.entries import whole
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import PrimitiveType, UuidType, VariantType
from skipstone.metadata.values import bound_type

pa: Any = pyarrow

_COUNTS: Final = {
    "column_size": "column_size",
    "value_count": "value_count",
    "null_value_count": "null_count",
    "nan_value_count": "nan_count",
}
_BOUNDS: Final = {"lower_bound": "lower", "upper_bound": "upper"}


def measured_columns(schema: Schema) -> dict[str, int]:
    """The columns that have metrics, nested ones by their full name, in the order of their names."""
    found = {
        schema.name_of(i): i
        for i, f in schema.fields_by_id.items()
        if isinstance(f.type, PrimitiveType) and not isinstance(f.type, VariantType)
    }
    return dict(sorted(found.items()))


def empty_metrics(schema: Schema) -> dict[str, Any]:
    """The columns that a manifest without entries has, by field id and kind."""
    columns: dict[str, Any] = {}
    for field_id in measured_columns(schema).values():
        columns |= {f"{field_id}.{kind}": pa.array([], pa.int64()) for kind in _COUNTS.values()}
        bounds = bound_type(_primitive(schema, field_id))
        columns |= {f"{field_id}.{kind}": pa.array([], bounds) for kind in _BOUNDS.values()}
    return columns


def readable_metrics(entries: Any, schema: Schema) -> Any:
    """One struct an entry, from metrics by field id and kind."""
    names = measured_columns(schema)
    if not names:
        return pa.nulls(entries.num_rows)
    columns = [_column(entries, field_id, _primitive(schema, field_id)) for field_id in names.values()]
    return pa.StructArray.from_arrays(columns, names=list(names))


def _column(entries: Any, field_id: int, type_: PrimitiveType) -> Any:
    kinds = {**_COUNTS, **_BOUNDS}
    arrays = [whole(entries.column(f"{field_id}.{kind}")) for kind in kinds.values()]
    if isinstance(type_, UuidType):
        arrays[-2:] = [pa.ExtensionArray.from_storage(pa.uuid(), bound) for bound in arrays[-2:]]
    return pa.StructArray.from_arrays(arrays, names=list(kinds))


def _primitive(schema: Schema, field_id: int) -> PrimitiveType:
    type_ = schema.field(field_id).type
    assert isinstance(type_, PrimitiveType), type_
    return type_
