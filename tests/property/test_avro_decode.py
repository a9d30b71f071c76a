"""Laws of decoding: the compiled decoder equals the reference, both equal fastavro, and damage never gets through."""

from __future__ import annotations

import io
import math
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import fastavro
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.avro_files import PLAIN, SIZED, SPLIT, avro_file

from skipstone.errors import FormatViolation, SkipstoneError
from skipstone.metadata.avro import decode, parse_container, reading

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


class Names:
    """Avro's named types need names of their own."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> str:
        self.count += 1
        return f"n{self.count}"


@st.composite
def schemas(draw: st.DrawFn, names: Names, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    """A schema, and a strategy for its values."""
    kinds = ["int", "long", "boolean", "float", "double", "string", "bytes", "fixed", "enum", "date", "decimal", "ts"]
    if depth:
        kinds += ["record", "array", "map", "keyed", "optional"] * 2
    kind = draw(st.sampled_from(kinds))
    match kind:
        case "int":
            return "int", INT
        case "long":
            return {"type": "long"}, LONG
        case "boolean":
            return "boolean", st.booleans()
        case "float":
            return "float", st.floats(width=32)
        case "double":
            return "double", st.floats()
        case "string":
            return "string", TEXT
        case "bytes":
            return "bytes", st.binary(max_size=40)
        case "fixed":
            size = draw(st.integers(1, 20))
            return {"type": "fixed", "name": names.next(), "size": size}, st.binary(min_size=size, max_size=size)
        case "enum":
            symbols = ["A", "B", "C"][: draw(st.integers(1, 3))]
            return {"type": "enum", "name": names.next(), "symbols": symbols}, st.sampled_from(symbols)
        case "date":
            return {"type": "int", "logicalType": "date"}, INT
        case "ts":
            return {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": draw(st.booleans())}, LONG
        case "decimal":
            unscaled = st.integers(-(10**9) + 1, 10**9 - 1)
            if draw(st.booleans()):
                schema = {"type": "fixed", "name": names.next(), "size": 9}
                return {**schema, "logicalType": "decimal", "precision": 9, "scale": 2}, unscaled.map(_big_endian(9))
            schema = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
            return schema, unscaled.map(_big_endian(0))
        case "record":
            return draw(records(names, depth - 1))
        case "array":
            item, values = draw(schemas(names, depth - 1))
            return {"type": "array", "items": item}, st.lists(values, max_size=5)
        case "map":
            item, values = draw(schemas(names, depth - 1))
            return {"type": "map", "values": item}, st.lists(
                st.tuples(TEXT, values), max_size=4, unique_by=lambda p: p[0]
            )
        case "keyed":
            item, values = draw(schemas(names, depth - 1))
            fields = [{"name": "key", "type": "int"}, {"name": "value", "type": item}]
            pair = {"type": "record", "name": names.next(), "fields": fields}
            entry = st.fixed_dictionaries({"key": INT, "value": values})
            return {"type": "array", "logicalType": "map", "items": pair}, st.lists(entry, max_size=4)
        case _:
            item, values = draw(schemas(names, depth - 1))
            if isinstance(item, list):
                return item, values
            return draw(st.permutations(["null", item])), st.none() | values


@st.composite
def records(draw: st.DrawFn, names: Names, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
    parts = draw(st.lists(schemas(names, depth), min_size=1, max_size=4))
    fields = [{"name": f"f{i}", "type": schema} for i, (schema, _) in enumerate(parts)]
    values = st.fixed_dictionaries({f"f{i}": values for i, (_, values) in enumerate(parts)})
    return {"type": "record", "name": names.next(), "fields": fields}, values


@st.composite
def files(draw: st.DrawFn) -> tuple[Any, list[Any], bytes]:
    schema, values = draw(records(Names(), 2))
    rows = draw(st.lists(values, max_size=8))
    data = avro_file(
        schema,
        rows,
        lists=draw(st.sampled_from([PLAIN, SIZED, SPLIT])),
        block_records=draw(st.integers(1, 4)),
        codec=draw(st.sampled_from(["null", "deflate"])),
    )
    return schema, rows, data


def _big_endian(size: int) -> Any:
    def convert(value: int) -> bytes:
        return value.to_bytes(size or (value.bit_length() // 8 + 1), "big", signed=True)

    return convert


def decode_with(compiled: bool, data: bytes) -> pa.Table:
    with patch.object(reading, "_use_compiled", return_value=compiled):
        return decode(parse_container(data, source="generated.avro"))


def raw(value: Any, schema: Any) -> Any:
    """A value of ours as the file's bytes say it: maps as pairs, logical types as their numbers; NaN by name."""
    if isinstance(schema, list):
        return None if value is None else raw(value, next(b for b in schema if b != "null"))
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {f["name"]: raw(value[f["name"]], f["type"]) for f in schema["fields"]}
    if kind == "map":
        pairs = value.items() if isinstance(value, dict) else value
        return [(k, raw(v, schema["values"])) for k, v in pairs]
    if kind == "array" and schema.get("logicalType") == "map":
        item = schema["items"]["fields"][1]["type"]
        pairs = [(p["key"], p["value"]) if isinstance(p, dict) else p for p in value]
        return [(k, raw(v, item)) for k, v in pairs]
    if kind == "array":
        return [raw(v, schema["items"]) for v in value]
    if isinstance(schema, dict) and schema.get("logicalType") == "decimal":
        return int(value.scaleb(2)) if isinstance(value, Decimal) else int.from_bytes(value, "big", signed=True)
    if kind in ("float", "double"):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    return value


