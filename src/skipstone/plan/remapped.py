"""Columns whose metrics may speak of another column: those that a changed name mapping took names from.

The metrics of an imported file are kept under the ids that its columns had when it was added. When a later mapping
gives such a name to another field, the file's column is read as that field, and the metrics of the first say nothing
about what is read.

Spec: "Column Projection", "Name Mapping Serialization".
"""

from __future__ import annotations

from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY, parse_name_mapping
from skipstone.metadata.tables.table_metadata import TableMetadata


def remapped_ids(metadata: TableMetadata) -> set[int]:
    """Fields that once had a name which the name mapping gives to another field now."""
    text = metadata.properties.get(NAME_MAPPING_PROPERTY)
    if text is None:
        return set()
    mapping = parse_name_mapping(text)
    found: set[int] = set()
    for schema in metadata.schemas:
        for field_id, path in schema.paths_by_id.items():
            mapped = mapping.find(*path)
            if mapped is not None and mapped.field_id != field_id:
                found.add(field_id)
    return found
