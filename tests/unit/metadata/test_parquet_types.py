"""Parquet schemas: what a file must say, and what real and hand-made files say."""

from __future__ import annotations

import io
import struct as binary
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skipstone.metadata.formats.parquet_types import (
    WRITE_OPTIONS,
    decimal_storage,
    from_parquet_schema,
    parquet_write_schema,
    to_parquet_schema,
)
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

# Type, physical type, length, our logical type, pyarrow's name of it.
MAPPING: list[tuple[Type, str, int | None, str | None, str]] = [
    (BOOLEAN, "BOOLEAN", None, None, "None"),
    (INT, "INT32", None, None, "None"),
    (LONG, "INT64", None, None, "None"),
    (FLOAT, "FLOAT", None, None, "None"),
    (DOUBLE, "DOUBLE", None, None, "None"),
    (DecimalType(9, 2), "INT32", None, "DECIMAL(9, 2)", "Decimal(precision=9, scale=2)"),
    (DecimalType(18, 2), "INT64", None, "DECIMAL(18, 2)", "Decimal(precision=18, scale=2)"),
    (DecimalType(19, 2), "FIXED_LEN_BYTE_ARRAY", 9, "DECIMAL(19, 2)", "Decimal(precision=19, scale=2)"),
    (DecimalType(38, 0), "FIXED_LEN_BYTE_ARRAY", 16, "DECIMAL(38, 0)", "Decimal(precision=38, scale=0)"),
    (DATE, "INT32", None, "DATE", "Date"),
    (
        TIME,
        "INT64",
        None,
        "TIME(MICROS, adjustToUtc=false)",
        "Time(isAdjustedToUTC=false, timeUnit=microseconds)",
    ),
    (
        TIMESTAMP,
        "INT64",
        None,
        "TIMESTAMP(MICROS, adjustToUtc=false)",
        "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds",
    ),
    (
        TIMESTAMPTZ,
        "INT64",
        None,
        "TIMESTAMP(MICROS, adjustToUtc=true)",
        "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds",
    ),
    (
        TIMESTAMP_NS,
        "INT64",
        None,
        "TIMESTAMP(NANOS, adjustToUtc=false)",
        "Timestamp(isAdjustedToUTC=false, timeUnit=nanoseconds",
    ),
    (
        TIMESTAMPTZ_NS,
        "INT64",
        None,
        "TIMESTAMP(NANOS, adjustToUtc=true)",
        "Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds",
    ),
    (STRING, "BYTE_ARRAY", None, "STRING", "String"),
    (UUID, "FIXED_LEN_BYTE_ARRAY", 16, "UUID", "UUID"),
    (FixedType(7), "FIXED_LEN_BYTE_ARRAY", 7, None, "None"),
    (BINARY, "BYTE_ARRAY", None, None, "None"),
    # No CRS in a file means OGC:CRS84.
    (GeometryType(), "BYTE_ARRAY", None, "GEOMETRY(OGC:CRS84)", "Geometry(crs=)"),
    (GeometryType("srid:3857"), "BYTE_ARRAY", None, "GEOMETRY(srid:3857)", "Geometry(crs=srid:3857)"),
    (
        GeographyType("srid:4326"),
        "BYTE_ARRAY",
        None,
        "GEOGRAPHY(srid:4326, spherical)",
        "Geography(crs=srid:4326, algorithm=spherical)",
    ),
]


def field(field_id: int, name: str, type_: Type, **more: Any) -> Field:
    return Field(id=field_id, name=name, type=type_, **more)


def every_type() -> StructType:
    flat = [field(i, f"c{i}", t, required=i % 2 == 0) for i, (t, *_) in enumerate(MAPPING, start=1)]
    inner = StructType((field(61, "x", UUID, required=True), field(62, "y", DecimalType(20, 3))))
    return StructType(
        (
            *flat,
            field(63, "s", inner),
            field(64, "l", ListType(element_id=65, element=inner_2(), element_required=True), required=True),
            field(68, "m", MapType(key_id=69, key=INT, value_id=70, value=GeometryType())),
            field(71, "v", VARIANT),
        )
    )


def inner_2() -> StructType:
    return StructType((field(66, "z", ListType(element_id=67, element=TIMESTAMPTZ_NS)),))


def written(struct: StructType) -> pq.ParquetFile:
    schema = parquet_write_schema(struct)
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, **WRITE_OPTIONS):
        pass
    sink.seek(0)
    return pq.ParquetFile(sink)


