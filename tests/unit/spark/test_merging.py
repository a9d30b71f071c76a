"""A frame's columns are merged into a table as the writer will find them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as T

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.types import DOUBLE, INT, LONG, STRING, UUID, Field, FixedType, ListType, StructType
from skipstone.spark.merging import schema_to_merge

TABLE = Schema(
    fields=(
        Field(id=1, name="Id", type=LONG, required=True),
        Field(id=2, name="key", type=UUID),
        Field(id=3, name="code", type=FixedType(4)),
        Field(id=4, name="Place", type=StructType((Field(id=5, name="Zip", type=STRING, required=True),))),
        Field(id=6, name="marks", type=ListType(element_id=7, element=INT, element_required=True)),
    )
)


def merged(columns: T.StructType, *, case_sensitive: bool = False, version: int = 2) -> Schema:
    conf = {"spark.sql.caseSensitive": str(case_sensitive).lower()}
    frame: Any = SimpleNamespace(schema=columns, sparkSession=SimpleNamespace(conf=conf))
    update = SchemaUpdate(TABLE, last_column_id=7, format_version=version)
    return update.union_by_name(schema_to_merge(frame, TABLE, format_version=version)).apply()


def test_columns_are_found_without_regard_to_case_and_nothing_becomes_less_required() -> None:
    place = T.StructType().add("zip", "string").add("city", "string")
    frame = (
        T.StructType()
        .add("ID", "integer")
        .add("PLACE", place)
        .add("MARKS", T.ArrayType(T.LongType()))
        .add("x", "double")
    )
    found = merged(frame)
    assert [f.name for f in found.fields] == ["Id", "key", "code", "Place", "marks", "x"]
    assert found.field("Id") == TABLE.field("Id")
    assert found.field("Place.Zip").required
    assert found.field("Place.city").optional
    assert found.field("marks").type == ListType(element_id=7, element=LONG, element_required=True)
    assert found.field("x").type == DOUBLE


def test_with_regard_to_case_another_case_is_another_column() -> None:
    found = merged(T.StructType().add("id", "integer"), case_sensitive=True)
    assert [f.name for f in found.fields][-1] == "id"
    assert found.field("id").id == 8


def test_types_that_spark_has_not_are_met_by_those_that_stand_for_them() -> None:
    frame = T.StructType().add("key", "string").add("code", "binary").add("Place", T.NullType())
    assert merged(frame).fields == TABLE.fields


def test_a_column_given_twice_is_refused() -> None:
    frame = T.StructType().add("new", "integer").add("New", "integer")
    with pytest.raises(InvalidInput, match="merge column 'New': expected it once"):
        merged(frame)
    assert len(merged(frame, case_sensitive=True).fields) == 7


def test_a_type_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Cannot merge column 'Id'"):
        merged(T.StructType().add("id", "string"))
