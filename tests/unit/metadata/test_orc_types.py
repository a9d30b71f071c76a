"""ORC types: attributes for every Iceberg type, read back from real files."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.orc_types import OrcType, from_orc_schema, orc_write_schema, to_orc_schema
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
    StructType,
    Type,
)

# Type, ORC kind, attributes beside id and required.
MAPPING: list[tuple[Type, str, dict[str, str]]] = [
    (BOOLEAN, "boolean", {}),
    (INT, "int", {}),
    (LONG, "bigint", {"iceberg.long-type": "LONG"}),
    (FLOAT, "float", {}),
    (DOUBLE, "double", {}),
    (DecimalType(9, 2), "decimal(9,2)", {}),
    (DATE, "date", {}),
    (TIME, "bigint", {"iceberg.long-type": "TIME"}),
    (TIMESTAMP, "timestamp", {"iceberg.timestamp-unit": "MICROS"}),
    (TIMESTAMPTZ, "timestamp with local time zone", {"iceberg.timestamp-unit": "MICROS"}),
    (TIMESTAMP_NS, "timestamp", {"iceberg.timestamp-unit": "NANOS"}),
    (TIMESTAMPTZ_NS, "timestamp with local time zone", {"iceberg.timestamp-unit": "NANOS"}),
    (STRING, "string", {}),
    (UUID, "binary", {"iceberg.binary-type": "UUID"}),
    (FixedType(7), "binary", {"iceberg.binary-type": "FIXED", "iceberg.length": "7"}),
    (BINARY, "binary", {"iceberg.binary-type": "BINARY"}),
    (VARIANT, "struct<metadata:binary,value:binary>", {"iceberg.struct-type": "VARIANT"}),
    (GeometryType(), "binary", {"iceberg.binary-type": "GEOMETRY"}),
    (GeographyType(), "binary", {"iceberg.binary-type": "GEOGRAPHY"}),
]


def every_type() -> StructType:
    flat = [Field(id=i, name=f"c {i}", type=t, required=i % 2 == 0) for i, (t, _, _) in enumerate(MAPPING, start=1)]
    inner = StructType((Field(id=61, name="x", type=UUID, required=True), Field(id=62, name="y", type=TIME)))
    nested = [
        Field(id=63, name="s", type=inner),
        Field(id=64, name="l", type=ListType(element_id=65, element=inner_2(), element_required=True)),
        Field(id=68, name="m", type=MapType(key_id=69, key=STRING, value_id=70, value=FixedType(2))),
    ]
    return StructType((*flat, *nested))


def inner_2() -> StructType:
    return StructType((Field(id=66, name="z", type=ListType(element_id=67, element=TIMESTAMPTZ_NS)),))


@pytest.mark.parametrize(("type_", "kind", "attributes"), MAPPING, ids=lambda x: str(x)[:40])
def test_kind_and_attributes_of_each_type(type_: Type, kind: str, attributes: dict[str, str]) -> None:
    root = to_orc_schema(StructType((Field(id=5, name="a", type=type_, required=True),)))
    (node,) = root.children
    assert root.attributes == {}
    assert str(node) == kind
    assert node.attributes == {"iceberg.id": "5", "iceberg.required": "true", **attributes}


def test_variant_parts_have_no_ids() -> None:
    (node,) = to_orc_schema(StructType((Field(id=5, name="v", type=VARIANT),))).children
    assert node.children == (OrcType(kind="binary"), OrcType(kind="binary"))


def test_unknown_columns_are_not_stored() -> None:
    struct = StructType((Field(id=1, name="u", type=UNKNOWN), Field(id=2, name="a", type=INT)))
    assert str(to_orc_schema(struct)) == "struct<a:int>"
    assert orc_write_schema(struct).names == ["a"]


def test_nested_types_print_as_orc_does() -> None:
    struct = StructType(
        (
            Field(
                id=1,
                name="m",
                type=MapType(key_id=2, key=STRING, value_id=3, value=ListType(element_id=4, element=INT)),
            ),
        )
    )
    assert str(to_orc_schema(struct)) == "struct<m:map<string,array<int>>>"


def test_every_type_comes_back_from_a_real_file() -> None:
    struct = every_type()
    schema = orc_write_schema(struct)
    sink = io.BytesIO()
    orc.write_table(pa.table([pa.array([], f.type) for f in schema], schema=schema), sink)
    sink.seek(0)
    assert from_orc_schema(orc.ORCFile(sink).schema, source="f.orc") == struct


def test_file_without_attributes_has_no_ids_and_is_optional() -> None:
    schema = pa.schema([("t", pa.timestamp("ns")), ("b", pa.binary()), ("i", pa.int8()), ("l", pa.list_(pa.int64()))])
    struct = from_orc_schema(schema)
    assert [(f.id, f.type, f.required) for f in struct.fields[:3]] == [
        (NO_ID, TIMESTAMP, False),
        (NO_ID, BINARY, False),
        (NO_ID, INT, False),
    ]
    assert struct.fields[3].type == ListType(element_id=NO_ID, element=LONG)


def test_column_no_table_can_read_does_not_stop_the_others() -> None:
    union = pa.dense_union([pa.field("a", pa.int32())])
    assert [f.name for f in from_orc_schema(pa.schema([("u", union), ("a", pa.int32())])).fields] == ["u", "a"]


@pytest.mark.parametrize(
    ("arrow", "attributes", "expected"),
    [
        (pa.int32(), {"iceberg.id": "x"}, "iceberg.id as a whole number, got 'x'"),
        (pa.int32(), {"iceberg.id": "-1"}, "iceberg.id as a whole number, got '-1'"),
        (pa.binary(), {"iceberg.binary-type": "FIXED"}, "iceberg.length as a whole number, got None"),
        (pa.binary(), {"iceberg.binary-type": "JSON"}, "BINARY, UUID, FIXED, GEOMETRY or GEOGRAPHY, got 'JSON'"),
        (pa.timestamp("ns"), {"iceberg.timestamp-unit": "MILLIS"}, "MICROS or NANOS, got 'MILLIS'"),
    ],
)
def test_attribute_with_a_fault_is_a_violation_that_names_the_column(
    arrow: pa.DataType, attributes: dict[str, Any], expected: str
) -> None:
    inner = pa.struct([pa.field("x", arrow, metadata=attributes)])
    with pytest.raises(FormatViolation, match=rf"f\.orc, column 's\.x': expected .*{expected}"):
        from_orc_schema(pa.schema([pa.field("s", inner)]), source="f.orc")