@pytest.mark.parametrize(("type_", "physical", "length", "logical", "arrow_says"), MAPPING, ids=lambda x: str(x)[:30])
def test_storage_of_each_type_is_what_a_real_file_has(
    type_: Type, physical: str, length: int | None, logical: str | None, arrow_says: str
) -> None:
    struct = StructType((field(5, "a", type_, required=True),))
    (node,) = to_parquet_schema(struct).children
    assert (node.physical, node.length, node.logical) == (physical, length, logical)
    assert (node.repetition, node.field_id) == ("required", 5)
    column = written(struct).schema.column(0)
    assert column.physical_type == physical
    assert str(column.logical_type).startswith(arrow_says)
    assert column.length == (length or 0)


def test_every_type_comes_back_from_a_real_file() -> None:
    assert from_parquet_schema(written(every_type()).schema) == every_type()


def test_description_has_the_columns_of_the_real_file_with_ids() -> None:
    node = to_parquet_schema(every_type())
    schema = written(every_type()).schema
    columns = [schema.column(i) for i in range(len(schema.names))]
    assert [path for path, _ in node.leaves()] == [c.path for c in columns]
    assert [leaf.physical for _, leaf in node.leaves()] == [c.physical_type for c in columns]
    assert {leaf.field_id for path, leaf in node.leaves() if not path.startswith("v.")} >= {61, 62, 67, 69, 70}
    assert {leaf.field_id for path, leaf in node.leaves() if path.startswith("v.")} == {None}


def test_lists_and_maps_have_three_levels() -> None:
    nodes = {n.name: n for n in to_parquet_schema(every_type()).children}
    (middle,) = nodes["l"].children
    assert (nodes["l"].logical, middle.name, middle.repetition, middle.field_id) == ("LIST", "list", "repeated", None)
    assert [(c.name, c.field_id) for c in middle.children] == [("element", 65)]
    (entry,) = nodes["m"].children
    assert (nodes["m"].logical, entry.name, entry.repetition) == ("MAP", "key_value", "repeated")
    assert [(c.name, c.repetition, c.field_id) for c in entry.children] == [
        ("key", "required", 69),
        ("value", "optional", 70),
    ]
    assert nodes["v"].logical == "VARIANT(1)"


def test_unknown_columns_are_not_stored() -> None:
    struct = StructType(
        (field(1, "u", UNKNOWN), field(2, "s", StructType((field(3, "u", UNKNOWN), field(4, "a", INT)))))
    )
    assert [path for path, _ in to_parquet_schema(struct).leaves()] == ["s.a"]
    assert [f.id for f in from_parquet_schema(written(struct).schema).fields] == [2]


def test_names_are_made_safe_in_files() -> None:
    struct = StructType((field(1, "a.b", INT), field(2, "with space", INT)))
    assert written(struct).schema.names == ["a_x2Eb", "with_x20space"]
    assert [n.name for n in to_parquet_schema(struct).children] == ["a_x2Eb", "with_x20space"]


def test_geography_with_other_edges_is_written_as_plain_binary() -> None:
    struct = StructType((field(1, "g", GeographyType(None, "karney")),))
    assert from_parquet_schema(written(struct).schema) == StructType((field(1, "g", BINARY),))


@pytest.mark.parametrize(("precision", "storage"), [(1, "INT32"), (9, "INT32"), (10, "INT64"), (18, "INT64")])
def test_narrow_decimals_are_integers(precision: int, storage: str) -> None:
    assert decimal_storage(precision) == (storage, None)


class TestForeignFiles:
    def read(self, table: pa.Table, **options: Any) -> StructType:
        sink = io.BytesIO()
        pq.write_table(table, sink, **options)
        sink.seek(0)
        return from_parquet_schema(pq.ParquetFile(sink).schema)

    def test_file_without_ids_has_none(self) -> None:
        table = pa.table({"a": [1], "l": [[1.0]], "m": pa.array([[("k", True)]], pa.map_(pa.string(), pa.bool_()))})
        assert self.read(table) == StructType(
            (
                field(NO_ID, "a", LONG),
                field(NO_ID, "l", ListType(element_id=NO_ID, element=DOUBLE)),
                field(NO_ID, "m", MapType(key_id=NO_ID, key=STRING, value_id=NO_ID, value=BOOLEAN)),
            )
        )

    def test_int96_is_an_instant(self) -> None:
        table = pa.table({"t": pa.array([0], pa.timestamp("ns"))})
        assert self.read(table, use_deprecated_int96_timestamps=True).fields[0].type == TIMESTAMPTZ

    def test_milliseconds_small_and_unsigned_integers_map_to_what_holds_them(self) -> None:
        table = pa.table(
            {
                "ms": pa.array([0], pa.timestamp("ms")),
                "i8": pa.array([0], pa.int8()),
                "u32": pa.array([0], pa.uint32()),
                "u64": pa.array([0], pa.uint64()),
                "f16": pa.array([0], pa.float16()),
                "tn": pa.array([0], pa.time64("ns")),
                "big": pa.array([None], pa.decimal256(50, 2)),
            }
        )
        types = [f.type for f in self.read(table).fields]
        assert types[:6] == [TIMESTAMP, INT, LONG, DecimalType(20, 0), FLOAT, TIME]
        assert isinstance(types[6], FixedType)

    def test_struct_that_looks_like_a_variant_is_a_struct_without_an_id(self) -> None:
        parts = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
        table = pa.table({"v": pa.array([{"metadata": b"", "value": b""}], parts)})
        assert isinstance(self.read(table).fields[0].type, StructType)


