"""Projection is sound: rows written under an old schema and read under a new one are what field ids say they are.

The new schema is the old one after any mix of drops, renames, reorders, additions with and without defaults, and
promotions, at every level. What is expected comes from a model on Python values that knows nothing of Arrow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.strategies import names, nullable, primitive_types, schemas, values

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.formats.arrow_types import arrow_to_value, to_arrow_schema, values_to_array
from skipstone.metadata.schemas.fresh_ids import unnumbered
from skipstone.metadata.schemas.name_mapping import create_name_mapping
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.schemas.promotion import promote_value
from skipstone.metadata.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    TIMESTAMP,
    TIMESTAMP_NS,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    map_types,
    walk,
)

PROMOTIONS: dict[Type, list[Type]] = {INT: [LONG], FLOAT: [DOUBLE], DATE: [TIMESTAMP, TIMESTAMP_NS]}


@st.composite
def evolutions(draw: st.DrawFn) -> tuple[StructType, StructType, list[dict[int, Any]]]:
    """A file's struct, the struct wanted of it, and rows of the file."""
    old = draw(schemas(fields_max=4)).struct
    rows = draw(st.lists(values(old), max_size=4))
    new = Evolver(draw, max(f.id for f in walk(old)) + 1).struct(old)
    return old, new, rows


class Evolver:
    """Draws changes; fields in old files may be null where the new schema says so, never the reverse."""

    def __init__(self, draw: st.DrawFn, next_id: int) -> None:
        self.draw, self.next_id = draw, next_id

    def struct(self, struct: StructType) -> StructType:
        kept = [self.field(f) for f in struct.fields if self.draw(st.integers(0, 3)) > 0]
        added = [self.added(depth=1) for _ in range(self.draw(st.integers(0, 2)))]
        fields = self.draw(st.permutations(kept + added))
        return StructType(tuple(replace(f, name=f"{f.name}{i}") for i, f in enumerate(fields)))

    def field(self, f: Field) -> Field:
        name = self.draw(st.one_of(st.just(f.name), names()))
        return replace(f, name=name, type=self.type(f.type), required=f.required and self.draw(st.booleans()))

    def type(self, type_: Type) -> Type:
        match type_:
            case StructType():
                return self.struct(type_)
            case ListType():
                return replace(type_, element=self.type(type_.element))
            case MapType():
                return replace(type_, value=self.type(type_.value))
            case DecimalType(precision, scale):
                return DecimalType(self.draw(st.integers(precision, 38)), scale)
            case _:
                return self.draw(st.sampled_from([type_, *PROMOTIONS.get(type_, [])]))

    def added(self, depth: int) -> Field:
        field_id, self.next_id = self.next_id, self.next_id + 1
        if depth and self.draw(st.booleans()):
            below = StructType(tuple(self.added(0) for _ in range(self.draw(st.integers(1, 2)))))
            default = self.draw(st.sampled_from([None, {}]))
            return Field(id=field_id, name="added", type=unique_names(below), initial_default=default)
        type_ = self.draw(primitive_types())
        default = self.draw(nullable(type_))
        return Field(id=field_id, name="added", type=type_, required=default is not None, initial_default=default)


def unique_names(struct: StructType) -> StructType:
    return StructType(tuple(replace(f, name=f"{f.name}{i}") for i, f in enumerate(struct.fields)))


def filled(f: Field) -> Any:
    """What a missing field reads as."""
    if f.initial_default is None or not isinstance(f.type, StructType):
        return f.initial_default
    return {sub.id: filled(sub) for sub in f.type.fields}


def expected(new: Type, old: Type, value: Any) -> Any:
    if value is None:
        return None
    match new, old:
        case StructType(fields), StructType():
            return {f.id: expected_field(f, old, value) for f in fields}
        case ListType(), ListType():
            return [expected(new.element, old.element, v) for v in value]
        case MapType(), MapType():
            return [(expected(new.key, old.key, k), expected(new.value, old.value, v)) for k, v in value]
        case _:
            return promote_value(old, new, value)


def expected_field(f: Field, old: StructType, value: dict[int, Any]) -> Any:
    before = old.field_by_id(f.id)
    return filled(f) if before is None else expected(f.type, before.type, value[f.id])


def exact(value: Any) -> str:
    """A text that tells -0.0 from 0.0, NaN from everything else, and does not depend on the order of struct fields."""
    match value:
        case dict():
            return "{" + ", ".join(f"{k}: {exact(value[k])}" for k in sorted(value)) + "}"
        case list():
            return "[" + ", ".join(map(exact, value)) + "]"
        case tuple():
            return "(" + ", ".join(map(exact, value)) + ")"
        case _:
            return repr(value)


def batch_of(struct: StructType, rows: list[dict[int, Any]]) -> pa.RecordBatch:
    columns = [values_to_array(f.type, [r[f.id] for r in rows]) for f in struct.fields]
    return pa.RecordBatch.from_arrays(columns, schema=to_arrow_schema(struct))


def rows_of(struct: StructType, batch: pa.RecordBatch) -> list[dict[int, Any]]:
    return [
        {f.id: arrow_to_value(f.type, batch.column(i)[row]) for i, f in enumerate(struct.fields)}
        for row in range(batch.num_rows)
    ]


@settings(max_examples=150, deadline=None)
@given(evolutions())
def test_rows_of_an_old_file_read_as_field_ids_say(case: tuple[StructType, StructType, list[dict[int, Any]]]) -> None:
    old, new, rows = case
    projection = resolve(new, old)
    batch = batch_of(old, rows)
    try:
        wanted = [expected(new, old, r) for r in rows]
    except InvalidInput:
        # A date outside the range of its promoted type must fail, not wrap around.
        with pytest.raises(FormatViolation):
            project_arrow(projection, batch)
        return
    result = project_arrow(projection, batch)
    result.validate(full=True)
    assert result.schema.equals(to_arrow_schema(new), check_metadata=True)
    assert exact(rows_of(new, result)) == exact(wanted)


@settings(max_examples=50, deadline=None)
@given(evolutions())
def test_file_without_ids_reads_the_same_through_a_mapping_of_its_names(
    case: tuple[StructType, StructType, list[dict[int, Any]]],
) -> None:
    old, new, _ = case
    bare = map_types(old, unnumbered)
    assert isinstance(bare, StructType)
    assert resolve(new, bare, name_mapping=create_name_mapping(old)) == resolve(new, old)


@settings(max_examples=50, deadline=None)
@given(evolutions(), st.data())
def test_slice_and_pruning_of_a_batch_do_not_change_rows(
    case: tuple[StructType, StructType, list[dict[int, Any]]], data: st.DataObject
) -> None:
    old, _, rows = case
    projection = resolve(old, old)
    batch = batch_of(old, rows)
    start = data.draw(st.integers(0, len(rows)))
    whole = project_arrow(projection, batch)
    assert exact(rows_of(old, whole)) == exact(rows)
    part = project_arrow(projection, batch.slice(start))
    assert exact(rows_of(old, part)) == exact(rows[start:])
    some = StructType(tuple(f for f in old.fields if data.draw(st.booleans())))
    narrow = resolve(some, old)
    pruned = project_arrow(narrow, batch.select(list(narrow.file_columns)), columns=narrow.file_columns)
    assert exact(rows_of(some, pruned)) == exact([{f.id: r[f.id] for f in some.fields} for r in rows])
