"""A Spark DataFrame as data files of a table.

    check and fit the columns -> route and sort -> write natively -> harvest the footers -> entries for a commit

Laws: nothing is visible before the commit, which the caller makes once, on the driver. What a failed job leaves is
removed; what a killed one leaves, removing orphan files finds.

Spec: "Writing data files", "Partitioning", "Sorting".
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.formats.parquet_types import ParquetNode, to_parquet_schema
from skipstone.metadata.tables.properties import OBJECT_STORE_ENABLED, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType, UnknownType
from skipstone.spark.failures import told_as_ours
from skipstone.spark.file_sizes import rows_a_file
from skipstone.spark.fitting import fit_columns
from skipstone.spark.frames_in import apart, as_its_user_runs
from skipstone.spark.harvest import Harvest
from skipstone.spark.harvest_jobs import harvest
from skipstone.spark.layout import Layout, distributed, layout_of, with_keys
from skipstone.spark.merging import CASE_SENSITIVE
from skipstone.spark.native_write import CODECS, SCHEMES, bound_bytes_max, parquet_options, write_native
from skipstone.spark.progress import progress
from skipstone.spark.stored import has_lists_or_maps, is_native
from skipstone.spark.task_writes import write_in_tasks
from skipstone.storage.paths import scheme_of
from skipstone.storage.protocol import Storage
from skipstone.write.files import added_files
from skipstone.write.locations import data_location
from skipstone.write.metrics import plan_metrics
from skipstone.write.metrics_modes import metrics_modes
from skipstone.write.rows import lineage_fields
from skipstone.write.settings import WriteSettings, data_settings


def write_frame(
    frame: Any, *, metadata: TableMetadata, storage: Storage, name: str, with_lineage: bool = False
) -> pa.Table:
    """Write the rows of a DataFrame and return the entries of the files, ready for a commit.

    `with_lineage` takes the columns `_row_id` and `_last_updated_sequence_number` from the rows, for rows that move
    from other files; null inherits.
    """
    if frame.isStreaming:
        raise InvalidInput(
            f"Cannot write a streaming DataFrame to {name}: expected one that ends. "
            "Add each batch once: frame.writeStream.foreachBatch(skipstone.spark.batches_into(table))."
        )
    settings = data_settings(metadata.properties, metadata.current_schema)
    job = _Job(frame, metadata, storage, settings, with_lineage)
    with told_as_ours(), progress(frame.sparkSession, f"writing {name}"):
        tables = job.native() if _is_native(metadata, settings) else job.in_tasks()
    return pa.concat_tables(tables) if tables else job.nothing()


def _is_native(metadata: TableMetadata, settings: WriteSettings) -> bool:
    """Whether Spark's own writer makes files as the table asks for, in a place it can reach."""
    struct, location = metadata.current_schema.struct, data_location(metadata)
    scheme = scheme_of(location)
    if scheme == "memory":
        raise Unsupported(
            f"Cannot write to {location} with Spark: its files live in the memory of one process. "
            "Choose a location that Spark's tasks reach."
        )
    return (
        settings.file_format == "parquet"
        and settings.compression in CODECS
        and scheme in SCHEMES
        and not property_value(metadata.properties, OBJECT_STORE_ENABLED)
        and is_native(struct)
        and not (has_lists_or_maps(struct) and scheme != "file")
        and _has_plain_names_inside(to_parquet_schema(struct), metadata)
    )


def _has_plain_names_inside(node: ParquetNode, metadata: TableMetadata) -> bool:
    """Whether names inside columns are stored as they are. Columns themselves are renamed on the way."""
    known = metadata.current_schema.fields_by_id

    def plain(n: ParquetNode, *, is_column: bool) -> bool:
        is_right = is_column or n.field_id is None or known[n.field_id].name == n.name
        return is_right and all(plain(c, is_column=False) for c in n.children)

    return all(plain(c, is_column=True) for c in node.children)


