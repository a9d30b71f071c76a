"""The names under which columns are scanned.

Spark finds columns by field id but pushes filters down by name. A filter pushed to a column of another id would drop
rows, so a column keeps its name in the scan only if no other column ever had it, at any depth. Columns that hold floats
never keep theirs: Parquet's statistics know neither NaN nor that -0.0 equals 0.0, and a pushed `x > 5` loses NaN rows.
A name that no file has is never pushed into one. Where a schema of the table is gone, so are the names that its files
bear, and no column keeps its own. Inside a struct, too, Spark takes the type of a field of a file from the field of its
name, so there a name keeps to one id under its struct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from skipstone.metadata.formats.avro_names import sanitize_name
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import DoubleType, Field, FloatType, ListType, MapType, StructType, Type, children, walk

PREFIX: Final = "__skipstone_"
# A column of this name is no file's: Spark's Parquet reader fills it with the positions of rows.
ROW_INDEX: Final = "_tmp_metadata_row_index"

# Dotted names with the ids that bore them; None where not all of them are known.
Owners = Mapping[str, set[int]] | None


def generated(field_id: int) -> str:
    """A name that no column of a file has."""
    return f"{PREFIX}{field_id}"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


def name_owners(metadata: TableMetadata) -> Owners:
    """Every dotted name that any schema of the table had, without regard to case, with the ids that bore it."""
    if not _has_all_schemas(metadata):
        return None
    owners: dict[str, set[int]] = {}
    for schema in metadata.schemas:
        for field in schema.fields:
            for path, field_id in _paths(field, ""):
                owners.setdefault(path, set()).add(field_id)
    return owners


def _has_all_schemas(metadata: TableMetadata) -> bool:
    """Schemas are numbered from 0: removing unused ones leaves a gap, and before there were numbers none was kept."""
    return {s.schema_id for s in metadata.schemas} == set(range(len(metadata.schemas))) and all(
        s.schema_id is not None for s in metadata.snapshots
    )


def scan_name(field: Field, owners: Owners) -> str:
    """The name a top-level column is scanned under."""
    keeps = (
        owners is not None
        and field.name.isidentifier()
        and not field.name.lower().startswith(("_metadata", PREFIX, ROW_INDEX))
        and not any(isinstance(f.type, FloatType | DoubleType) for f in (field, *walk(field.type)))
        and all(owners.get(path, {field_id}) == {field_id} for path, field_id in _paths(field, ""))
    )
    return field.name if keeps else generated(field.id)


def is_so_named_in_files(field: Field, metadata: TableMetadata) -> bool:
    """Whether every file that has this top-level column calls it what its scan does, letter case and all."""
    if scan_name(field, name_owners(metadata)) != field.name or sanitize_name(field.name) != field.name:
        return False
    return {f.name for schema in metadata.schemas for f in schema.fields if f.id == field.id} <= {field.name}


def with_scan_names_below(field: Field, metadata: TableMetadata) -> Field:
    """The column with fields of its structs under names that no other field has in a file."""
    if not any(isinstance(f.type, StructType) for f in (field, *walk(field.type))):
        return field
    owners = _owners_below(metadata) if _has_all_schemas(metadata) else None
    return replace(field, type=_scanned(field.id, field.type, owners))


def _owners_below(metadata: TableMetadata) -> dict[tuple[int, str], set[int]]:
    """The ids that bore a name in a struct, by the id of what the struct is the type of."""
    owners: dict[tuple[int, str], set[int]] = {}
    for schema in metadata.schemas:
        for above in (g for f in schema.fields for g in (f, *walk(f.type)) if isinstance(g.type, StructType)):
            for below in children(above.type):
                for name in _spellings(below):
                    owners.setdefault((above.id, name), set()).add(below.id)
    return owners


def _spellings(field: Field) -> set[str]:
    return {field.name.lower(), sanitize_name(field.name).lower() if field.name else ""}


def _scanned(above: int, type_: Type, owners: dict[tuple[int, str], set[int]] | None) -> Type:
    match type_:
        case StructType(fields):
            return StructType(tuple(_scanned_field(above, f, owners) for f in fields))
        case ListType():
            return replace(type_, element=_scanned(type_.element_id, type_.element, owners))
        case MapType():
            key = _scanned(type_.key_id, type_.key, owners)
            return replace(type_, key=key, value=_scanned(type_.value_id, type_.value, owners))
        case _:
            return type_


def _scanned_field(above: int, field: Field, owners: dict[tuple[int, str], set[int]] | None) -> Field:
    keeps = owners is not None and all(owners.get((above, n), {field.id}) == {field.id} for n in _spellings(field))
    name = field.name if keeps else generated(field.id)
    return replace(field, name=name, type=_scanned(field.id, field.type, owners))


def _paths(field: Field, above: str) -> Iterator[tuple[str, int]]:
    """The dotted names of a field and all below, as they are and as files spell them."""
    for name in {field.name, sanitize_name(field.name) if field.name else field.name}:
        path = f"{above}{name}".lower()
        yield path, field.id
        yield from _below(field.type, path)


def _below(type_: Type, path: str) -> Iterator[tuple[str, int]]:
    for child in children(type_):
        yield from _paths(child, f"{path}.")
