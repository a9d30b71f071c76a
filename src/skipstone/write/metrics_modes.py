"""Which metrics of which column are collected: the properties `write.metadata.metrics.*`, resolved to field ids.

A column's own property wins. Without a default that somebody set, only the first columns have metrics
(`max-inferred-column-defaults`), those outside structs first; columns of the sort order keep bounds in any case,
because sorted files are what bounds are good for.

Spec: "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from skipstone.metadata.partitions.sorting import SortOrder
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.properties import (
    METRICS_COLUMN,
    METRICS_DEFAULT,
    METRICS_MAX_INFERRED_COLUMNS,
    MetricsMode,
    property_value,
)
from skipstone.metadata.types import Field, PrimitiveType, StructType, Type, children

FULL: Final = MetricsMode(kind="full")
NONE: Final = MetricsMode(kind="none")


def metrics_modes(schema: Schema, properties: Mapping[str, str], sort_order: SortOrder) -> dict[int, MetricsMode]:
    """The mode of every primitive column by field id; those without metrics are left out."""
    default = property_value(properties, METRICS_DEFAULT)
    ids = list(_inferred_order(schema.struct))
    if METRICS_DEFAULT.key not in properties:
        ids = ids[: property_value(properties, METRICS_MAX_INFERRED_COLUMNS)]
    modes = dict.fromkeys(ids, default)
    for field in sort_order.fields:
        if modes.get(field.source_id, NONE).kind in ("none", "counts"):
            modes[field.source_id] = METRICS_DEFAULT.default
    for key, text in properties.items():
        if key.startswith(METRICS_COLUMN.prefix):
            column = schema.find(key[len(METRICS_COLUMN.prefix) :])
            if column is not None:
                modes[column.id] = METRICS_COLUMN.value(key, text)
    return {field_id: mode for field_id, mode in modes.items() if mode.kind != "none"}


def _inferred_order(type_: Type) -> Iterator[int]:
    """Primitive columns in the order they are given metrics: a struct's own before those nested deeper."""
    nested: list[Field] = []
    for f in children(type_):
        if isinstance(f.type, PrimitiveType):
            yield f.id
        else:
            nested.append(f)
    for f in nested:
        yield from _inferred_order(f.type)


def all_columns(struct: StructType, mode: MetricsMode) -> dict[int, MetricsMode]:
    """One mode for every primitive column."""
    return dict.fromkeys(_inferred_order(struct), mode)
