"""Equality delete files: rows deleted by the values of columns, without knowing where they are.

Laws: delete columns are primitives outside lists and maps and no floats; a file under a partitioned spec deletes in its
own partition only, one under an unpartitioned spec deletes everywhere. A null deletes rows where the column is null.

Spec: "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import UNSORTED_ORDER_ID
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import DoubleType, FloatType, PrimitiveType
from skipstone.storage.protocol import Storage
from skipstone.write.conform import check_columns, conform_batch
from skipstone.write.files import added_files
from skipstone.write.locations import DataLocations
from skipstone.write.metrics import plan_metrics
from skipstone.write.metrics_modes import FULL, all_columns
from skipstone.write.rolling import FileKind, RollingFiles
from skipstone.write.routing import Router
from skipstone.write.rows import Rows, batches_of
from skipstone.write.settings import delete_settings


def write_equality_deletes(
    rows: Rows,
    *,
    metadata: TableMetadata,
    storage: Storage,
    equality_ids: Sequence[int],
    schema: Schema | None = None,
    spec: PartitionSpec | None = None,
    file_format: str | None = None,
    task: int = 0,
) -> pa.Table:
    """Delete files for these rows, ready for a commit.

    `rows` hold the delete columns and, under a partitioned spec, the columns that the partitions come from; all of
    them are stored. The spec is the table's default one unless given.
    """
    if metadata.format_version < 2:
        raise InvalidInput("Cannot write equality deletes to a v1 table: deletes need v2. Upgrade the table.")
    schema = metadata.current_schema if schema is None else schema
    spec = metadata.default_spec if spec is None else spec
    _check_delete_columns(schema, equality_ids)
    stored = _stored_schema(schema, spec, equality_ids)
    kind = FileKind(
        storage=storage,
        struct=stored.struct,
        settings=delete_settings(metadata.properties, file_format=file_format),
        # Readers skip delete files by these bounds: exact ones skip most.
        metrics=plan_metrics(stored.struct, all_columns(stored.struct, FULL)),
        content=FileContent.EQUALITY_DELETES,
        sort_order_id=UNSORTED_ORDER_ID,
        equality_ids=tuple(equality_ids),
    )
    router = Router(stored, spec, stored.struct)
    locations = DataLocations(metadata, task=task)
    target = to_arrow_schema(stored)
    opened: dict[Hashable, RollingFiles] = {}
    try:
        check_columns(rows.schema, stored.fields)
        for batch in batches_of(rows):
            for partition, part in router.route(conform_batch(batch, stored.fields, target)):
                files = opened.get(partition.key)
                if files is None:
                    path = partition.path
                    files = RollingFiles(kind, partition.values, _Namer(locations, path, kind.extension))
                    opened[partition.key] = files
                files.write(pa.Table.from_batches([part]))
        for files in opened.values():
            files.close()
        written = [f for files in opened.values() for f in files.files]
        return added_files(written, router.partition_type, spec.spec_id)
    except BaseException:
        for files in opened.values():
            files.abandon()
        raise


class _Namer:
    def __init__(self, locations: DataLocations, directory: str, extension: str) -> None:
        self._locations, self._directory, self._extension = locations, directory, extension

    def __call__(self) -> str:
        return self._locations.new(self._directory, self._extension, suffix="-deletes")


def _check_delete_columns(schema: Schema, equality_ids: Sequence[int]) -> None:
    if not equality_ids:
        raise InvalidInput("Cannot write equality deletes: expected at least one delete column, got none.")
    for field_id in equality_ids:
        f = schema.field(field_id)
        where = f"column '{schema.name_of(field_id)}' (id {field_id})"
        if not isinstance(f.type, PrimitiveType) or isinstance(f.type, FloatType | DoubleType):
            raise InvalidInput(
                f"Cannot delete by {where}: expected a primitive other than float and double, got {f.type}."
            )
        if schema.is_in_list_or_map(field_id):
            raise InvalidInput(f"Cannot delete by {where}: expected a column outside lists and maps, got one inside.")


def _stored_schema(schema: Schema, spec: PartitionSpec, equality_ids: Sequence[int]) -> Schema:
    sources = {i for f in spec.fields if not f.is_void for i in f.source_ids}
    wanted = [schema.name_of(i) for i in {*equality_ids, *sources}]
    return schema.select(wanted)
