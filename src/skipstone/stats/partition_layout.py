"""The columns of a partition statistics file: the spec's thirteen, and the partition zone map beside them.

The spec's columns have its ids and come first, so that every reader finds them by id. Ours have ids from 10,001 on: a
marker that says the counts were computed here, and for each tracked column a struct `zone_<column id>` of bounds and
counts over the data files of the partition, deleted rows included.

An older text of the specification has eight columns with ids 1 to 8. Files of both kinds are told apart by names.

Spec: "Partition Statistics File".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.types import (
    BOOLEAN,
    INT,
    LONG,
    Field,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StructType,
    Type,
    UnknownType,
    VariantType,
)

PARTITION: Final = "partition"
SPEC_ID: Final = "spec_id"
TOTAL_RECORD_COUNT: Final = "total_record_count"
LAST_UPDATED_AT: Final = "last_updated_at"
LAST_UPDATED_SNAPSHOT_ID: Final = "last_updated_snapshot_id"
DV_COUNT: Final = "dv_count"
# Name, id and type of the counts that sum over files, in the order of the spec's table.
COUNTS: Final[Mapping[str, tuple[int, Type]]] = {
    "data_record_count": (3, LONG),
    "data_file_count": (4, INT),
    "total_data_file_size_in_bytes": (5, LONG),
    "position_delete_record_count": (6, LONG),
    "position_delete_file_count": (7, INT),
    DV_COUNT: (13, INT),
    "equality_delete_record_count": (8, LONG),
    "equality_delete_file_count": (9, INT),
}
_DATA: Final = ("data_record_count", "data_file_count", "total_data_file_size_in_bytes")
_FACTS: Final[Mapping[str, tuple[int, Type]]] = {
    TOTAL_RECORD_COUNT: (10, LONG),
    LAST_UPDATED_AT: (11, LONG),
    LAST_UPDATED_SNAPSHOT_ID: (12, LONG),
}
# What must be there whatever text of the specification the writer followed.
_REQUIRED: Final = (PARTITION, SPEC_ID, "data_record_count", "data_file_count")

MARKER: Final = "skipstone_layout"
LAYOUT: Final = 1
_MARKER_ID: Final = 10_001
_ZONES_START: Final = 10_011
ZONE_FACTS: Final[Mapping[str, Type]] = {
    "null_count": LONG,
    "nan_count": LONG,
    "value_count": LONG,
    "lower_exact": BOOLEAN,
    "upper_exact": BOOLEAN,
    "files_covered": LONG,
}
_IDS_PER_ZONE: Final = 10
_ZONE: Final = re.compile(r"zone_([0-9]+)")
# Their bounds are boxes or bytes that no column of the file could hold as the column's own type.
_WITHOUT_ZONE: Final = (GeometryType, GeographyType, VariantType, UnknownType)


def can_have_zone(type_: Type) -> bool:
    return isinstance(type_, PrimitiveType) and not isinstance(type_, _WITHOUT_ZONE)


def partition_statistics_struct(
    partition_type: StructType, format_version: int, zones: Mapping[int, PrimitiveType]
) -> StructType:
    """The columns of a file. `zones` are the types of tracked columns by field id."""
    if not partition_type.fields:
        raise InvalidInput("Cannot lay out partition statistics: expected a partitioned table, got no partition field.")
    fields = [
        Field(id=1, name=PARTITION, type=partition_type, required=True),
        Field(id=2, name=SPEC_ID, type=INT, required=True),
    ]
    for name, (field_id, type_) in COUNTS.items():
        if name == DV_COUNT and format_version < 3:
            continue
        fields.append(Field(id=field_id, name=name, type=type_, required=name in _DATA or format_version >= 3))
    fields += [Field(id=field_id, name=name, type=type_) for name, (field_id, type_) in _FACTS.items()]
    fields.append(Field(id=_MARKER_ID, name=MARKER, type=INT))
    for place, (column_id, column_type) in enumerate(sorted(zones.items())):
        fields.append(_zone_field(_ZONES_START + place * _IDS_PER_ZONE, column_id, column_type))
    return StructType(tuple(fields))


def _zone_field(first_id: int, column_id: int, type_: PrimitiveType) -> Field:
    facts: dict[str, Type] = {"lower": type_, "upper": type_, **ZONE_FACTS}
    children = (Field(id=first_id + 1 + i, name=name, type=t) for i, (name, t) in enumerate(facts.items()))
    return Field(id=first_id, name=f"zone_{column_id}", type=StructType(tuple(children)))


def zone_columns(struct: StructType) -> dict[int, Field]:
    """The zone columns of a file, by the field id of the column they are about."""
    found: dict[int, Field] = {}
    for f in struct.fields:
        match = _ZONE.fullmatch(f.name)
        if match is not None and f.id >= _ZONES_START and isinstance(f.type, StructType):
            found[int(match[1])] = f
    return found


def wanted_struct(stored: StructType, partition_type: StructType, *, source: str) -> StructType:
    """What to read of a stored file: each known column under the id that the file gives its name.

    A column the file does not have reads as null, and columns nobody here knows are left out.
    """
    by_name = {f.name: f for f in stored.fields}
    missing = [name for name in _REQUIRED if name not in by_name]
    if missing:
        raise FormatViolation(
            f"Invalid partition statistics file {source}: expected a column {missing[0]!r}, got {', '.join(by_name)}."
        )
    plain: Sequence[tuple[str, int, Type]] = (
        (PARTITION, 1, partition_type),
        (SPEC_ID, 2, INT),
        *((name, field_id, type_) for name, (field_id, type_) in {**COUNTS, **_FACTS}.items()),
        (MARKER, _MARKER_ID, INT),
    )
    fields = [_wanted(by_name.get(name), name, field_id, type_) for name, field_id, type_ in plain]
    return StructType((*fields, *zone_columns(stored).values()))


_UNUSED_IDS: Final = 20_000


def _wanted(stored: Field | None, name: str, field_id: int, type_: Type) -> Field:
    # An id that no file has, so that nothing is read in its place.
    return Field(id=_UNUSED_IDS + field_id if stored is None else stored.id, name=name, type=type_)
