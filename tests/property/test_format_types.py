"""Schemas survive Arrow, Avro, Parquet and ORC; values survive Arrow; bad schemas raise one kind of error."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc
from tests.support.strategies import nullable, primitive_types, schemas, types

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.arrow_types import arrow_to_value, from_arrow_schema, to_arrow_schema, values_to_array
from skipstone.metadata.formats.avro_names import is_avro_name, sanitize_siblings
from skipstone.metadata.formats.avro_types import from_avro_schema, to_avro_schema
from skipstone.metadata.formats.orc_types import from_orc_schema, orc_write_schema
from skipstone.metadata.formats.parquet_types import WRITE_OPTIONS, from_parquet_schema, parquet_write_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import assign_fresh_ids, unnumbered
from skipstone.metadata.schemas.name_mapping import (
    apply_name_mapping,
    create_name_mapping,
    parse_name_mapping,
    serialize_name_mapping,
    update_name_mapping,
)
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.metadata.types import Field, ListType, MapType, StructType, Type, map_types, walk

ANY_PRIMITIVE = primitive_types(geo=True, variant=True)


def exact(value: Any) -> str:
    """A text that tells -0.0 from 0.0, NaN from everything else, decimals of other scales apart; dicts in any order."""
    match value:
        case dict():
            return "{" + ", ".join(f"{k}: {exact(value[k])}" for k in sorted(value)) + "}"
        case list() | tuple():
            return f"{type(value).__name__}({', '.join(map(exact, value))})"
        case _:
            return repr(value)


def plain(f: Field) -> Field:
    """What files keep of a field: no doc, and names that nobody reads."""
    return replace(f, name="", doc=None)


@settings(max_examples=80, deadline=None)
@given(schemas(primitives=primitive_types(geo=True, variant=True, unknown=True)))
def test_schema_survives_arrow(schema: Schema) -> None:
    assert from_arrow_schema(to_arrow_schema(schema)).fields == schema.fields


@settings(max_examples=80, deadline=None)
@given(schemas(primitives=primitive_types(variant=True, unknown=True)))
def test_schema_survives_avro(schema: Schema) -> None:
    written = json.loads(json.dumps(to_avro_schema(schema)))
    fastavro.parse_schema(written)
    # An unknown place is null in Avro, whatever the schema says about its need.
    expected = map_types(schema.struct, lambda f: f)
    assert optional_unknown(from_avro_schema(written)) == optional_unknown(expected)


def optional_unknown(type_: Type) -> Type:
    return map_types(type_, lambda f: replace(f, required=f.required and str(f.type) != "unknown"))


@settings(max_examples=30, deadline=None)
@given(schemas(primitives=ANY_PRIMITIVE))
def test_schema_survives_a_parquet_file(schema: Schema) -> None:
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, parquet_write_schema(schema), **WRITE_OPTIONS):
        pass
    sink.seek(0)
    found = from_parquet_schema(pq.ParquetFile(sink).schema)
    assert map_types(found, plain) == map_types(schema.struct, plain)


@settings(max_examples=30, deadline=None)
@given(schemas(primitives=primitive_types(variant=True)))
def test_schema_survives_an_orc_file(schema: Schema) -> None:
    arrow = orc_write_schema(schema)
    sink = io.BytesIO()
    orc.write_table(pa.table([pa.array([], f.type) for f in arrow], schema=arrow), sink)
    sink.seek(0)
    found = from_orc_schema(orc.ORCFile(sink).schema)
    assert map_types(found, lambda f: replace(f, doc=None)) == map_types(schema.struct, lambda f: replace(f, doc=None))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_values_survive_arrow(data: st.DataObject) -> None:
    type_ = data.draw(types(primitives=primitive_types(geo=True)))
    rows = data.draw(st.lists(nullable(type_), max_size=5))
    array = values_to_array(type_, rows)
    array.validate(full=True)
    assert exact([arrow_to_value(type_, s) for s in array]) == exact(rows)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5, unique=True))
def test_sanitized_names_are_legal_and_unique(names: list[str]) -> None:
    safe = sanitize_siblings(names, range(1, len(names) + 1))
    assert len(set(safe)) == len(safe)
    assert all(is_avro_name(s) for s in safe)


@settings(max_examples=50, deadline=None)
@given(schemas())
def test_fresh_ids_are_dense_and_number_the_top_first(schema: Schema) -> None:
    fresh = assign_fresh_ids(schema)
    ids = [f.id for f in walk(fresh.struct)]
    assert sorted(ids) == list(range(1, len(ids) + 1))
    assert [f.id for f in fresh.fields] == list(range(1, len(fresh.fields) + 1))
    assert map_types(fresh.struct, unnumbered) == map_types(schema.struct, unnumbered)
    assert assign_fresh_ids(schema, base=schema) == schema


@settings(max_examples=50, deadline=None)
@given(schemas(primitives=ANY_PRIMITIVE))
def test_type_texts_give_the_schema_back(schema: Schema) -> None:
    columns = [(f.name, text_of(f.type) + (" not null" if f.required else "")) for f in schema.fields]
    found = schema_of(columns)
    assert map_types(found.struct, lambda f: replace(f, doc=None)) == map_types(
        assign_fresh_ids(schema).struct, lambda f: replace(f, doc=None)
    )


def text_of(type_: Type) -> str:
    match type_:
        case StructType(fields):
            inside = ", ".join(f"`{f.name.replace('`', '``')}`: {place(f)}" for f in fields)
            return f"struct<{inside}>"
        case ListType():
            return f"list<{place(type_.element_field)}>"
        case MapType():
            return f"map<{text_of(type_.key)}, {place(type_.value_field)}>"
        case _:
            return str(type_)


def place(f: Field) -> str:
    return text_of(f.type) + (" not null" if f.required else "")


@settings(max_examples=50, deadline=None)
@given(schemas())
def test_mapping_of_a_schema_gives_its_ids_back_and_survives_json(schema: Schema) -> None:
    mapping = create_name_mapping(schema)
    assert parse_name_mapping(serialize_name_mapping(mapping)) == mapping
    bare = map_types(schema.struct, unnumbered)
    assert isinstance(bare, StructType)
    assert apply_name_mapping(mapping, bare) == schema.struct
    assert update_name_mapping(mapping, schema) == mapping


@settings(max_examples=50, deadline=None)
@given(schemas(), schemas())
def test_updated_mapping_finds_every_column_of_the_new_schema(old: Schema, new: Schema) -> None:
    new = assign_fresh_ids(new)
    old = assign_fresh_ids(old)
    mapping = update_name_mapping(create_name_mapping(StructType(old.fields)), StructType(disjoint(new, old)))
    bare = map_types(StructType(disjoint(new, old)), unnumbered)
    assert isinstance(bare, StructType)
    assert [f.id for f in apply_name_mapping(mapping, bare).fields] == [f.id for f in disjoint(new, old)]


def disjoint(new: Schema, old: Schema) -> tuple[Field, ...]:
    """The new columns: the first keeps the id of an old one (a rename), the rest are additions."""
    shift = old.highest_field_id + 1
    moved = map_types(new.struct, lambda f: replace(f, id=f.id + shift))
    assert isinstance(moved, StructType)
    return (replace(moved.fields[0], id=old.fields[0].id), *moved.fields[1:])


JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 50)
    | st.sampled_from(["int", "null", "record", "fixed", "array", "map"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "fields", "items", "values", "size", "logicalType", "precision", "field-id", "names"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(JSONS)
def test_any_json_is_an_avro_schema_or_a_violation(found: Any) -> None:
    try:
        assert isinstance(from_avro_schema(found, source="x.avro"), StructType)
    except FormatViolation as e:
        assert "x.avro" in str(e)


@settings(max_examples=200, deadline=None)
@given(JSONS.map(json.dumps) | st.text(max_size=40))
def test_any_text_is_a_name_mapping_or_a_violation(text: str) -> None:
    try:
        mapping = parse_name_mapping(text, source="property")
    except FormatViolation as e:
        assert "property" in str(e)
    else:
        assert parse_name_mapping(serialize_name_mapping(mapping)) == mapping
