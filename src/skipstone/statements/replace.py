"""REPLACE TABLE: another schema, partitioning and rows under the same name, as one commit.

The table keeps its id, its history and its properties: what it was can still be read by snapshot, and is not lost if
the statement fails. A column that keeps its name and type keeps its id; any other column gets an id that was never
used, because files of the past hold values of another column under the old one.

Spec: "Schema Evolution", "Partition Evolution".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skipstone.commit import ChangeMetadata, CommitContext, UpdateSortOrder, UpdateSpec
from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.sorting import build_sort_order
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import assign_fresh_ids
from skipstone.metadata.tables.metadata_changes import add_schema, set_current_schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.predicate.nodes import TRUE
from skipstone.statements.table_definition import FORMAT_VERSION, TableDefinition
from skipstone.table import Table


def replace_contents(table: Table, schema: Schema, frame: Any, definition: TableDefinition) -> None:
    """Give a table another definition and the rows of a frame, or none."""
    properties = dict(definition.properties)
    version = int(properties.pop(FORMAT_VERSION, table.format_version))
    if definition.location is not None and definition.location != table.location:
        raise InvalidInput(f"Cannot move table {table.name} to {definition.location}: a replaced table stays in place.")
    with table.transaction() as change:
        if version != table.format_version:
            change.upgrade(version)
        if table.current_snapshot is not None:
            change.delete(TRUE)
        # Partition fields and the order go before their columns do, and come when theirs are there.
        change.apply(UpdateSpec(change=_without_fields(table)))
        change.sort_by()
        change.apply(ChangeMetadata(operation="replacement of the schema", change=_schema_change(schema)))
        change.apply(UpdateSpec(change=lambda update: [update.add_term(t) for t in definition.partition_by]))
        change.apply(UpdateSortOrder(build=lambda s: build_sort_order(s, definition.sort_by)))
        if properties:
            change.set_properties(properties)
        if frame is not None:
            change.append(frame)


def _without_fields(table: Table) -> Any:
    names = [f.name for f in table.spec.fields if not f.is_void]
    return lambda update: [update.remove_field(name) for name in names]


def _schema_change(schema: Schema) -> Any:
    def change(base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        start = context.start
        if (base.current_schema_id, base.last_column_id) != (start.current_schema_id, start.last_column_id):
            raise context.conflict("replacement of the schema", "the schema was changed meanwhile")
        numbered = numbered_after(schema, current)
        changed, schema_id = add_schema(current, numbered)
        last = max([changed.last_column_id, *numbered.fields_by_id])
        return set_current_schema(replace(changed, last_column_id=last), schema_id)

    return change


def numbered_after(schema: Schema, metadata: TableMetadata) -> Schema:
    """The schema with the ids of the columns that stay as they are, and new ones for the others."""
    current, start = metadata.current_schema, metadata.last_column_id + 1
    alike = assign_fresh_ids(schema, start=start, base=current)
    kept = tuple(f for f in current.fields if (new := alike.find(f.name)) is not None and new.type == f.type)
    return assign_fresh_ids(schema, start=start, base=Schema(fields=kept))
