"""Reserved field ids and the metadata columns that use them.

Spec: "Reserved Field IDs".
"""

from __future__ import annotations

from typing import Final

from skipstone.metadata.types import BOOLEAN, INT, LONG, STRING, Field, StructType

# Ids above this one belong to metadata columns, not to users.
FIELD_ID_MAX: Final = 2147483447

FILE: Final = Field(id=2147483646, name="_file", type=STRING, required=True, doc="Path of the file a row is stored in")
POS: Final = Field(id=2147483645, name="_pos", type=LONG, required=True, doc="Ordinal position of a row in its file")
DELETED: Final = Field(
    id=2147483644, name="_deleted", type=BOOLEAN, required=True, doc="Whether the row has been deleted"
)
SPEC_ID: Final = Field(id=2147483643, name="_spec_id", type=INT, required=True, doc="Spec id of the file of a row")
PARTITION_ID: Final = 2147483642
PARTITION_NAME: Final = "_partition"

DELETE_FILE_PATH: Final = Field(
    id=2147483546,
    name="file_path",
    type=STRING,
    required=True,
    doc="Path of a file, in position delete files",
)
DELETE_POS: Final = Field(
    id=2147483545,
    name="pos",
    type=LONG,
    required=True,
    doc="Position of a deleted row, in position delete files",
)
DELETE_ROW_ID: Final = 2147483544
DELETE_ROW_NAME: Final = "row"

CHANGE_TYPE: Final = Field(
    id=2147483543,
    name="_change_type",
    type=STRING,
    required=True,
    doc="INSERT, DELETE, UPDATE_BEFORE or UPDATE_AFTER",
)
CHANGE_ORDINAL: Final = Field(
    id=2147483542, name="_change_ordinal", type=INT, required=True, doc="The order of the change"
)
COMMIT_SNAPSHOT_ID: Final = Field(
    id=2147483541,
    name="_commit_snapshot_id",
    type=LONG,
    required=True,
    doc="The snapshot the change occurred in",
)
ROW_ID: Final = Field(id=2147483540, name="_row_id", type=LONG, doc="A unique long assigned for row lineage")
LAST_UPDATED_SEQUENCE_NUMBER: Final = Field(
    id=2147483539,
    name="_last_updated_sequence_number",
    type=LONG,
    doc="The sequence number that last updated the row",
)

METADATA_COLUMNS: Final[dict[str, Field]] = {
    f.name: f
    for f in (
        FILE, POS, DELETED, SPEC_ID, CHANGE_TYPE, CHANGE_ORDINAL, COMMIT_SNAPSHOT_ID, ROW_ID,
        LAST_UPDATED_SEQUENCE_NUMBER,
    )
}  # fmt: skip


def partition_column(partition_type: StructType) -> Field:
    """The `_partition` metadata column: its type depends on the table's partition specs."""
    return Field(id=PARTITION_ID, name=PARTITION_NAME, type=partition_type, doc="Partition to which a row belongs")


def delete_row_column(row_type: StructType) -> Field:
    """The `row` column of position delete files: any subset of the table's columns."""
    return Field(id=DELETE_ROW_ID, name=DELETE_ROW_NAME, type=row_type, required=True, doc="Deleted row values")