def storage(array: Any) -> pa.Array:
    """The same array with dates and timestamps as integers, which Python's datetime cannot always hold."""
    type_ = array.type
    if pa.types.is_date32(type_):
        return array.view(pa.int32())
    if pa.types.is_timestamp(type_):
        return array.view(pa.int64())
    if pa.types.is_struct(type_):
        children = [storage(array.field(i)) for i in range(type_.num_fields)]
        names = [type_.field(i).name for i in range(type_.num_fields)]
        return pa.StructArray.from_arrays(children, names, mask=array.is_null())
    if pa.types.is_map(type_):
        return pa.MapArray.from_arrays(array.offsets, array.keys, storage(array.items), mask=array.is_null())
    if pa.types.is_list(type_):
        return pa.ListArray.from_arrays(array.offsets, storage(array.values), mask=array.is_null())
    return array


def rows_of(table: pa.Table) -> list[Any]:
    columns = {name: storage(table.column(name).combine_chunks()).to_pylist() for name in table.column_names}
    return [{name: columns[name][i] for name in columns} for i in range(table.num_rows)]


@settings(max_examples=250, deadline=None)
@given(files())
def test_both_decoders_give_what_was_written(file: tuple[Any, list[Any], bytes]) -> None:
    schema, rows, data = file
    reference, compiled = decode_with(False, data), decode_with(True, data)
    compiled.validate(full=True)
    assert compiled.schema.equals(reference.schema, check_metadata=True)
    expected = [raw(row, schema) for row in rows]
    assert [raw(row, schema) for row in rows_of(reference)] == expected
    assert [raw(row, schema) for row in rows_of(compiled)] == expected


@settings(max_examples=100, deadline=None)
@given(files())
def test_fastavro_reads_the_same_values(file: tuple[Any, list[Any], bytes]) -> None:
    schema, rows, _ = file
    plain = _without_logical_types(schema)
    data = avro_file(plain, rows)
    theirs: list[Any] = list(fastavro.reader(io.BytesIO(data)))
    ours = rows_of(decode_with(True, data))
    assert [raw(row, plain) for row in ours] == [raw(row, plain) for row in theirs]


def _without_logical_types(schema: Any) -> Any:
    """fastavro turns logical types into Python's dates and decimals, which cannot hold every value."""
    if isinstance(schema, list):
        return [_without_logical_types(branch) for branch in schema]
    if isinstance(schema, dict):
        return {key: _without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
    return schema


@settings(max_examples=300, deadline=None)
@given(files(), st.data())
def test_damage_is_refused_or_harmless_and_both_decoders_agree(
    file: tuple[Any, list[Any], bytes], data: st.DataObject
) -> None:
    damaged = bytearray(file[2])
    at = data.draw(st.integers(0, len(damaged) - 1))
    match data.draw(st.sampled_from(["change", "cut", "insert", "drop"])):
        case "change":
            damaged[at] = data.draw(st.integers(0, 255))
        case "cut":
            del damaged[at:]
        case "insert":
            damaged[at:at] = data.draw(st.binary(min_size=1, max_size=12))
        case _:
            del damaged[at]
    outcomes = [_outcome(compiled, bytes(damaged)) for compiled in (False, True)]
    if isinstance(outcomes[0], pa.Table):
        assert isinstance(outcomes[1], pa.Table)
        assert rows_text(outcomes[0]) == rows_text(outcomes[1])
    else:
        assert outcomes[0] == outcomes[1]


def rows_text(table: pa.Table) -> str:
    return repr(rows_of(table))


def _outcome(compiled: bool, data: bytes) -> pa.Table | str:
    try:
        table = decode_with(compiled, data)
    except SkipstoneError as error:
        return f"{type(error).__name__}: {error}"
    table.validate(full=True)
    return table


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_after_a_valid_head_are_refused_or_read(body: bytes) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "string"}}]}
    head = avro_file(schema, [])
    outcomes = [_outcome(compiled, head + body) for compiled in (False, True)]
    assert all(isinstance(o, pa.Table) or o.startswith(FormatViolation.__name__) for o in outcomes)
