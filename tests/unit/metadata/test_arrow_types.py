"""Arrow types, schemas and values, both ways."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import (
    FIELD_ID_KEY,
    arrow_to_value,
    bound_type,
    from_arrow_schema,
    from_arrow_type,
    struct_from_arrow,
    to_arrow_field,
    to_arrow_schema,
    to_arrow_type,
    value_to_arrow,
    values_to_array,
)
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID
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
    PrimitiveType,
    StructType,
    Type,
)

ONE_OF_EACH: list[tuple[PrimitiveType, pa.DataType, Any]] = [
    (UNKNOWN, pa.null(), None),
    (BOOLEAN, pa.bool_(), True),
    (INT, pa.int32(), -(2**31)),
    (LONG, pa.int64(), 2**63 - 1),
    (FLOAT, pa.float32(), 0.5),
    (DOUBLE, pa.float64(), -0.1),
    (DecimalType(38, 10), pa.decimal128(38, 10), Decimal("-1234567890123456789012345678.0123456789")),
    (DATE, pa.date32(), -(2**31)),
    (TIME, pa.time64("us"), 86_399_999_999),
    (TIMESTAMP, pa.timestamp("us"), -(2**63)),
    (TIMESTAMPTZ, pa.timestamp("us", "UTC"), 2**63 - 1),
    (TIMESTAMP_NS, pa.timestamp("ns"), -1),
    (TIMESTAMPTZ_NS, pa.timestamp("ns", "UTC"), 1),
    (STRING, pa.string(), "ž😀"),
    (UUID, pa.uuid(), uuid.UUID(int=7)),
    (FixedType(3), pa.binary(3), b"\x00\xff\x01"),
    (BINARY, pa.binary(), b""),
    (VARIANT, to_arrow_type(VARIANT), {"metadata": b"\x01\x00\x00", "value": b"\x00"}),
    (GeometryType(), pa.binary(), b"\x01\x01\x00\x00\x00" + b"\x00" * 16),
    (GeographyType("srid:4326", "karney"), pa.binary(), b"\x01"),
]


def every_type() -> Schema:
    fields = [Field(id=i, name=f"c{i}", type=t) for i, (t, _, _) in enumerate(ONE_OF_EACH, start=1)]
    inner = StructType((Field(id=51, name="x", type=GeometryType("srid:3857")), Field(id=52, name="y", type=VARIANT)))
    fields += [
        Field(id=53, name="s", type=inner, required=True, doc="a struct"),
        Field(id=54, name="l", type=ListType(element_id=55, element=UUID, element_required=True)),
        Field(id=56, name="m", type=MapType(key_id=57, key=INT, value_id=58, value=inner_2(), value_required=True)),
    ]
    return Schema(fields=tuple(fields))


def inner_2() -> StructType:
    return StructType((Field(id=59, name="z", type=ListType(element_id=60, element=TIMESTAMP_NS), doc="ž"),))


@pytest.mark.parametrize(("type_", "arrow", "value"), ONE_OF_EACH, ids=lambda x: str(x)[:30])
def test_type_and_value_of_each_primitive(type_: PrimitiveType, arrow: pa.DataType, value: Any) -> None:
    assert to_arrow_type(type_) == arrow
    scalar = value_to_arrow(type_, value)
    assert scalar.type == arrow
    assert arrow_to_value(type_, scalar) == value
    assert arrow_to_value(type_, value_to_arrow(type_, None)) is None


def test_schema_of_every_type_comes_back_from_arrow() -> None:
    schema = every_type()
    assert from_arrow_schema(to_arrow_schema(schema)) == schema


def test_ids_are_on_every_level() -> None:
    arrow = to_arrow_schema(every_type())
    element = arrow.field("l").type.value_field
    assert element.metadata[FIELD_ID_KEY] == b"55" and not element.nullable
    m = arrow.field("m").type
    assert m.key_field.metadata[FIELD_ID_KEY] == b"57"
    assert m.item_field.metadata[FIELD_ID_KEY] == b"58" and not m.item_field.nullable


def test_nested_values_come_back() -> None:
    type_ = StructType((Field(id=1, name="m", type=MapType(key_id=2, key=UUID, value_id=3, value=inner_2())),))
    values = [None, {1: None}, {1: []}, {1: [(uuid.UUID(int=1), {59: [1, None]}), (uuid.UUID(int=2), None)]}]
    array = values_to_array(type_, values)
    array.validate(full=True)
    assert [arrow_to_value(type_, s) for s in array] == values


def test_decimal_keeps_the_scale_of_its_type() -> None:
    scalar = pa.scalar(Decimal("1.5"), pa.decimal128(9, 3))
    assert str(arrow_to_value(DecimalType(9, 3), scalar)) == "1.500"


def test_uuid_is_read_from_its_bound_column_too() -> None:
    scalar = pa.scalar(uuid.UUID(int=3).bytes, bound_type(UUID))
    assert arrow_to_value(UUID, scalar) == uuid.UUID(int=3)


@pytest.mark.parametrize(
    ("type_", "value"),
    [(INT, 2**31), (INT, "x"), (DecimalType(3, 1), Decimal("1.25")), (FixedType(2), b"abc"), (UUID, 5)],
)
def test_value_that_does_not_fit_is_refused(type_: PrimitiveType, value: Any) -> None:
    with pytest.raises(InvalidInput, match="Cannot convert values to Arrow"):
        value_to_arrow(type_, value)


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.int8(), INT),
        (pa.int16(), INT),
        (pa.uint8(), INT),
        (pa.uint16(), INT),
        (pa.uint32(), LONG),
        (pa.float16(), FLOAT),
        (pa.large_string(), STRING),
        (pa.string_view(), STRING),
        (pa.large_binary(), BINARY),
        (pa.binary_view(), BINARY),
        (pa.dictionary(pa.int32(), pa.string()), STRING),
        (pa.run_end_encoded(pa.int32(), pa.int64()), LONG),
        (pa.date64(), DATE),
        (pa.time32("ms"), TIME),
        (pa.timestamp("s"), TIMESTAMP),
        (pa.timestamp("ms", "Europe/Prague"), TIMESTAMPTZ),
        (pa.timestamp("ns", "+02:00"), TIMESTAMPTZ_NS),
        (pa.decimal32(5, 2), DecimalType(5, 2)),
        (pa.decimal256(38, 0), DecimalType(38, 0)),
        (pa.json_(), STRING),
        (pa.large_list(pa.int32()), ListType(element_id=NO_ID, element=INT)),
        (pa.list_(pa.int32(), 3), ListType(element_id=NO_ID, element=INT)),
        (pa.list_view(pa.int32()), ListType(element_id=NO_ID, element=INT)),
    ],
    ids=str,
)
def test_other_arrow_types_map_to_the_type_that_holds_them(arrow: pa.DataType, expected: Type) -> None:
    assert from_arrow_type(arrow) == expected


@pytest.mark.parametrize(
    ("arrow", "why"),
    [
        (pa.uint64(), "do not fit long"),
        (pa.duration("s"), "durations"),
        (pa.month_day_nano_interval(), "durations and intervals"),
        (pa.time64("ns"), "microseconds"),
        (pa.decimal256(39, 0), "at most 38 digits"),
        (pa.decimal128(5, -1), "a scale from 0"),
        (pa.dense_union([pa.field("a", pa.int32())]), "unions"),
        (pa.bool8(), "arrow.bool8"),
    ],
    ids=str,
)
def test_arrow_type_that_cannot_be_stored_is_refused_with_its_column(arrow: pa.DataType, why: str) -> None:
    schema = pa.schema([pa.field("s", pa.struct([pa.field("col", arrow)]))])
    with pytest.raises(InvalidInput, match=r"column 's\.col'.*" + why):
        from_arrow_schema(schema)


def test_nanoseconds_need_v3_or_permission_to_cut_them() -> None:
    schema = pa.schema([pa.field("t", pa.timestamp("ns"))])
    with pytest.raises(InvalidInput, match="v2 tables have no nanosecond timestamps"):
        from_arrow_schema(schema, format_version=2)
    assert from_arrow_schema(schema, format_version=2, downcast_ns=True).fields[0].type == TIMESTAMP
    assert from_arrow_schema(schema).fields[0].type == TIMESTAMP_NS
    assert from_arrow_schema(pa.schema([("t", pa.time64("ns"))]), downcast_ns=True).fields[0].type == TIME


def test_null_column_needs_v3() -> None:
    schema = pa.schema([pa.field("n", pa.null())])
    with pytest.raises(InvalidInput, match="unknown"):
        from_arrow_schema(schema, format_version=2)
    assert from_arrow_schema(schema).fields[0].type == UNKNOWN


def test_schema_without_ids_gets_fresh_ones_top_level_first() -> None:
    schema = from_arrow_schema(pa.schema([("l", pa.list_(pa.int32())), ("b", pa.string())]))
    assert {".".join(p): i for i, p in schema.paths_by_id.items()} == {"l": 1, "b": 2, "l.element": 3}


def test_schema_with_ids_on_some_fields_is_refused() -> None:
    partly = pa.schema([pa.field("a", pa.int32(), metadata={FIELD_ID_KEY: b"1"}), pa.field("b", pa.int32())])
    with pytest.raises(InvalidInput, match="on all fields or on none"):
        from_arrow_schema(partly)
    assert [f.id for f in struct_from_arrow(partly).fields] == [1, NO_ID]


def test_id_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a whole number"):
        from_arrow_schema(pa.schema([pa.field("a", pa.int32(), metadata={FIELD_ID_KEY: b"x"})]))


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (b"", GeometryType()),
        (b'{"crs":"OGC:CRS84"}', GeometryType()),
        (b'{"crs":"srid:3857"}', GeometryType("srid:3857")),
        (b'{"edges":"spherical"}', GeographyType()),
        (b'{"edges":"vincenty","crs":"EPSG:4326"}', GeographyType("EPSG:4326", "vincenty")),
        (b'{"crs":{"id":{"authority":"OGC","code":"CRS84"}}}', GeometryType()),
    ],
)
def test_geoarrow_columns_become_geometry_and_geography(metadata: bytes, expected: Type) -> None:
    told: dict[bytes | str, bytes | str] = {
        b"ARROW:extension:name": b"geoarrow.wkb",
        b"ARROW:extension:metadata": metadata,
    }
    assert from_arrow_schema(pa.schema([pa.field("g", pa.binary(), metadata=told)])).fields[0].type == expected


def test_geoarrow_metadata_that_is_no_json_object_is_refused() -> None:
    told: dict[bytes | str, bytes | str] = {
        b"ARROW:extension:name": b"geoarrow.wkb",
        b"ARROW:extension:metadata": b"[",
    }
    with pytest.raises(InvalidInput, match="GeoArrow"):
        from_arrow_schema(pa.schema([pa.field("g", pa.binary(), metadata=told)]))


def test_field_without_id_or_doc_has_no_metadata() -> None:
    assert to_arrow_field(Field(id=NO_ID, name="a", type=INT)).metadata is None
