"""Clauses of the spec that are rules on types and schemas, one test a clause."""

from __future__ import annotations

from typing import Any

import pytest

from skipstone.errors import FormatViolation, InvalidInput, Unsupported
from skipstone.metadata.reserved import (
    DELETE_ROW_ID,
    FIELD_ID_MAX,
    METADATA_COLUMNS,
    PARTITION_ID,
    delete_row_column,
    partition_column,
)
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    EDGE_ALGORITHMS,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
    parse_primitive,
)
from skipstone.metadata.values import parse_value, serialize_value

V1_TYPES = [
    BOOLEAN, INT, LONG, FLOAT, DOUBLE, DecimalType(38, 38), DATE, TIME, TIMESTAMP, TIMESTAMPTZ, STRING, UUID,
    FixedType(16), BINARY,
]  # fmt: skip
V3_TYPES = [UNKNOWN, TIMESTAMP_NS, TIMESTAMPTZ_NS, VARIANT, GeometryType(), GeographyType()]


def _nested(inner: Type) -> Schema:
    """A schema with the type in a map of lists of structs."""
    struct = StructType((Field(id=6, name="x", type=inner),))
    deep = MapType(key_id=2, key=STRING, value_id=3, value=ListType(element_id=4, element=struct))
    return Schema(fields=(Field(id=1, name="deep", type=deep),))


# -- Primitive Types -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", [*V1_TYPES, *V3_TYPES], ids=str)
def test_a_primitive_is_named_by_its_text(type_: Type) -> None:
    assert parse_primitive(str(type_)) == type_


@pytest.mark.parametrize("type_", V1_TYPES, ids=str)
def test_types_of_v1_are_allowed_in_every_version(type_: Type) -> None:
    for version in (1, 2, 3):
        _nested(type_).check_format_version(version)


@pytest.mark.parametrize("type_", V3_TYPES, ids=str)
def test_types_of_v3_are_refused_in_older_tables_at_any_depth(type_: Type) -> None:
    _nested(type_).check_format_version(3)
    for version in (1, 2):
        with pytest.raises(InvalidInput, match=r"needs v3"):
            _nested(type_).check_format_version(version)


@pytest.mark.parametrize("text", ["decimal(39, 2)", "decimal(0, 0)", "decimal(9, 10)", "int128", "fixed", "geometry()"])
def test_a_type_outside_the_table_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid type"):
        parse_primitive(text)


def test_an_initial_default_needs_v3() -> None:
    schema = Schema(fields=(Field(id=1, name="a", type=INT, initial_default=5, write_default=5),))
    schema.check_format_version(3)
    with pytest.raises(InvalidInput, match="initial-default 5, which needs v3"):
        schema.check_format_version(2)


# -- CRS, Edge-Interpolation Algorithm -----------------------------------------------------------------------------


def test_the_crs_defaults_to_crs84_and_custom_ones_are_kept() -> None:
    assert GeometryType().effective_crs == GeographyType().effective_crs == "OGC:CRS84"
    assert parse_primitive("geometry(srid:3857)") == GeometryType("srid:3857")
    assert parse_primitive("geography(projjson:my_CRS)") == GeographyType("projjson:my_CRS")
    assert str(parse_primitive("geography(projjson:my_CRS, karney)")) == "geography(projjson:my_CRS, karney)"


def test_edges_are_spherical_unless_one_of_five_algorithms_is_named() -> None:
    assert EDGE_ALGORITHMS == ("spherical", "vincenty", "thomas", "andoyer", "karney")
    assert GeographyType().effective_algorithm == "spherical"
    for algorithm in EDGE_ALGORITHMS:
        assert parse_primitive(f"geography(srid:4326, {algorithm})") == GeographyType("srid:4326", algorithm)
    with pytest.raises(InvalidInput, match="expected an edge algorithm"):
        parse_primitive("geography(srid:4326, planar)")


# -- Nested Types --------------------------------------------------------------------------------------------------


def test_ids_are_unique_in_the_whole_schema() -> None:
    for type_ in (
        ListType(element_id=1, element=STRING),
        MapType(key_id=2, key=STRING, value_id=1, value=STRING),
        StructType((Field(id=1, name="x", type=INT),)),
    ):
        with pytest.raises(FormatViolation, match="expected unique field ids, got id 1"):
            Schema(fields=(Field(id=1, name="a", type=type_),))


