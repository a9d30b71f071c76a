"""Columns whose metrics may speak of another column: those that a changed name mapping took names from.

The metrics of an imported file are kept under the ids that its columns had when it was added. When a later mapping
gives such a name to another field, the file's column is read as that field, and the metrics of the first say nothing
about what is read.

Spec: "Column Projection", "Name Mapping Serialization".
"""

from __future__ import annotations

from typing import Any

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


def without_remapped(entries: Any, metadata: TableMetadata) -> Any:
    """Entries of manifests without the metric columns ("4.lower") that may be another column's."""
    hidden = {str(field_id) for field_id in remapped_ids(metadata)}
    names = [name for name in entries.column_names if "." in name and name.partition(".")[0] in hidden]
    return entries.drop_columns(names) if names else entries
