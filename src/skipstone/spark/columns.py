"""What is asked of Spark's Parquet reader, and what becomes of it.

Expressions are SQL text: each costs one call into the JVM, not one for every part.

Columns are read by field id as they are stored (a uuid as bytes, an unknown column not at all) and turned into what is
shown. A column that an old file does not have takes its initial default. What Spark's reader cannot give is
told by `is_native`: defaults inside structs, lists and maps, structs of nothing, and structs with names that differ in
case only.

Spec: "Column Projection", "Default values".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import types as T

from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import (
    UUID,
    Field,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    UnknownType,
    VariantType,
    walk,
)
from skipstone.spark.literals import NoLiteral, literal_sql
from skipstone.spark.scan_names import is_so_named_in_files, name_owners, quoted, scan_name, with_scan_names_below
from skipstone.spark.types import FIELD_ID_KEY, to_spark_type

# Spark fills a column that a file does not have with this, an SQL expression.
_DEFAULT_KEY: Final = "EXISTS_DEFAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanColumn:
    """A top-level column: what it is, and its name in the scan."""

    field: Field
    name: str
    is_whole: bool = False

    @property
    def sql(self) -> str:
        """As expressions name it.

        Spark's pruning of nested columns drops the field id of a column that it cuts, and the reader then looks for the
        name in the scan: a file that has another name seems to lack the column, and all of it is null. A `coalesce`
        with itself hides a column from that pruning, so it is read whole.
        """
        name = quoted(self.name)
        return f"coalesce({name}, {name})" if self.is_whole else name

    @property
    def spark_field(self) -> T.StructField:
        """As it is asked of the reader."""
        metadata: dict[str, Any] = {FIELD_ID_KEY: self.field.id}
        if self.field.initial_default is not None:
            metadata[_DEFAULT_KEY] = literal_sql(self.field.type, self.field.initial_default)
        return T.StructField(self.name, stored_type(self.field.type), True, metadata)

    def shown_as(self, wanted: Field) -> str:
        """As a wanted form of the column is shown, under its own name, as SQL."""
        if isinstance(wanted.type, UnknownType):
            return f"NULL AS {quoted(wanted.name)}"
        return f"{shown(self.sql, wanted.type, self.field.type)} AS {quoted(wanted.name)}"


def scan_columns(fields: Sequence[Field], metadata: TableMetadata) -> dict[int, ScanColumn]:
    """The columns to read, by field id."""
    owners = name_owners(metadata)
    columns: dict[int, ScanColumn] = {}
    for f in fields:
        scanned = with_scan_names_below(f, metadata)
        is_whole = scanned != f or _is_read_whole(f, metadata)
        columns[f.id] = ScanColumn(field=scanned, name=scan_name(f, owners), is_whole=is_whole)
    return columns


def _is_read_whole(field: Field, metadata: TableMetadata) -> bool:
    """Whether Spark must not read parts of the structs of a column, which it would look for by the column's name."""
    has_structs = any(isinstance(f.type, StructType) for f in (field, *walk(field.type)))
    return has_structs and not is_so_named_in_files(field, metadata)


def read_schema(columns: dict[int, ScanColumn]) -> T.StructType:
    return T.StructType([c.spark_field for c in columns.values() if not isinstance(c.field.type, UnknownType)])


def column_of(columns: dict[int, ScanColumn], schema: Schema) -> Callable[[int], str]:
    """The SQL of a column as it is stored, by its field id in a schema."""

    def found(field_id: int) -> str:
        above = [f.id for f in schema.ancestors(field_id)][::-1]
        top = columns[above[0] if above else field_id]
        if isinstance(top.field.type, UnknownType) or isinstance(schema.field(field_id).type, UnknownType):
            return "NULL"
        names = [_name_below(top.field, schema.field(i)) for i in [*above, field_id][1:]]
        return ".".join([top.sql, *map(quoted, names)])

    return found


def _name_below(top: Field, field: Field) -> str:
    """The name of a nested field where it is read: another schema may have called it otherwise."""
    return next((f.name for f in walk(top.type) if f.id == field.id), field.name)


def is_native(field: Field) -> bool:
    """Whether Spark's Parquet reader can give this column of every file that has field ids."""
    below = list(walk(field.type))
    if any(f.initial_default is not None for f in below):
        return False
    if any(isinstance(f.type, VariantType | GeometryType | GeographyType) for f in (field, *below)):
        return False
    structs = [f.type for f in (field, *below) if isinstance(f.type, StructType)]
    if any(not _stored(struct) or _has_alike_names(struct) for struct in structs):
        return False
    if field.initial_default is None:
        return True
    try:
        literal_sql(field.type, field.initial_default)
    except NoLiteral:
        return False
    return True


def _has_alike_names(struct: StructType) -> bool:
    return len({f.name.lower() for f in struct.fields}) < len(struct.fields)


def _stored(struct: StructType) -> list[Field]:
    return [f for f in struct.fields if not isinstance(f.type, UnknownType)]


def stored_type(type_: Type) -> Any:
    """The Spark type of a column as it is stored, with field ids below."""
    match type_:
        case StructType():
            return T.StructType(
                [T.StructField(f.name, stored_type(f.type), True, {FIELD_ID_KEY: f.id}) for f in _stored(type_)]
            )
        case ListType():
            return T.ArrayType(stored_type(type_.element), True)
        case MapType():
            return T.MapType(stored_type(type_.key), stored_type(type_.value), True)
        case _:
            return T.BinaryType() if type_ == UUID else to_spark_type(type_)


def shown(column: str, wanted: Type, stored: Type, depth: int = 0) -> str:
    """A stored column as it is shown; the same text where nothing changes, so that filters still reach it."""
    if wanted == stored and not _changes(wanted):
        return column
    key, value = f"k{depth}", f"v{depth}"
    match wanted, stored:
        case StructType(fields), StructType():
            parts = [f"{_part(column, f, stored, depth + 1)} AS {quoted(f.name)}" for f in fields]
            return f"CASE WHEN {column} IS NOT NULL THEN struct({', '.join(parts)}) END"
        case ListType(), ListType():
            return f"transform({column}, {value} -> {shown(value, wanted.element, stored.element, depth + 1)})"
        case MapType(), MapType():
            if wanted.key != stored.key or _changes(wanted.key):
                of_key = shown(key, wanted.key, stored.key, depth + 1)
                column = f"transform_keys({column}, ({key}, {value}) -> {of_key})"
            of_value = shown(value, wanted.value, stored.value, depth + 1)
            return f"transform_values({column}, ({key}, {value}) -> {of_value})"
        case _:
            return uuid_text(column) if wanted == UUID else column


def _part(column: str, field: Field, stored: StructType, depth: int) -> str:
    if isinstance(field.type, UnknownType):
        return "NULL"
    there = stored.field_by_id(field.id)
    assert there is not None
    return shown(f"{column}.{quoted(there.name)}", field.type, there.type, depth)


def _changes(type_: Type) -> bool:
    """Whether values are shown in another form than they are stored in."""
    if isinstance(type_, PrimitiveType):
        return type_ == UUID or isinstance(type_, UnknownType)
    return any(_changes(f.type) for f in walk(type_))


def uuid_text(column: str) -> str:
    """The usual text of sixteen bytes."""
    spans = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    parts = ", ".join(f"substr(hex({column}), {start}, {length})" for start, length in spans)
    return f"CASE WHEN {column} IS NOT NULL THEN lower(concat_ws('-', {parts})) END"
