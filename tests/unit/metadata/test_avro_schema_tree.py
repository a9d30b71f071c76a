from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.support.avro_files import avro_file, container

from skipstone.errors import FormatViolation, InvalidInput, Unsupported
from skipstone.metadata.avro import Caps, decode, machine, machine_bytes, parse_container
from skipstone.metadata.avro.schema_program import Op, SlotKind
from skipstone.metadata.avro.schema_tree import parse_schema_tree


def record(*types: Any, name: str = "r", **extra: Any) -> dict[str, Any]:
    fields = [{"name": f"f{i}", "type": t} for i, t in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields, **extra}


def read(schema: Any, rows: list[Any], **options: Any) -> pa.Table:
    return decode(parse_container(avro_file(schema, rows), source="a.avro"), **options)


def refuse(schema: Any) -> str:
    with pytest.raises((FormatViolation, Unsupported)) as caught:
        decode(parse_container(container(schema, []), source="a.avro"))
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize(
    ("avro", "arrow"),
    [
        ("null", pa.null()),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        ({"type": "int", "logicalType": "time-millis"}, pa.time32("ms")),
        ({"type": "long", "logicalType": "time-micros"}, pa.time64("us")),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("ms")),
        ({"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}, pa.timestamp("us", tz="UTC")),
        ({"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False}, pa.timestamp("ns")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.timestamp("us")),
        ({"type": "long", "logicalType": "odd"}, pa.int64()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, pa.decimal128(9, 2)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 99, "scale": 2}, pa.binary()),
        ({"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}, pa.binary(16)),
        ({"type": {"type": "string"}}, pa.string()),
    ],
)
def test_each_avro_type_has_its_arrow_type(avro: Any, arrow: pa.DataType) -> None:
    assert read(record("int", avro), []).schema.field(1).type == arrow


def test_a_named_type_is_reused_by_name_and_by_namespace() -> None:
    inner = {"type": "fixed", "name": "id", "namespace": "a.b", "size": 2}
    schema = record(inner, "id", "a.b.id", namespace="a.b")
    table = decode(parse_container(container(schema, [(1, b"abcdef")]), source="a.avro"))
    assert table.to_pylist() == [{"f0": b"ab", "f1": b"cd", "f2": b"ef"}]


def test_field_ids_become_arrow_metadata() -> None:
    schema = record({"type": "array", "items": "long", "element-id": 9})
    schema["fields"][0]["field-id"] = 5
    field = read(schema, []).schema.field(0)
    assert field.metadata == {b"PARQUET:field_id": b"5"}
    assert field.type.value_field.metadata == {b"PARQUET:field_id": b"9"}


def test_only_named_fields_are_decoded() -> None:
    schema = record("long", "string", ["null", record("int", {"type": "map", "values": "bytes"}, name="n")])
    rows = [{"f0": 1, "f1": "x", "f2": {"f0": 3, "f1": [("k", b"v")]}}, {"f0": 2, "f1": "y", "f2": None}]
    assert read(schema, rows, fields=["f1"]).to_pydict() == {"f1": ["x", "y"]}
    assert read(schema, rows, fields=["f2"]).to_pydict() == {"f2": [{"f0": 3, "f1": [("k", b"v")]}, None]}


def test_an_unknown_field_name_is_refused_with_what_exists() -> None:
    with pytest.raises(InvalidInput, match=r"Cannot read field 'f9' of Avro file a\.avro\. Fields: f0\."):
        read(record("long"), [], fields=["f9"])


def test_a_null_struct_gives_null_children_of_every_kind() -> None:
    inner = record("long", "string", {"type": "array", "items": "int"}, ["null", "double"], "boolean", name="n")
    value = {"f0": 1, "f1": "a", "f2": [1, 2], "f3": 0.5, "f4": True}
    rows = [{"f0": None}, {"f0": value}, {"f0": None}]
    assert read(record(["null", inner]), rows).to_pydict() == {"f0": [None, value, None]}


def test_a_union_of_one_type_and_a_nullable_null_are_read() -> None:
    assert read(record(["long"], ["null"]), [{"f0": 7, "f1": None}]).to_pylist() == [{"f0": 7, "f1": None}]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("long", "Unsupported: Cannot read Avro file a.avro: expected an Avro schema that is a record, got 'long'."),
        (record(), "Unsupported: Cannot read Avro file a.avro: expected records of at least one byte"),
        (record(["int", "string"]), "Avro schema at f0: expected a union of null and one type, got 2 branches"),
        (record(["null", "int", "string"]), "Unsupported: "),
        (record("int", "r"), "Avro schema at f1: expected no recursion, got 'r' inside itself"),
        (record({"type": "array", "items": "null"}), "Avro schema at f0: expected array items of at least one byte"),
        (
            record("nope"),
            "FormatViolation: Invalid Avro file a.avro: Avro schema at f0: expected a type, got",
        ),
        (record(5), "Avro schema at f0: expected a type, got 5"),
        (record([]), "Avro schema at f0: expected a union of at least one type, got none"),
        (record(["null", ["null", "int"]]), "Avro schema at f0: expected no union directly inside a union"),
        (record(["null", "null"]), "expected null once in a union"),
        (record({"type": "fixed", "name": "x", "size": -1}), "expected a size of fixed from 0"),
        (record({"type": "fixed", "size": 1}), "expected a name for the fixed"),
        (record({"type": "enum", "name": "e", "symbols": []}), "expected a list of symbols"),
        ({"type": "record", "name": "r"}, "Avro schema at the top: expected a list of fields, got None"),
        ({"type": "record", "name": "r", "fields": [{"name": "a"}]}, "expected a field with name and type"),
        ({**record("int"), "fields": [{"name": "a", "type": "int"}] * 2}, "expected unique field names, got 'a' twice"),
        ({**record(), "fields": [{"name": "a", "type": "int", "field-id": "x"}]}, "expected an integer for field-id"),
    ],
)
def test_a_schema_that_cannot_be_read_is_refused(schema: Any, message: str) -> None:
    assert message in refuse(schema)


def test_a_deep_schema_is_refused() -> None:
    schema: Any = "int"
    for i in range(200):
        schema = record(schema, name=f"r{i}")
    assert "expected at most 48 levels, got more" in refuse(schema)


def test_json_nested_beyond_the_stack_is_refused() -> None:
    text = b'{"type":' * 100_000
    data = container({}, []).replace(b"{}", text, 1)
    with pytest.raises(FormatViolation):
        parse_container(data, source="a.avro")


def test_names_that_multiply_types_are_refused() -> None:
    # Each level holds the one below twice: 2 ** 30 types in a few kilobytes.
    schema: Any = record("int", name="r0")
    for i in range(1, 30):
        schema = record(schema, f"r{i - 1}", name=f"r{i}")
    assert "expected at most 20000 types, got more" in refuse(schema)


def test_a_parsed_schema_is_cached_by_its_text() -> None:
    text = json.dumps(record("int")).encode()
    assert parse_schema_tree(text, Caps()) is parse_schema_tree(bytes(bytearray(text)), Caps())


def test_the_machine_uses_the_numbers_of_the_program() -> None:
    assert {op.name: getattr(machine, op.name) for op in Op} == {op.name: op.value for op in Op}
    assert {k.name: getattr(machine, f"KIND_{k.name}") for k in SlotKind} == {k.name: k.value for k in SlotKind}


def test_the_machine_is_compiled_again_when_its_lower_half_changes() -> None:
    stamp = f"{zlib.crc32(Path(machine_bytes.__file__).read_bytes()):08x}"
    assert stamp == machine.BYTES_STAMP, f"set BYTES_STAMP in machine.py to {stamp!r}"