class _Job:
    """One write of one frame."""

    def __init__(
        self, frame: Any, metadata: TableMetadata, storage: Storage, settings: WriteSettings, with_lineage: bool
    ) -> None:
        self._frame = frame
        self._metadata = metadata
        self._storage = storage
        self._settings = settings
        self._with_lineage = with_lineage
        self._schema = metadata.current_schema
        self._struct = stored_struct(metadata, with_lineage=with_lineage)
        self._is_case_sensitive = frame.sparkSession.conf.get(CASE_SENSITIVE).lower() == "true"

    def native(self) -> list[pa.Table]:
        """Files by Spark's writer, facts from their footers."""
        parquet = to_parquet_schema(self._struct)
        layout = layout_of(self._metadata, [n.name for n in parquet.children])
        modes = metrics_modes(self._schema, self._metadata.properties, layout.order)
        location = data_location(self._metadata)
        directory = f"{location}/{uuid.uuid4()}"
        job = Harvest(
            storage=self._storage,
            schema=self._schema,
            spec=layout.spec,
            plan=plan_metrics(self._struct, modes),
            sort_order_id=layout.order.order_id,
            bound_bytes_max=bound_bytes_max(self._schema, modes),
            leaf_ids=tuple(node.field_id for _, node in parquet.leaves()),
            ids_by_path=_ids_by_path(parquet) if has_lists_or_maps(self._schema.struct) else (),
        )
        try:
            with apart(self._frame, {}) as frame:
                rows = distributed(with_keys(self._fitted(frame, layout), layout), layout)
                write_native(
                    as_its_user_runs(rows, self._frame),
                    directory,
                    keys=layout.keys,
                    options=parquet_options(self._settings, self._schema, modes, location),
                    rows_a_file=rows_a_file(self._metadata, self._settings),
                )
            files = [(f.path, f.size_in_bytes) for f in self._storage.list(directory) if _is_data(f.path, directory)]
            tables = harvest(self._frame.sparkSession, files, job)
            with_rows = {path for table in tables for path in table.column("file_path").to_pylist()}
            self._storage.delete_many([path for path, _ in files if path not in with_rows])
            return tables
        except BaseException:
            self._remove(directory)
            raise

    def in_tasks(self) -> list[pa.Table]:
        """Files by our own writer in Spark's tasks."""
        names = [f.name for f in self._struct.fields]
        layout = layout_of(self._metadata, names)
        with apart(self._frame, {}) as frame:
            fitted = with_keys(self._fitted(frame, layout), layout)
            rows = distributed(fitted, layout, has_sorted_tasks=False).select(*_stored_columns(self._struct))
            rows = as_its_user_runs(rows, self._frame)
            return write_in_tasks(rows, metadata=self._metadata, storage=self._storage, with_lineage=self._with_lineage)

    def nothing(self) -> pa.Table:
        """The entries of no files."""
        return added_files([], self._metadata.default_spec.partition_type(self._schema), self._metadata.default_spec_id)

    def _fitted(self, frame: Any, layout: Layout) -> Any:
        fields = self._struct.fields
        return frame.select(*fit_columns(frame.schema, fields, layout.names, case_sensitive=self._is_case_sensitive))

    def _remove(self, directory: str) -> None:
        with suppress(OSError):
            self._storage.delete_many([f.path for f in self._storage.list(directory)])
            self._storage.remove_directory(directory)


def stored_struct(metadata: TableMetadata, *, with_lineage: bool) -> StructType:
    """The columns that files get: the table's, and those of row lineage where rows bring them."""
    schema = metadata.current_schema
    return StructType((*schema.fields, *lineage_fields(metadata, schema))) if with_lineage else schema.struct


def _stored_columns(struct: StructType) -> list[Any]:
    return [F.col("`" + f.name.replace("`", "``") + "`") for f in struct.fields if not isinstance(f.type, UnknownType)]


def _is_data(path: str, directory: str) -> bool:
    """Whether a path below the directory is a data file: Spark hides what is not."""
    return not any(part.startswith(("_", ".")) for part in path[len(directory) :].split("/"))


def _ids_by_path(node: ParquetNode, above: str = "") -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for child in node.children:
        path = f"{above}.{child.name}" if above else child.name
        if child.field_id is not None:
            found.append((path, child.field_id))
        found.extend(_ids_by_path(child, path))
    return tuple(found)
