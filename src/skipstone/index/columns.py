"""Which columns are indexed: those the table names, or the first 32 primitive ones with partition and sort columns."""

from __future__ import annotations

from typing import Final

from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.properties import INDEX_COLUMNS, INDEX_ENABLED, hint_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import GeographyType, GeometryType, PrimitiveType, UnknownType, VariantType

FIRST_COLUMNS: Final = 32
# Their bounds are no plain values.
_NOT_INDEXED: Final = (GeographyType, GeometryType, UnknownType, VariantType)


def is_enabled(metadata: TableMetadata) -> bool:
    return hint_value(metadata.properties, INDEX_ENABLED)


def indexed_ids(metadata: TableMetadata) -> tuple[int, ...]:
    """Field ids of the indexed columns, ascending. Names that the schema does not have are passed over."""
    schema = metadata.current_schema
    named = hint_value(metadata.properties, INDEX_COLUMNS)
    if named is not None:
        found = {f.id for name in named if (f := schema.find(name)) is not None}
        return tuple(sorted(i for i in found if can_index(schema, i)))
    first = [f.id for f in schema.primitive_leaves if can_index(schema, f.id)][:FIRST_COLUMNS]
    sources = [i for f in metadata.default_spec.fields for i in f.source_ids]
    sorts = [i for f in metadata.default_sort_order.fields for i in f.source_ids]
    return tuple(sorted({*first, *(i for i in (*sources, *sorts) if can_index(schema, i))}))


def can_index(schema: Schema, field_id: int) -> bool:
    field = schema.find(field_id)
    return (
        field is not None
        and isinstance(field.type, PrimitiveType)
        and not isinstance(field.type, _NOT_INDEXED)
        and not schema.is_in_list_or_map(field_id)
    )
