"""New files as entries of manifests: a group for each partition spec and content.

The caller's table has the columns of a manifest's data files and `spec_id`, the partition spec each file was written
with. Sequence numbers and row ids stay null; readers inherit them from the manifest list of the attempt that wins.

Spec: "Manifest Entry Fields", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, TRACKING_COLUMNS, EntryStatus, ManifestContent
from skipstone.metadata.manifests.manifest_rows import empty_partitions, partition_arrow_type
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.plan.snapshot_manifests import partition_type_of

SPEC_ID: Final = "spec_id"
_FIELD_ID: Final = b"PARQUET:field_id"
_REQUIRED: Final = ("file_path", "file_format", "record_count", "file_size_in_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """Files of one partition spec and one kind of manifest, as complete entries."""

    spec: PartitionSpec
    content: ManifestContent
    entries: pa.Table


def groups_of(files: pa.Table | None, metadata: TableMetadata) -> list[FileGroup]:
    """The caller's new files by spec and content."""
    if files is None or files.num_rows == 0:
        return []
    _check_columns(files)
    return list(_groups(files, metadata))


def _check_columns(files: pa.Table) -> None:
    missing = [name for name in _REQUIRED if name not in files.column_names]
    if missing:
        raise InvalidInput(
            f"Cannot add files: expected the columns {', '.join(_REQUIRED)}, got none named {', '.join(missing)}."
        )
    keys = ["file_path"] + [name for name in ("content_offset",) if name in files.column_names]
    if files.num_rows > 1 and _distinct(files["file_path"]) < files.num_rows:
        # Deletion vectors share a file.
        counts = files.select(keys).group_by(keys).aggregate([([], "count_all")])
        doubled: Any = counts.filter(pc.field("count_all") > 1)
        if doubled.num_rows:
            raise InvalidInput(
                f"Cannot add file {doubled['file_path'][0].as_py()}: expected it once, got it "
                f"{doubled['count_all'][0].as_py()} times. Remove the duplicates."
            )


def _distinct(column: Any) -> int:
    count: Any = pc.count_distinct(column)
    return int(count.as_py())


def _groups(files: pa.Table, metadata: TableMetadata) -> Iterator[FileGroup]:
    for spec, of_spec in by_spec(files, metadata):
        is_delete = _integers(of_spec, "content", 0) != 0
        for content in ManifestContent:
            chosen = _rows(of_spec, is_delete == (content == ManifestContent.DELETES))
            if chosen.num_rows:
                entries = _entries(chosen, partition_type_of(spec, metadata))
                yield FileGroup(spec=spec, content=content, entries=entries)


def by_spec(files: pa.Table, metadata: TableMetadata) -> Iterator[tuple[PartitionSpec, pa.Table]]:
    """The files of each partition spec."""
    spec_ids = _integers(files, SPEC_ID, metadata.default_spec_id)
    for spec_id in np.unique(spec_ids):
        yield metadata.spec(int(spec_id)), _rows(files, spec_ids == spec_id)


def _rows(files: pa.Table, mask: Any) -> pa.Table:
    return files if mask.all() else files.take(np.flatnonzero(mask))


def _integers(files: pa.Table, name: str, default: int) -> Any:
    if name not in files.column_names:
        return np.full(files.num_rows, default)
    column: Any = files.column(name)
    return column.fill_null(default).to_numpy()


def _entries(files: pa.Table, partition_type: StructType) -> pa.Table:
    """Complete entries: added, without numbers, partition tuples with exactly the spec's fields."""
    count = files.num_rows
    columns: dict[str, Any] = {}
    for name, arrow in ENTRY_COLUMNS.items():
        if name == "status":
            columns[name] = pa.array(np.full(count, int(EntryStatus.ADDED), np.int32))
        elif name == "partition":
            columns[name] = partition_column(files, partition_type)
        elif name == "content" and name not in files.column_names:
            columns[name] = pa.array(np.zeros(count, np.int32))
        elif name in TRACKING_COLUMNS or name == "first_row_id" or name not in files.column_names:
            # A row id range belongs to the commit that adds the file: never taken over from where it was before.
            columns[name] = pa.nulls(count, arrow)
        else:
            columns[name] = files.column(name)
    return pa.table(columns)


def partition_column(files: pa.Table, partition_type: StructType) -> Any:
    """The partition tuples of files with exactly the spec's fields, from a struct that may have more."""
    count = files.num_rows
    if not partition_type.fields:
        return empty_partitions(count)
    wanted = partition_arrow_type(partition_type)
    if "partition" not in files.column_names:
        names = ", ".join(f.name for f in wanted)
        raise InvalidInput(f"Cannot add files: expected a column partition with the fields {names}, got none.")
    column: Any = files.column("partition")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    places = _places(column.type)
    flattened = column.flatten()
    children = []
    for f in wanted:
        place = places.get((f.metadata or {}).get(_FIELD_ID), places.get(f.name))
        if place is None:
            raise InvalidInput(
                f"Cannot add files: partition: expected the field {f.name} of the partition spec, got {column.type}."
            )
        child: Any = flattened[place]
        child = child.storage if isinstance(child, pa.ExtensionArray) else child
        children.append(child if child.type == f.type else _cast(child, f))
    return pa.StructArray.from_arrays(children, fields=list(wanted))


def _places(struct: Any) -> dict[Any, int]:
    """Where the children of the caller's struct are, by field id where they have one, and by name."""
    if not pa.types.is_struct(struct):
        raise InvalidInput(f"Cannot add files: partition: expected a struct, got {struct}.")
    places: dict[Any, int] = {}
    for i, f in enumerate(struct):
        field_id = (f.metadata or {}).get(_FIELD_ID)
        if field_id is not None:
            places.setdefault(field_id, i)
        places.setdefault(f.name, i)
    return places


def _cast(child: Any, field: Any) -> Any:
    try:
        return child.cast(field.type)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"Cannot add files: partition.{field.name}: expected {field.type}, got {child.type}: {error}."
        ) from error


def numbered(group: FileGroup, data_sequence_number: int | None, metadata: TableMetadata) -> pa.Table:
    """The group's entries; data files with the given sequence number instead of the snapshot's, if there is one."""
    if data_sequence_number is None or group.content == ManifestContent.DELETES or metadata.format_version == 1:
        return group.entries
    place = group.entries.schema.get_field_index("sequence_number")
    numbers = pa.array(np.full(group.entries.num_rows, data_sequence_number))
    return group.entries.set_column(place, "sequence_number", numbers)
