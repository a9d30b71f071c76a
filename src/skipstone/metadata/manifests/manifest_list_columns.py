"""The columns of a manifest list: names, field ids and types, and what an older list that lacks one then says.

Spec: "Manifest Lists".
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

SUMMARY_TYPE: Final = pa.struct(
    [
        pa.field("contains_null", pa.bool_()),
        pa.field("contains_nan", pa.bool_()),
        pa.field("lower_bound", pa.binary()),
        pa.field("upper_bound", pa.binary()),
    ]
)

# Name, field id and type of each column of a manifest list as an Arrow table, one row a manifest.
COLUMNS: Final[dict[str, tuple[int, Any]]] = {
    "manifest_path": (500, pa.string()),
    "manifest_length": (501, pa.int64()),
    "partition_spec_id": (502, pa.int32()),
    "content": (517, pa.int32()),
    "sequence_number": (515, pa.int64()),
    "min_sequence_number": (516, pa.int64()),
    "added_snapshot_id": (503, pa.int64()),
    "added_files_count": (504, pa.int32()),
    "existing_files_count": (505, pa.int32()),
    "deleted_files_count": (506, pa.int32()),
    "added_rows_count": (512, pa.int64()),
    "existing_rows_count": (513, pa.int64()),
    "deleted_rows_count": (514, pa.int64()),
    "partitions": (507, pa.list_(SUMMARY_TYPE)),
    "key_metadata": (519, pa.binary()),
    "first_row_id": (520, pa.int64()),
}
SUMMARY_IDS: Final = {509: "contains_null", 518: "contains_nan", 510: "lower_bound", 511: "upper_bound"}
REQUIRED: Final = ("manifest_path", "manifest_length", "partition_spec_id", "added_snapshot_id")
# What v1 lists do not have, and what it then is.
DEFAULTS: Final = {"content": 0, "sequence_number": 0, "min_sequence_number": 0}
COUNTS: Final = tuple(name for name in COLUMNS if name.endswith("_count"))
NOT_NEGATIVE: Final = ("manifest_length", "sequence_number", "min_sequence_number", "first_row_id", *COUNTS)
_NAMES_BY_ID: Final = {field_id: name for name, (field_id, _) in COLUMNS.items()}


def column_of_field(field: dict[str, Any]) -> str | None:
    """The column that an Avro field is: by its id, or by its name where it has no id."""
    return _known(field, _NAMES_BY_ID)


def summary_of_field(field: dict[str, Any]) -> str | None:
    """The same for a field of a summary."""
    return _known(field, SUMMARY_IDS)


def _known(field: dict[str, Any], names_by_id: dict[int, str]) -> str | None:
    field_id = field.get("field-id")
    if field_id is None:
        name: str = field["name"]
        return name if name in names_by_id.values() else None
    return names_by_id.get(field_id) if isinstance(field_id, int) else None
