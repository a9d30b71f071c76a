"""Manifest entries as Python values and as an Arrow table, both ways.

The Arrow form has the columns of `ENTRY_COLUMNS`; `partition` is a struct with one child per partition field, typed by
the field and carrying its id. Nothing is lost in either direction.

Spec: "Manifest Entry Fields", "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import (
    ENTRY_COLUMNS,
    METRIC_COLUMNS,
    TRACKING_COLUMNS,
    DataFile,
    EntryStatus,
    FileContent,
    ManifestEntry,
)
from skipstone.metadata.types import PrimitiveType, StructType, UuidType
from skipstone.metadata.values import bound_type

_TUPLES: Final = frozenset({"split_offsets", "equality_ids"})
_FILE_COLUMNS: Final = tuple(f.name for f in fields(DataFile))


@lru_cache(maxsize=64)
def partition_arrow_type(partition_type: StructType) -> pa.StructType:
    """The Arrow type of the `partition` column."""
    return pa.struct(
        [
            pa.field(f.name, _arrow_type(f.type), metadata={b"PARQUET:field_id": str(f.id).encode()})
            for f in partition_type.fields
        ]
    )


def empty_partitions(length: int) -> pa.Array[Any]:
    """The `partition` column of an unpartitioned table."""
    return pa.array([{}] * length, pa.struct([]))


def entries_to_arrow(entries: Iterable[ManifestEntry], partition_type: StructType) -> pa.Table:
    """Entries as the Arrow table of a manifest."""
    rows = list(entries)
    files = [entry.data_file for entry in rows]
    columns: dict[str, Any] = {}
    for name, arrow in ENTRY_COLUMNS.items():
        if name == "partition":
            columns[name] = partitions_to_arrow(files, partition_type)
        elif name in METRIC_COLUMNS:
            columns[name] = _array([_items(getattr(f, name)) for f in files], arrow, name)
        else:
            holders: Sequence[Any] = rows if name in TRACKING_COLUMNS else files
            columns[name] = _array([getattr(h, name) for h in holders], arrow, name)
    return pa.table(columns)


def arrow_to_entries(table: pa.Table, partition_type: StructType) -> list[ManifestEntry]:
    """The entries of a manifest's Arrow table. Columns that are not there count as null."""
    values = {name: _column_values(table, name, partition_type) for name in ENTRY_COLUMNS if name in table.column_names}
    names = [n for n in _FILE_COLUMNS if n in values]
    tracking = [n for n in TRACKING_COLUMNS[1:] if n in values]
    entries = []
    for row in range(table.num_rows):
        data_file = DataFile(**{name: values[name][row] for name in names})
        entries.append(
            ManifestEntry(
                status=EntryStatus(values["status"][row]),
                data_file=data_file,
                **{name: values[name][row] for name in tracking},
            )
        )
    return entries


def partition_values(partition: Any, partition_type: StructType) -> list[dict[int, Any]]:
    """Partition tuples by field id. Columns match by name."""
    children: dict[str, Any] = dict(zip((f.name for f in partition.type), partition.flatten(), strict=True))
    columns = {f.id: _python_values(children[f.name], f.type) for f in partition_type.fields}
    return [{field_id: column[row] for field_id, column in columns.items()} for row in range(len(partition))]


def _column_values(table: pa.Table, name: str, partition_type: StructType) -> list[Any]:
    column: Any = table.column(name)
    if name == "partition":
        return [values for chunk in column.chunks for values in partition_values(chunk, partition_type)]
    plain: list[Any] = column.to_pylist()
    if name in METRIC_COLUMNS:
        return [None if pairs is None else dict(pairs) for pairs in plain]
    if name in _TUPLES:
        return [None if items is None else tuple(items) for items in plain]
    if name == "content":
        return [FileContent(c or 0) for c in plain]
    return plain


def _python_values(column: Any, type_: Any) -> list[Any]:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    values: list[Any] = column.to_pylist()
    if isinstance(type_, UuidType):
        return [None if v is None else UUID(bytes=v) for v in values]
    return values


def partitions_to_arrow(files: Sequence[DataFile], partition_type: StructType) -> pa.Array[Any]:
    """The `partition` column of these files."""
    known = {f.id for f in partition_type.fields}
    for file in files:
        if not file.partition.keys() <= known:
            raise InvalidInput(
                f"Cannot place {file.file_path} in a partition: expected values for the fields "
                f"{', '.join(map(str, sorted(known))) or '(none)'}, got {', '.join(map(str, sorted(file.partition)))}."
            )
    if not known:
        return empty_partitions(len(files))
    arrow = partition_arrow_type(partition_type)
    children = []
    for f in partition_type.fields:
        values = [file.partition.get(f.id) for file in files]
        if isinstance(f.type, UuidType):
            values = [None if v is None else v.bytes for v in values]
        children.append(_array(values, arrow.field(f.name).type, f"partition.{f.name}"))
    return pa.StructArray.from_arrays(children, fields=list(arrow))


def _arrow_type(type_: Any) -> pa.DataType:
    assert isinstance(type_, PrimitiveType), type_
    return bound_type(type_)


def _items(metrics: Any) -> Any:
    return None if metrics is None else list(metrics.items())


def _array(values: list[Any], arrow: Any, name: str) -> Any:
    try:
        return pa.array(values, arrow)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"Cannot put {name} of manifest entries in Arrow: expected {arrow}, got {error}.") from error
