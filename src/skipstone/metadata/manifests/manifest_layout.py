"""Where a manifest's Avro schema holds each column, and what to ask the decoder for.

Law: fields are found by field id; a name counts only for a field without an id.

Spec: "Manifest Entry Fields", "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from skipstone.metadata.avro.container import AvroContainer
from skipstone.metadata.avro.fixed_lengths import as_written
from skipstone.metadata.avro.reading import decode_wish, schema_tree
from skipstone.metadata.avro.schema_program import EVERYTHING, Fields, Keys, Wish
from skipstone.metadata.avro.schema_tree import Optional, Record, RecordField
from skipstone.metadata.manifests.manifest import TRACKING_COLUMNS

DATA_FILE: Final = "data_file"
DATA_FILE_ID: Final = 2
_PARTITION: Final = (DATA_FILE, "partition")
# Field ids of the entry and of its data_file, by column name.
FIELD_IDS: Final[dict[str, int]] = {
    "status": 0, "snapshot_id": 1, "sequence_number": 3, "file_sequence_number": 4,
    "content": 134, "file_path": 100, "file_format": 101, "partition": 102, "record_count": 103,
    "file_size_in_bytes": 104, "column_sizes": 108, "value_counts": 109, "null_value_counts": 110,
    "nan_value_counts": 137, "lower_bounds": 125, "upper_bounds": 128, "key_metadata": 131, "split_offsets": 132,
    "equality_ids": 135, "sort_order_id": 140, "first_row_id": 142, "referenced_data_file": 143,
    "content_offset": 144, "content_size_in_bytes": 145,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Decoded entries: arrays by column name, in the types the file has. A column that the file lacks is not there."""

    count: int
    arrays: dict[str, pa.Array[Any]]
    by_key: dict[str, pa.Array[Any]]  # of a map of metrics: a struct with one child a wished field id


def decode_entries(
    container: AvroContainer, columns: Collection[str], keyed: Collection[str], ids: tuple[int, ...]
) -> Entries:
    """Decode `columns` whole, and of the metric maps `keyed` only the field ids `ids`."""
    entry = schema_tree(container)
    data_file_field = _find(container, entry, DATA_FILE, DATA_FILE_ID)
    if data_file_field is None or not isinstance(data_file := _value(data_file_field), Record):
        container.fail(f"Avro schema: expected the struct {DATA_FILE} (field {DATA_FILE_ID}), got none")
    names: dict[str, str] = {}  # the file's name by ours
    entry_wishes: list[tuple[str, Wish]] = []
    file_wishes: list[tuple[str, Wish]] = []
    for column in dict.fromkeys((*columns, *keyed)):
        record, wishes = (entry, entry_wishes) if column in TRACKING_COLUMNS else (data_file, file_wishes)
        found = _find(container, record, column, FIELD_IDS[column])
        if found is not None:
            names[column] = found.name
            wishes.append((found.name, EVERYTHING if column in columns else Keys(ids)))
    if file_wishes:
        entry_wishes.append((data_file_field.name, Fields(tuple(file_wishes))))
    wish = Fields(tuple(entry_wishes))
    count, top = decode_wish(as_written(container, _PARTITION), wish, transparent=data_file_field.name)
    files = top.get(data_file_field.name)
    if files is not None and files.null_count:
        container.fail(f"entry {files.is_null().to_pylist().index(True)}, {DATA_FILE}: expected a value, got null")
    arrays: dict[str, pa.Array[Any]] = {}
    for column, name in names.items():
        arrays[column] = top[name] if column in TRACKING_COLUMNS else _child(files, name)
    return Entries(
        count=count,
        arrays={c: a for c, a in arrays.items() if c in columns},
        by_key={c: a for c, a in arrays.items() if c not in columns},
    )


def partition_fields(container: AvroContainer) -> tuple[RecordField, ...]:
    """The fields of the partition struct as the file has them."""
    data_file = _find(container, schema_tree(container), DATA_FILE, DATA_FILE_ID)
    if data_file is not None and isinstance(record := _value(data_file), Record):
        partition = _find(container, record, "partition", FIELD_IDS["partition"])
        if partition is not None and isinstance(struct := _value(partition), Record):
            return struct.fields
    return ()


def _find(container: AvroContainer, record: Record, name: str, field_id: int) -> RecordField | None:
    found = [f for f in record.fields if f.field_id == field_id]
    if len(found) > 1:
        container.fail(
            f"Avro schema: expected unique field ids, got {field_id} for both {found[0].name} and {found[1].name}"
        )
    if found:
        return found[0]
    return next((f for f in record.fields if f.field_id is None and f.name == name), None)


def _value(field: RecordField) -> object:
    return field.node.value if isinstance(field.node, Optional) else field.node


def null_column(count: int, arrow: Any) -> pa.Array[Any]:
    column: pa.Array[Any] = pa.nulls(count, arrow)
    return column


def _child(struct: Any, name: str) -> pa.Array[Any]:
    child: pa.Array[Any] = struct.field(struct.type.get_field_index(name))
    return child
