"""Changes of schema, partition spec and sort order.

They are computed from the schema the caller saw, ids included, so they hold only while nobody else has changed it: ids
that two writers gave out would mean different columns.

Spec: "Commit Conflict Resolution and Retry", "Schema Evolution", "Partition Evolution", "Sorting".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from skipstone.commit.context import CommitContext
from skipstone.metadata.partitions.partition_evolution import PartitionSpecUpdate
from skipstone.metadata.partitions.sorting import SortOrder
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.schemas.name_mapping import (
    NAME_MAPPING_PROPERTY,
    parse_name_mapping,
    serialize_name_mapping,
    update_name_mapping,
)
from skipstone.metadata.tables.column_properties import follow_schema
from skipstone.metadata.tables.metadata_changes import (
    add_schema,
    add_sort_order,
    add_spec,
    set_current_schema,
    set_default_sort_order,
    set_default_spec,
    set_properties,
)
from skipstone.metadata.tables.table_metadata import TableMetadata


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdateSchema:
    """Evolve the current schema. `change` makes its calls on the update it is given, anew in each attempt."""

    change: Callable[[SchemaUpdate], object]
    allow_incompatible: bool = False
    case_sensitive: bool = True

    @property
    def operation(self) -> str:
        return "schema update"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        _require_same_schema(base, context, self.operation)
        update = SchemaUpdate(
            current.current_schema,
            last_column_id=current.last_column_id,
            format_version=current.format_version,
            schemas=current.schemas,
            specs=current.partition_specs,
            default_spec_id=current.default_spec_id,
            sort_order=current.default_sort_order,
            allow_incompatible=self.allow_incompatible,
            case_sensitive=self.case_sensitive,
        )
        self.change(update)
        schema = update.apply()
        if schema.same_as(current.current_schema):
            return current
        changed, schema_id = add_schema(current, schema)
        # Ids that were given out and dropped again within one update are not given out twice.
        changed = replace(changed, last_column_id=max(changed.last_column_id, update.last_column_id))
        changed = replace(changed, properties=follow_schema(changed.properties, current.current_schema, schema))
        return _with_name_mapping(set_current_schema(changed, schema_id), schema)


def _with_name_mapping(metadata: TableMetadata, schema: Schema) -> TableMetadata:
    """Files without field ids are read by names: renamed columns keep their old ones, new columns get theirs."""
    text = metadata.properties.get(NAME_MAPPING_PROPERTY)
    if text is None:
        return metadata
    updated = serialize_name_mapping(update_name_mapping(parse_name_mapping(text), schema))
    return set_properties(metadata, {NAME_MAPPING_PROPERTY: updated})


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdateSpec:
    """Evolve the default partition spec. `change` makes its calls on the update it is given, anew in each attempt."""

    change: Callable[[PartitionSpecUpdate], object]
    case_sensitive: bool = True

    @property
    def operation(self) -> str:
        return "partition spec update"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        _require_same_schema(base, context, self.operation)
        start = context.start
        if (base.default_spec_id, base.last_partition_id) != (start.default_spec_id, start.last_partition_id):
            raise context.conflict(self.operation, "the partition specs were changed meanwhile")
        update = PartitionSpecUpdate(
            schema=current.current_schema,
            specs=current.partition_specs,
            default_spec_id=current.default_spec_id,
            format_version=current.format_version,
            last_partition_id=current.last_partition_id,
            case_sensitive=self.case_sensitive,
        )
        self.change(update)
        result = update.result()
        if result.spec.spec_id == current.default_spec_id:
            return current
        changed, spec_id = add_spec(current, result.spec)
        changed = replace(changed, last_partition_id=max(changed.last_partition_id, result.last_partition_id))
        return set_default_spec(changed, spec_id)


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdateSortOrder:
    """Set the default sort order. `build` makes it from the current schema, as `build_sort_order` does."""

    build: Callable[[Schema], SortOrder]

    @property
    def operation(self) -> str:
        return "sort order update"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        _require_same_schema(base, context, self.operation)
        if base.default_sort_order_id != context.start.default_sort_order_id:
            raise context.conflict(self.operation, "the sort order was changed meanwhile")
        changed, order_id = add_sort_order(current, self.build(current.current_schema))
        if changed is current and order_id == current.default_sort_order_id:
            return current
        return set_default_sort_order(changed, order_id)


def _require_same_schema(base: TableMetadata, context: CommitContext, operation: str) -> None:
    start = context.start
    if (base.current_schema_id, base.last_column_id) != (start.current_schema_id, start.last_column_id):
        raise context.conflict(
            operation, f"schema {start.current_schema_id} replaced schema {base.current_schema_id} meanwhile"
        )
