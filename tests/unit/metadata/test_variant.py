"""The Variant encoding: bytes that Iceberg Java and Spark wrote, every physical type, and damage."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.values.variant import (
    DEPTH_MAX,
    VariantArray,
    VariantKind,
    VariantObject,
    VariantPrimitive,
    VariantValue,
    parse_metadata,
    parse_variant,
    serialize_variant,
)
from skipstone.metadata.values.variant_paths import format_path, parse_path
from skipstone.metadata.values.variant_python import (
    variant_from_json,
    variant_from_python,
    variant_to_json,
    variant_to_python,
)

NO_NAMES = b"\x01\x00\x00"

# metadata, value, JSON text: written and printed by Spark with Iceberg Java.
WRITTEN_BY_SPARK = [
    ("010000", "00", "null"),
    ("010000", "0c01", "1"),
    ("010000", "1174657874", '"text"'),
    ("010000", "18351cdcdf02000000", "12345678901"),
    ("010000", "240f216d250a43290b00", "3.141592653589793"),
    ("010000", "03050002060c0d0e0c010d74776f2001230000000004", '[1,"two",3.5,null,true]'),
    ("01020001026164", "0202000100040a0d73747220027d000000", '{"a":"str","d":1.25}'),
    ("0102000103617473", "0202000100020d0cf929323032342d30312d3031", '{"a":-7,"ts":"2024-01-01"}'),
    (
        "0104000102030461626365",
        "0203000103000213150c01020102000c0303000204060c010c020c030578",
        '{"a":1,"b":{"c":[1,2,3]},"e":"x"}',
    ),
    ("010300010203616263", "0202000100030b102c010201020003030000", '{"a":300,"b":{"c":[]}}'),
    ("01010006c3a9f09f9880", "02010000020c01", '{"é😀":1}'),
    (
        "010600010204070a0b6164747364656362696e66",
        "0206000401030502001602101d07220c042cffffffff3401202110d70d06002003a00f00003c0200000000ff380000c07f",
        '{"a":4,"bin":"AP8=","d":"1969-12-31","dec":4,"f":"NaN","ts":"2024-01-01 00:00:00.000001"}',
    ),
]


@pytest.mark.parametrize(("metadata", "value", "text"), WRITTEN_BY_SPARK, ids=lambda v: str(v)[:25])
def test_what_spark_wrote_reads_as_spark_prints_it(metadata: str, value: str, text: str) -> None:
    assert variant_to_json(parse_variant(bytes.fromhex(metadata), bytes.fromhex(value))) == text


def test_values_may_lie_in_any_order() -> None:
    # offsets 2, 0: the value of "a" lies behind the value of "b"
    value = parse_variant(bytes.fromhex("01020001026162"), bytes.fromhex("02020001020004" + "0c02" + "0c01"))
    assert variant_to_python(value) == {"a": 1, "b": 2}


PRIMITIVES: list[tuple[VariantKind, Any, str]] = [
    (VariantKind.NULL, None, "00"),
    (VariantKind.TRUE, True, "04"),
    (VariantKind.FALSE, False, "08"),
    (VariantKind.INT8, -1, "0cff"),
    (VariantKind.INT16, 300, "102c01"),
    (VariantKind.INT32, -2, "14feffffff"),
    (VariantKind.INT64, 1, "180100000000000000"),
    (VariantKind.DOUBLE, 1.0, "1c000000000000f03f"),
    (VariantKind.DECIMAL4, Decimal("1.25"), "20027d000000"),
    (VariantKind.DECIMAL8, Decimal("-0.01"), "2402ffffffffffffffff"),
    (VariantKind.DECIMAL16, Decimal(1), "280001" + "00" * 15),
    (VariantKind.DATE, -1, "2cffffffff"),
    (VariantKind.TIMESTAMPTZ, 1, "300100000000000000"),
    (VariantKind.TIMESTAMP, 2, "340200000000000000"),
    (VariantKind.FLOAT, 1.0, "380000803f"),
    (VariantKind.BINARY, b"\x00\xff", "3c0200000000ff"),
    (VariantKind.STRING, "x" * 64, "4040000000" + "78" * 64),
    (VariantKind.STRING, "x" * 63, "fd" + "78" * 63),
    (VariantKind.STRING, "", "01"),
    (VariantKind.TIME, 3, "440300000000000000"),
    (VariantKind.TIMESTAMPTZ_NS, 4, "480400000000000000"),
    (VariantKind.TIMESTAMP_NS, 5, "4c0500000000000000"),
    (VariantKind.UUID, uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "50f79c3e09677c4bbda4793f349cb785e7"),
]


@pytest.mark.parametrize(("kind", "value", "hex_bytes"), PRIMITIVES, ids=lambda v: str(v)[:20])
def test_every_primitive_has_its_bytes(kind: VariantKind, value: Any, hex_bytes: str) -> None:
    primitive = VariantPrimitive(kind, value)
    assert serialize_variant(primitive) == (NO_NAMES, bytes.fromhex(hex_bytes))
    assert parse_variant(NO_NAMES, bytes.fromhex(hex_bytes)) == primitive


def test_a_long_form_of_a_short_string_is_the_same_string() -> None:
    assert parse_variant(NO_NAMES, bytes.fromhex("400100000061")) == VariantPrimitive(VariantKind.STRING, "a")


@pytest.mark.parametrize("count", [255, 256, 70_000])
def test_many_elements_widen_counts_and_offsets(count: int) -> None:
    array = VariantArray((VariantPrimitive(VariantKind.NULL),) * count)
    names = VariantObject(tuple((f"n{i:05d}", VariantPrimitive(VariantKind.TRUE, True)) for i in range(count)))
    for value in (array, names):
        metadata, data = serialize_variant(value)
        assert (data[1:5] == count.to_bytes(4, "little")) == (count > 255)
        assert parse_variant(metadata, data) == value


def test_wider_fields_than_needed_are_read() -> None:
    # is_large, 4-byte ids and offsets, 4-byte dictionary
    metadata = bytes.fromhex("c1" + "01000000" + "00000000" + "01000000" + "61")
    value = bytes.fromhex("7e" + "01000000" + "00000000" + "00000000" + "02000000" + "0c07")
    assert variant_to_python(parse_variant(metadata, value)) == {"a": 7}


@pytest.mark.parametrize(
    ("metadata", "value", "message"),
    [
        ("", "00", "expected variant metadata, got 0 bytes"),
        ("020000", "00", "expected variant metadata version 1, got 2"),
        ("0101", "00", "expected 2 bytes of dictionary offsets, got 0"),
        ("0101000561", "00", "expected 5 bytes of dictionary names, got 1"),
        ("0101010161", "00", "offsets that rise from 0"),
        ("010200020161", "00", "offsets that rise from 0"),
        ("1102000102" + "6261", "00", "expected sorted unique variant names"),
        ("01010001ff", "00", "expected UTF-8, got byte 0xff"),
        ("01000000", "00", "expected variant metadata of 3 bytes, got 4"),
        ("c1ffffffff", "00", "bytes of dictionary offsets, got 0"),
        ("010000", "", "expected 1 bytes of a variant value, got 0"),
        ("010000", "54", "expected a variant type id from 0 to 20, got 21"),
        ("010000", "0c", "expected 1 bytes of INT8, got 0"),
        ("010000", "18000000", "expected 8 bytes of INT64, got 3"),
        ("010000", "2027" + "00000000", "expected a scale from 0 to 38, got 39"),
        ("010000", "2000" + "ffffff7f", "expected at most 9 digits for DECIMAL4"),
        ("010000", "0d7477", "expected 3 bytes of short string, got 2"),
        ("010000", "05ff", "expected UTF-8"),
        ("010000", "40ffffffff61", "expected 4294967295 bytes of STRING, got 1"),
        ("010000", "0000", "expected a variant value of 1 bytes, got 2"),
        ("010000", "1300000000", "ids and offsets of 0 elements, got 0"),
        ("010000", "0301" + "0005" + "00", "expected 5 bytes of elements, got 1"),
        ("010000", "0301" + "0201" + "00", "expected 1 bytes of a variant value, got 0"),
        ("010000", "1fffffffff", "elements, got 0"),
        ("010000", "02010000010c", "expected 1 bytes of INT8, got 0"),
        ("0101000161", "0201050001" + "00", "expected a field id below 1, got 5"),
        ("0101000161", "02020000000102" + "0000", "expected unique names in an object"),
        ("010200010261" + "61", "02020001000102" + "0000", "expected unique names in an object"),
    ],
)
def test_damage_is_named(metadata: str, value: str, message: str) -> None:
    with pytest.raises(FormatViolation, match=f"^Invalid v of m0: .*{message}"):
        parse_variant(bytes.fromhex(metadata), bytes.fromhex(value), source="v of m0")


def test_values_that_overlap_cannot_blow_up_memory() -> None:
    # Ten levels of arrays, each with 200 elements that are all the same inner array: 200**10 values if believed.
    value = b"\x00"
    for _ in range(10):
        offsets = (0).to_bytes(4, "little") * 200 + len(value).to_bytes(4, "little")
        value = bytes([0b0000_1111, 200]) + offsets + value
    with pytest.raises(FormatViolation, match="values that do not overlap"):
        parse_variant(NO_NAMES, value)


def nested_arrays(levels: int) -> VariantValue:
    value: VariantValue = VariantArray()
    for _ in range(levels):
        value = VariantArray((value,))
    return value


def test_nesting_has_a_limit_both_ways() -> None:
    deepest = nested_arrays(DEPTH_MAX)
    metadata, data = serialize_variant(deepest)
    assert parse_variant(metadata, data) == deepest
    with pytest.raises(InvalidInput, match="levels of nesting"):
        serialize_variant(nested_arrays(DEPTH_MAX + 1))
    deeper = bytes.fromhex("0701") + b"\x00\x00" + len(data).to_bytes(2, "little") + data
    with pytest.raises(FormatViolation, match="levels of nesting"):
        parse_variant(metadata, deeper)


def test_an_unsorted_dictionary_is_read_and_a_sorted_one_written() -> None:
    assert parse_metadata(bytes.fromhex("01020001026261")) == (("b", "a"), 7)
    metadata, _ = serialize_variant(variant_from_python({"b": 1, "a": {"c": 2}}))
    assert parse_metadata(metadata)[0] == ("a", "b", "c")
    assert metadata[0] & 0x10


@pytest.mark.parametrize(
    "primitive",
    [
        VariantPrimitive(VariantKind.INT8, 128),
        VariantPrimitive(VariantKind.INT64, 2**63),
        VariantPrimitive(VariantKind.DECIMAL4, Decimal(10**9)),
        VariantPrimitive(VariantKind.DECIMAL4, Decimal("1E+3")),
        VariantPrimitive(VariantKind.DECIMAL16, Decimal("NaN")),
        VariantPrimitive(VariantKind.STRING, "\ud800"),
        VariantPrimitive(VariantKind.STRING, b"a"),
        VariantPrimitive(VariantKind.UUID, "a"),
        VariantPrimitive(VariantKind.DATE, "2017-11-16"),
    ],
    ids=str,
)
def test_a_value_of_another_kind_is_not_written(primitive: VariantPrimitive) -> None:
    with pytest.raises(InvalidInput, match="Invalid variant"):
        serialize_variant(primitive)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (127, VariantKind.INT8),
        (-128, VariantKind.INT8),
        (128, VariantKind.INT16),
        (2**31, VariantKind.INT64),
        (2**63, VariantKind.DECIMAL16),
        (Decimal("1.5"), VariantKind.DECIMAL4),
        (Decimal("1E+3"), VariantKind.DECIMAL4),
        (Decimal("1234567890.5"), VariantKind.DECIMAL8),
        (1.5, VariantKind.DOUBLE),
        (dt.date(2024, 1, 1), VariantKind.DATE),
        (dt.datetime(2024, 1, 1), VariantKind.TIMESTAMP),
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), VariantKind.TIMESTAMPTZ),
        (dt.time(1, 2, 3), VariantKind.TIME),
        (uuid.UUID(int=1), VariantKind.UUID),
        (b"a", VariantKind.BINARY),
    ],
    ids=str,
)
def test_python_values_take_the_narrowest_kind_and_come_back(given: Any, kind: VariantKind) -> None:
    value = variant_from_python(given)
    assert isinstance(value, VariantPrimitive)
    assert value.kind is kind
    assert variant_to_python(value) == given


@pytest.mark.parametrize(
    "given", [pytest.param(object(), id="object"), {1: 2}, 10**38, Decimal("1E+99"), Decimal("Infinity")], ids=str
)
def test_python_values_without_a_variant_are_refused(given: Any) -> None:
    with pytest.raises(InvalidInput):
        variant_from_python(given)


def test_instants_that_datetime_cannot_hold_become_text() -> None:
    assert variant_to_python(VariantPrimitive(VariantKind.DATE, 2**31 - 1)) == "+5881580-07-11"
    assert variant_to_python(VariantPrimitive(VariantKind.TIMESTAMP_NS, 1)) == "1970-01-01 00:00:00.000000001"
    assert variant_to_json(VariantPrimitive(VariantKind.TIMESTAMPTZ, 0)) == '"1970-01-01 00:00:00+00:00"'


def test_json_numbers_choose_their_kind() -> None:
    value = variant_from_json('{"i": 1, "d": 1.50, "e": 1e3, "long": 0.1234567890123456789012345678901234567890}')
    kinds = {name: v.kind for name, v in value.fields} if isinstance(value, VariantObject) else {}  # type: ignore[union-attr]
    assert kinds == {
        "i": VariantKind.INT8,
        "d": VariantKind.DECIMAL4,
        "e": VariantKind.DOUBLE,
        "long": VariantKind.DOUBLE,
    }
    assert json.loads(variant_to_json(value))["d"] == 1.5


@pytest.mark.parametrize("text", ["", "{", '{"a":1,"a":2}', "NaN", "[" * 100_000])
def test_text_that_is_no_json_of_a_variant_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        variant_from_json(text)


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ((), "$"),
        (("event_type",), "$['event_type']"),
        (("user.name",), "$['user.name']"),
        (("location", "latitude"), "$['location']['latitude']"),
        (("it's", "a\\b"), "$['it\\'s']['a\\\\b']"),
        (("\n\t\x00\x1f\x7f",), "$['\\n\\t\\u0000\\u001f\x7f']"),
        (("é😀", ""), "$['é😀']['']"),
    ],
)
def test_a_path_is_normalized(names: tuple[str, ...], path: str) -> None:
    assert format_path(names) == path
    assert parse_path(path) == names


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "$.a",
        "$['a'",
        '$["a"]',
        "$[0]",
        "$['a']x",
        "$['\n']",
        "$['\\u000a']",
        "$['\\u001F']",
        "$['\\x']",
        "$''",
    ],
)
def test_a_path_that_is_not_normalized_is_refused(path: str) -> None:
    with pytest.raises(FormatViolation, match="expected a normalized JSON path"):
        parse_path(path)