class Element:
    """One element of a hand-made Parquet schema, in Thrift's compact protocol."""

    def __init__(self, name: str, repetition: int | None, *, physical: int | None = None, children: int | None = None):
        self.name, self.repetition, self.physical, self.children = name, repetition, physical, children
        self.converted: int | None = None
        self.field_id: int | None = None

    def annotated(self, converted: int | None = None, field_id: int | None = None) -> Element:
        self.converted, self.field_id = converted, field_id
        return self

    def thrift(self) -> bytes:
        out, last = b"", 0
        values = {
            1: self.physical,
            3: self.repetition,
            4: self.name,
            5: self.children,
            6: self.converted,
            9: self.field_id,
        }
        for number, value in sorted(values.items()):
            if value is None:
                continue
            kind = 8 if isinstance(value, str) else 5
            out += bytes([(number - last) << 4 | kind])
            out += varint(len(value.encode())) + value.encode() if isinstance(value, str) else varint(value << 1)
            last = number
        return out + b"\x00"


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def file_of(*elements: Element) -> pq.ParquetFile:
    """A Parquet file without rows that has exactly these schema elements."""
    body = b"".join(e.thrift() for e in elements)
    footer = b"\x15\x02" + b"\x19" + bytes([len(elements) << 4 | 12]) + body + b"\x16\x00" + b"\x19\x0c" + b"\x00"
    return pq.ParquetFile(io.BytesIO(b"PAR1" + footer + binary.pack("<I", len(footer)) + b"PAR1"))


REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
INT32, BYTE_ARRAY = 1, 6
UTF8, MAP, MAP_KEY_VALUE, LIST = 0, 1, 2, 3


def test_two_level_list_of_old_writers_is_a_list() -> None:
    file = file_of(
        Element("schema", None, children=1),
        Element("l", OPTIONAL, children=1).annotated(LIST, 1),
        Element("array", REPEATED, physical=INT32).annotated(None, 2),
    )
    expected = field(1, "l", ListType(element_id=2, element=INT, element_required=True))
    assert from_parquet_schema(file.schema) == StructType((expected,))


def test_two_level_list_of_structs_is_a_list() -> None:
    file = file_of(
        Element("schema", None, children=1),
        Element("l", OPTIONAL, children=1).annotated(LIST, 1),
        Element("array", REPEATED, children=1).annotated(None, 2),
        Element("x", OPTIONAL, physical=INT32).annotated(None, 3),
    )
    inner = StructType((field(3, "x", INT),))
    assert from_parquet_schema(file.schema).fields == (
        field(1, "l", ListType(element_id=2, element=inner, element_required=True)),
    )


def test_repeated_column_alone_is_a_list() -> None:
    file = file_of(
        Element("schema", None, children=1),
        Element("r", REPEATED, physical=INT32).annotated(None, 4),
    )
    found = from_parquet_schema(file.schema).fields[0].type
    assert isinstance(found, ListType) and found.element == INT


@pytest.mark.parametrize("middle", ["map", "key_value", "entries"])
def test_old_map_forms_are_maps(middle: str) -> None:
    file = file_of(
        Element("schema", None, children=1),
        Element("m", OPTIONAL, children=1).annotated(MAP_KEY_VALUE if middle == "map" else MAP, 1),
        Element(middle, REPEATED, children=2).annotated(MAP_KEY_VALUE),
        Element("k", REQUIRED, physical=BYTE_ARRAY).annotated(UTF8, 2),
        Element("v", OPTIONAL, physical=INT32).annotated(None, 3),
    )
    expected = field(1, "m", MapType(key_id=2, key=STRING, value_id=3, value=INT))
    assert from_parquet_schema(file.schema) == StructType((expected,))
