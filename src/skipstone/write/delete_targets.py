"""The data files that row deletes refer to: which spec and partition each belongs to.

A delete file or vector is tracked under the spec and partition of the data files it refers to, so these are taken over
as they are.

Spec: "Scan Planning", "Row-level Deletes".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.blobs.deletion_vector import Positions, bitmap_of
from skipstone.metadata.manifests.manifest import DataFile
from skipstone.metadata.manifests.manifest_rows import partition_values
from skipstone.metadata.partitions.partitioning import partition_key, unified_partition_type
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field, StructType
from skipstone.write.files import added_files

_FIELD_ID = b"PARQUET:field_id"


class DeleteTargets:
    """Data files by path: a table with at least `file_path`, `spec_id` and `partition`, as a scan plan has it."""

    def __init__(self, data_files: pa.Table, metadata: TableMetadata) -> None:
        self._metadata = metadata
        self._files = data_files
        paths: list[str] = data_files.column("file_path").to_pylist()  # type: ignore[assignment]
        self._rows = {path: row for row, path in enumerate(paths)}
        self._spec_ids: list[Any] = data_files.column("spec_id").to_pylist()
        column: Any = data_files.column("partition")
        self._partition: Any = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        self._type = _partition_type(self._partition.type, metadata)
        self._counts: list[Any] | None = None
        if "record_count" in data_files.column_names:
            self._counts = data_files.column("record_count").to_pylist()

    def row(self, path: str) -> int:
        found = self._rows.get(path)
        if found is None:
            raise NotFound(
                f"Cannot delete rows of {path}: it is not among the {len(self._rows)} data files given. "
                f"Plan a scan of the current snapshot and take its files."
            )
        return found

    def check(self, positions: Mapping[str, Positions]) -> dict[str, Any]:
        """The positions as bitmaps, none of them beyond the end of its file; files without any are left out."""
        checked: dict[str, Any] = {}
        for path, given in positions.items():
            row = self.row(path)
            bitmap = bitmap_of(given)
            if not bitmap:
                continue
            count = None if self._counts is None else self._counts[row]
            if count is not None and bitmap.max() >= count:
                raise InvalidInput(
                    f"Cannot delete row {bitmap.max()} of {path}: expected a position from 0 to {count - 1}."
                )
            checked[path] = bitmap
        return checked

    def groups(self, paths: Iterable[str]) -> list[list[str]]:
        """The paths by partition, in their order."""
        found: dict[Hashable, list[str]] = {}
        for path in paths:
            row = self.row(path)
            key = (self._spec_ids[row], partition_key(self._type, self._values(row)))
            found.setdefault(key, []).append(path)
        return list(found.values())

    def partition_path(self, path: str) -> str:
        """The directory of a data file's partition."""
        row = self.row(path)
        m = self._metadata
        spec = m.spec(self._spec_ids[row])
        return spec.partition_path(m.current_schema, self._values(row), schemas=m.schemas)

    def added(self, files: Sequence[DataFile], paths: Sequence[str]) -> pa.Table:
        """Delete files as a commit takes them; each lies in the partition of the data file named beside it."""
        rows = [self.row(path) for path in paths]
        table = added_files(files, StructType(()), [self._spec_ids[row] for row in rows])
        partition = self._partition.take(pa.array(rows, pa.int64()))
        return table.set_column(table.schema.get_field_index("partition"), "partition", partition)

    def _values(self, row: int) -> dict[int, Any]:
        return partition_values(self._partition.slice(row, 1), self._type)[0]


def _partition_type(arrow: Any, metadata: TableMetadata) -> StructType:
    """The types of the partition columns given, by field id where the Arrow fields tell it, else by name."""
    unified = unified_partition_type(metadata.partition_specs, metadata.current_schema, schemas=metadata.schemas)
    by_id = {f.id: f for f in unified.fields}
    by_name = {f.name: f for f in unified.fields}
    fields = []
    for f in arrow:
        text = (f.metadata or {}).get(_FIELD_ID)
        known = by_name.get(f.name) if text is None else by_id.get(int(text))
        if known is None:
            raise InvalidInput(f"Invalid partition of data files: the table has no partition field {f.name!r}.")
        fields.append(Field(id=known.id, name=f.name, type=known.type))
    return StructType(tuple(fields))
