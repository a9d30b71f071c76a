"""One schema with a column of every type, for tests of predicates."""

from __future__ import annotations

from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeometryType,
    ListType,
    StructType,
)
from skipstone.predicate import bind, parse_sql
from skipstone.predicate.nodes import Column, Predicate


def _optional(field_id: int, name: str, type_: object) -> Field:
    return Field(id=field_id, name=name, type=type_, required=False)  # type: ignore[arg-type]


SALES = Schema(
    fields=(
        Field(id=1, name="id", type=INT, required=True),
        _optional(2, "big", LONG),
        _optional(3, "region", STRING),
        _optional(4, "price", DecimalType(9, 2)),
        _optional(5, "x", DOUBLE),
        _optional(6, "tz", TIMESTAMPTZ),
        _optional(7, "a", StructType((_optional(8, "b", LONG), Field(id=17, name="c", type=LONG, required=True)))),
        _optional(9, "a.b", STRING),
        _optional(10, "d", DATE),
        _optional(11, "u", UUID),
        _optional(12, "bin", BINARY),
        _optional(13, "t", TIME),
        _optional(14, "ok", BOOLEAN),
        _optional(15, "f", FLOAT),
        _optional(16, "fx", FixedType(2)),
        _optional(18, "ts", TIMESTAMP),
        _optional(19, "ns", TIMESTAMP_NS),
        _optional(20, "v", VARIANT),
        _optional(21, "g", GeometryType()),
        _optional(22, "nothing", UNKNOWN),
        _optional(23, "tags", ListType(element_id=24, element=STRING, element_required=False)),
        _optional(25, "need`ed", LONG),
    )
)


def column(name: str) -> Column:
    """The bound column of this name."""
    field = SALES.field(name)
    nested = field.id in SALES.parents_by_id
    return Column(field_id=field.id, type=field.type, name=name, is_nested=nested)  # type: ignore[arg-type]


def sql(text: str) -> Predicate:
    """A condition in SQL text, bound."""
    return bind(parse_sql(text), SALES, table="db.sales")
