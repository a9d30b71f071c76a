"""Schemas that Iceberg Java evolved: the same changes made here lead to the same schemas, ids included."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.support.golden import GoldenTable, golden_tables

from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.metadata.types import Field, PrimitiveType, StructType


def table_metadata(table: GoldenTable) -> TableMetadata:
    return parse_table_metadata(table.metadata_file.read_bytes(), source=table.metadata_file.name)


def change(update: SchemaUpdate, before: Schema, after: Schema) -> None:
    """The calls that lead from one schema to the next, found by comparing ids."""
    for field_id in before.fields_by_id:
        above = before.parents_by_id.get(field_id)
        if field_id not in after.fields_by_id and (above is None or above in after.fields_by_id):
            update.delete_column(before.paths_by_id[field_id])
    for field_id, new in after.fields_by_id.items():
        old = before.find(field_id)
        if old is not None:
            _change_field(update, before.paths_by_id[field_id], old, new)
    for new in (f for f in after.fields_by_id.values() if f.id not in before.fields_by_id):
        above = after.parents_by_id.get(new.id)
        if above is None or above in before.fields_by_id:
            _add_field(update, () if above is None else before.paths_by_id[above], new)
    for names, struct in ((after.paths_by_id[f.id], f.type) for f in after.fields_by_id.values()):
        if isinstance(struct, StructType):
            _order(update, names, struct)
    _order(update, (), after.struct)


def _change_field(update: SchemaUpdate, path: tuple[str, ...], old: Field, new: Field) -> None:
    if isinstance(new.type, PrimitiveType) and old.type != new.type:
        update.update_column(path, new.type)
    if old.required != new.required or old.doc != new.doc:
        update.update_column(path, doc=new.doc, required=new.required)
    if old.write_default != new.write_default:
        update.set_default(path, new.write_default)
    if old.name != new.name:
        update.rename_column(path, new.name)


def _add_field(update: SchemaUpdate, parent: tuple[str, ...], new: Field) -> None:
    path = (*parent, new.name)
    update.add_column(path, new.type, doc=new.doc, required=new.required, default=new.initial_default)
    if new.write_default != new.initial_default:
        update.set_default(path, new.write_default)


def _order(update: SchemaUpdate, parent: tuple[str, ...], struct: StructType) -> None:
    for f, following in pairwise(struct.fields):
        update.move_after((*parent, following.name), (*parent, f.name))


EVOLVED = [t for t in golden_tables() if t.name.startswith(("v2_schema", "v3_defaults", "v2_migrated", "v2_name"))]


@pytest.mark.parametrize("table", EVOLVED, ids=str)
def test_the_same_changes_lead_to_the_same_schemas(table):
    metadata = table_metadata(table)
    schemas = sorted(metadata.schemas, key=lambda s: s.schema_id)
    last_column_id = schemas[0].highest_field_id
    for i, (before, after) in enumerate(pairwise(schemas), start=1):
        update = SchemaUpdate(
            before,
            last_column_id=last_column_id,
            format_version=metadata.format_version,
            schemas=schemas[:i],
            specs=metadata.partition_specs,
            default_spec_id=metadata.default_spec_id,
        )
        change(update, before, after)
        assert update.apply() == after
        last_column_id = update.last_column_id
    assert last_column_id == metadata.last_column_id


def test_most_of_the_changes_are_in_the_table_made_for_them():
    names = {t.name: len(table_metadata(t).schemas) for t in EVOLVED}
    assert names["v2_schema_evolution"] == 26
    assert names["v3_defaults"] == 35