def test_names_are_unique_among_siblings_only() -> None:
    inner = StructType((Field(id=2, name="a", type=INT),))
    assert Schema(fields=(Field(id=1, name="a", type=inner),)).name_of(2) == "a.a"
    with pytest.raises(FormatViolation, match="expected unique names in a, got 'b' twice"):
        twice = StructType((Field(id=2, name="b", type=INT), Field(id=3, name="b", type=INT)))
        Schema(fields=(Field(id=1, name="a", type=twice),))


def test_map_keys_are_required_and_may_be_nested() -> None:
    key = StructType((Field(id=4, name="x", type=INT),))
    map_type = MapType(key_id=2, key=key, value_id=3, value=LONG)
    assert map_type.key_field.required
    assert not map_type.value_field.required
    assert Schema(fields=(Field(id=1, name="m", type=map_type),)).find("m.key.x") == key.fields[0]


# -- Identifier Field IDs ------------------------------------------------------------------------------------------


def _identified(field: Field, identifier: int, *above: Field) -> Schema:
    return Schema(fields=(field, *above), identifier_field_ids=(identifier,))


def test_required_primitives_identify_also_inside_required_structs() -> None:
    inner = StructType((Field(id=2, name="x", type=STRING, required=True),))
    schema = _identified(Field(id=1, name="s", type=inner, required=True), 2)
    assert schema.identifier_field_ids == (2,)


@pytest.mark.parametrize(
    ("field", "identifier"),
    [
        (Field(id=1, name="a", type=LONG), 1),
        (Field(id=1, name="a", type=FLOAT, required=True), 1),
        (Field(id=1, name="a", type=DOUBLE, required=True), 1),
        (Field(id=1, name="a", type=VARIANT, required=True), 1),
        (Field(id=1, name="a", type=StructType((Field(id=2, name="x", type=INT, required=True),)), required=True), 1),
        (Field(id=1, name="a", type=StructType((Field(id=2, name="x", type=INT, required=True),))), 2),
        (Field(id=1, name="a", type=ListType(element_id=2, element=INT, element_required=True), required=True), 2),
        (Field(id=1, name="a", type=MapType(key_id=2, key=INT, value_id=3, value=INT), required=True), 2),
        (Field(id=1, name="a", type=LONG, required=True), 9),
    ],
    ids=["optional", "float", "double", "variant", "struct", "optional-struct", "list", "map-key", "missing"],
)
def test_a_field_that_may_be_null_or_inexact_does_not_identify(field: Field, identifier: int) -> None:
    with pytest.raises(FormatViolation, match="Invalid identifier field"):
        _identified(field, identifier)


# -- Reserved Field IDs --------------------------------------------------------------------------------------------


def test_ids_of_the_reserved_range_are_refused_in_user_schemas() -> None:
    assert FIELD_ID_MAX == 2147483447
    Schema(fields=(Field(id=FIELD_ID_MAX, name="a", type=INT),))
    with pytest.raises(FormatViolation, match="the rest is reserved"):
        Schema(fields=(Field(id=FIELD_ID_MAX + 1, name="a", type=INT),))


def test_metadata_columns_have_the_ids_and_types_of_the_spec() -> None:
    assert {name: (f.id, f.type) for name, f in METADATA_COLUMNS.items()} == {
        "_file": (2147483646, STRING),
        "_pos": (2147483645, LONG),
        "_deleted": (2147483644, BOOLEAN),
        "_spec_id": (2147483643, INT),
        "_change_type": (2147483543, STRING),
        "_change_ordinal": (2147483542, INT),
        "_commit_snapshot_id": (2147483541, LONG),
        "_row_id": (2147483540, LONG),
        "_last_updated_sequence_number": (2147483539, LONG),
    }
    assert PARTITION_ID == partition_column(StructType(())).id == 2147483642


def test_the_row_column_of_position_deletes_is_required_and_reserved() -> None:
    row = delete_row_column(StructType((Field(id=1, name="a", type=INT),)))
    assert (row.id, row.name, row.required) == (DELETE_ROW_ID, "row", True)
    assert DELETE_ROW_ID == 2147483544


# -- Appendix D: Binary single-value serialization -----------------------------------------------------------------


@pytest.mark.parametrize(
    "type_",
    [
        UNKNOWN,
        VARIANT,
        StructType((Field(id=1, name="a", type=INT),)),
        ListType(element_id=1, element=INT),
        MapType(key_id=1, key=INT, value_id=2, value=INT),
    ],
    ids=lambda t: type(t).__name__,
)
def test_types_without_a_binary_single_value_are_refused_both_ways(type_: Any) -> None:
    with pytest.raises((InvalidInput, Unsupported)):
        serialize_value(type_, {})
    with pytest.raises((InvalidInput, Unsupported, FormatViolation)):
        parse_value(type_, b"", source="here")
