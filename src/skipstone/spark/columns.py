"""What is asked of Spark's Parquet reader, and what becomes of it.

Columns are read by field id as they are stored (a uuid as bytes, an unknown column not at all) and turned into what is
shown. A column that an old file does not have takes its initial default. What Spark's reader cannot give is
told by `is_native`: defaults inside structs, lists and maps, and structs of nothing.

Spec: "Column Projection", "Default values".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.metadata.schema import Schema
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
from skipstone.predicate.nodes import Column
from skipstone.spark.literals import NoLiteral, literal_sql
from skipstone.spark.scan_names import Owners, scan_name
from skipstone.spark.types import FIELD_ID_KEY, to_spark_type

# Spark fills a column that a file does not have with this, an SQL expression.
_DEFAULT_KEY: Final = "EXISTS_DEFAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanColumn:
    """A top-level column: what it is, and its name in the scan."""

    field: Field
    name: str

    @property
    def spark_field(self) -> T.StructField:
        """As it is asked of the reader."""
        metadata: dict[str, Any] = {FIELD_ID_KEY: self.field.id}
        if self.field.initial_default is not None:
            metadata[_DEFAULT_KEY] = literal_sql(self.field.type, self.field.initial_default)
        return T.StructField(self.name, stored_type(self.field.type), True, metadata)

    def shown_as(self, wanted: Field) -> Any:
        """As a wanted form of the column is shown, under its own name."""
        if isinstance(wanted.type, UnknownType):
            return F.lit(None).alias(wanted.name)
        column = F.col(_quoted(self.name))
        return shown(column, wanted.type, self.field.type).alias(wanted.name)


def scan_columns(fields: Sequence[Field], owners: Owners) -> dict[int, ScanColumn]:
    """The columns to read, by field id."""
    return {f.id: ScanColumn(field=f, name=scan_name(f, owners)) for f in fields}


def read_schema(columns: dict[int, ScanColumn]) -> T.StructType:
    return T.StructType([c.spark_field for c in columns.values() if not isinstance(c.field.type, UnknownType)])


def column_of(columns: dict[int, ScanColumn], schema: Schema) -> Any:
    """The Spark column of a bound one, as it is stored."""

    def found(column: Column) -> Any:
        above = [f.id for f in schema.ancestors(column.field_id)][::-1]
        top = columns[above[0] if above else column.field_id]
        if isinstance(top.field.type, UnknownType):
            return F.lit(None)
        place = F.col(_quoted(top.name))
        for field_id in [*above, column.field_id][1:]:
            field = schema.field(field_id)
            if isinstance(field.type, UnknownType):
                return F.lit(None)
            place = place.getField(_name_below(top.field, field))
        return place

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
    if any(isinstance(f.type, StructType) and not _stored(f.type) for f in (field, *below)):
        return False
    if field.initial_default is None:
        return True
    try:
        literal_sql(field.type, field.initial_default)
    except NoLiteral:
        return False
    return True


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


def shown(column: Any, wanted: Type, stored: Type) -> Any:
    """A stored column as it is shown; the same expression where nothing changes, so that filters still reach it."""
    if wanted == stored and not _changes(wanted):
        return column
    match wanted, stored:
        case StructType(fields), StructType():
            parts = [_part(column, f, stored).alias(f.name) for f in fields]
            return F.when(column.isNotNull(), F.struct(*parts))
        case ListType(), ListType():
            return F.transform(column, lambda element: shown(element, wanted.element, stored.element))
        case MapType(), MapType():
            if _changes(wanted.key):
                column = F.transform_keys(column, lambda key, _: shown(key, wanted.key, stored.key))
            return F.transform_values(column, lambda _, value: shown(value, wanted.value, stored.value))
        case _:
            return uuid_text(column) if wanted == UUID else column


def _part(column: Any, field: Field, stored: StructType) -> Any:
    if isinstance(field.type, UnknownType):
        return F.lit(None)
    there = stored.field_by_id(field.id)
    assert there is not None
    return shown(column.getField(there.name), field.type, there.type)


def _changes(type_: Type) -> bool:
    """Whether values are shown in another form than they are stored in."""
    if isinstance(type_, PrimitiveType):
        return type_ == UUID or isinstance(type_, UnknownType)
    return any(_changes(f.type) for f in walk(type_))


def uuid_text(column: Any) -> Any:
    """The usual text of sixteen bytes."""
    digits = F.lower(F.hex(column))
    spans = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    text = F.concat_ws("-", *[F.substring(digits, start, length) for start, length in spans])
    return F.when(column.isNotNull(), text)


def _quoted(name: str) -> str:
    return f"`{name}`"
