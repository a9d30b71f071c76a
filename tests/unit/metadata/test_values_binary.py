"""Binary single-value serialization and bounds: known bytes, strict widths, promotions."""

from __future__ import annotations

import math
import struct
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.support.strategies import PRIMITIVES

from skipstone.errors import FormatViolation, InvalidInput, Unsupported
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
    FixedType,
    GeographyType,
    GeometryType,
    PrimitiveType,
)
from skipstone.metadata.values import (
    bound_type,
    parse_bound,
    parse_bounds_array,
    parse_value,
    serialize_bound,
    serialize_bounds_array,
    serialize_value,
)
from skipstone.metadata.values.geo import GeoPoint
from skipstone.metadata.values.variant import VariantKind, VariantPrimitive

GEOMETRY = GeometryType()
POINT_1_2 = bytes.fromhex("0101000000000000000000f03f0000000000000040")

KNOWN: list[tuple[PrimitiveType, Any, str]] = [
    (BOOLEAN, False, "00"),
    (BOOLEAN, True, "01"),
    (INT, 34, "22000000"),
    (INT, -(2**31), "00000080"),
    (LONG, 34, "2200000000000000"),
    (FLOAT, 1.0, "0000803f"),
    (FLOAT, -0.0, "00000080"),
    (DOUBLE, 1.0, "000000000000f03f"),
    (DATE, 17486, "4e440000"),
    (DATE, -1, "ffffffff"),
    (TIME, 81068123456, "406509e012000000"),
    (TIMESTAMP, -1, "ffffffffffffffff"),
    (TIMESTAMPTZ, 1510871468123456, "40a5282d215e0500"),
    (TIMESTAMP_NS, 1, "0100000000000000"),
    (TIMESTAMPTZ_NS, -1, "ffffffffffffffff"),
    (STRING, "iceberg", "69636562657267"),
    (STRING, "é😀", "c3a9f09f9880"),
    (STRING, "", ""),
    (UUID, uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09677c4bbda4793f349cb785e7"),
    (FixedType(3), b"\x00\x01\x02", "000102"),
    (BINARY, b"\x00\xff", "00ff"),
    (DecimalType(9, 2), Decimal("14.20"), "058c"),
    (DecimalType(9, 2), Decimal("0.00"), "00"),
    (DecimalType(9, 2), Decimal("1.27"), "7f"),
    (DecimalType(9, 2), Decimal("1.28"), "0080"),
    (DecimalType(9, 2), Decimal("-1.28"), "80"),
    (DecimalType(9, 2), Decimal("-1.29"), "ff7f"),
    (DecimalType(38, 0), Decimal(10**38 - 1), "4b3b4ca85a86c47a098a223fffffffff"),
    (GEOMETRY, POINT_1_2, POINT_1_2.hex()),
]


@pytest.mark.parametrize(("type_", "value", "hex_bytes"), KNOWN, ids=lambda v: str(v)[:30])
def test_known_values_have_known_bytes(type_: PrimitiveType, value: Any, hex_bytes: str) -> None:
    assert serialize_value(type_, value).hex() == hex_bytes
    parsed = parse_value(type_, bytes.fromhex(hex_bytes))
    assert parsed == value
    assert type(parsed) is type(value)


def test_any_nonzero_byte_is_true() -> None:
    assert parse_value(BOOLEAN, b"\x02") is True
    assert parse_value(BOOLEAN, b"\xff") is True


def test_a_decimal_with_needless_bytes_is_read() -> None:
    assert parse_value(DecimalType(9, 2), b"\x00\x00\x00\x00\x01") == Decimal("0.01")
    assert parse_value(DecimalType(9, 2), b"\xff" * 16) == Decimal("-0.01")


def test_a_decimal_keeps_the_scale_of_its_type() -> None:
    assert str(parse_value(DecimalType(9, 4), b"\x64")) == "0.0100"
    assert serialize_value(DecimalType(9, 4), Decimal("0.01")) == b"\x64"


@pytest.mark.parametrize(
    ("type_", "data", "message"),
    [
        (LONG, b"\x00" * 4, "Invalid m0.avro: entry 12: expected 8 bytes for long, got 4."),
        (INT, b"", "Invalid m0.avro: entry 12: expected 4 bytes for int, got 0."),
        (BOOLEAN, b"\x00\x00", "Invalid m0.avro: entry 12: expected 1 byte for boolean, got 2."),
        (UUID, b"\x00" * 15, "Invalid m0.avro: entry 12: expected 16 bytes for uuid, got 15."),
        (FixedType(3), b"\x00\x00", "Invalid m0.avro: entry 12: expected 3 bytes for fixed[3], got 2."),
        (STRING, b"a\xff", "Invalid m0.avro: entry 12: expected UTF-8 for string, got byte 0xff at offset 1."),
        (DecimalType(9, 2), b"", "Invalid m0.avro: entry 12: expected 1 to 16 bytes for decimal(9, 2), got 0."),
        (DecimalType(9, 2), b"0" * 17, "Invalid m0.avro: entry 12: expected 1 to 16 bytes for decimal(9, 2), got 17."),
        (
            DecimalType(2, 1),
            b"\x64",
            "Invalid m0.avro: entry 12: expected at most 2 digits for decimal(2, 1), got unscaled value 100.",
        ),
        (
            TIME,
            b"\xff" * 8,
            "Invalid m0.avro: entry 12: expected 0 to 86399999999 microseconds for time, got -1.",
        ),
    ],
)  # fmt: skip
def test_wrong_bytes_are_refused_with_place_expected_and_got(type_: PrimitiveType, data: bytes, message: str) -> None:
    with pytest.raises(FormatViolation) as e:
        parse_value(type_, data, source="m0.avro: entry 12")
    assert str(e.value) == message


@pytest.mark.parametrize("type_", [UNKNOWN, VARIANT], ids=str)
def test_types_without_single_values_are_refused(type_: PrimitiveType) -> None:
    with pytest.raises(FormatViolation, match="not defined"):
        parse_value(type_, b"\x00")
    with pytest.raises(InvalidInput):
        serialize_value(type_, 1)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (INT, 2**31),
        (INT, True),
        (INT, 1.0),
        (LONG, -(2**63) - 1),
        (BOOLEAN, 1),
        (FLOAT, 1e39),
        (FLOAT, 1),
        (DOUBLE, "1"),
        (DecimalType(4, 2), Decimal("100.00")),
        (DecimalType(4, 2), Decimal("0.001")),
        (DecimalType(4, 2), Decimal("NaN")),
        (DecimalType(4, 2), Decimal("1E+999999")),
        (DecimalType(4, 2), Decimal("1E-999999")),
        (DecimalType(4, 2), 1.5),
        (STRING, b"a"),
        (STRING, "\ud800"),
        (UUID, "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        (FixedType(2), b"abc"),
        (BINARY, "abc"),
        (TIME, 86_400_000_000),
        (DATE, "2017-11-16"),
        (INT, None),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_not_written(type_: PrimitiveType, value: Any) -> None:
    with pytest.raises(InvalidInput):
        serialize_value(type_, value)


# -- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "data", "value"),
    [
        (LONG, struct.pack("<i", -5), -5),
        (DOUBLE, struct.pack("<f", 0.1), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
        (TIMESTAMP, struct.pack("<i", -1), -86_400_000_000),
        (TIMESTAMP_NS, struct.pack("<i", 1), 86_400_000_000_000),
        (DecimalType(38, 2), b"\x01", Decimal("0.01")),
    ],
    ids=str,
)
def test_a_bound_from_before_a_promotion_is_read_by_its_width(type_: PrimitiveType, data: bytes, value: Any) -> None:
    assert parse_bound(type_, data) == value
    # and as a column, beside a bound from after it
    array = pa.array([data, None, serialize_bound(type_, value)])
    first, missing, last = parse_bounds_array(type_, array)
    assert first == last
    assert not missing.is_valid


def test_timestamptz_and_time_have_no_narrow_form() -> None:
    for type_ in (TIMESTAMPTZ, TIMESTAMPTZ_NS, TIME):
        with pytest.raises(FormatViolation, match="expected 8 bytes"):
            parse_bound(type_, b"\x00" * 4)


def test_a_date_outside_the_range_of_the_promoted_type_is_refused() -> None:
    far = struct.pack("<i", 106_752)  # one day after the last whole day of timestamp_ns
    with pytest.raises(FormatViolation, match="within the range of timestamp_ns"):
        parse_bound(TIMESTAMP_NS, far)
    edge = struct.pack("<i", 106_751)
    assert parse_bound(TIMESTAMP_NS, edge) == 106_751 * 86_400 * 10**9
    column = parse_bounds_array(TIMESTAMP_NS, pa.array([far, edge]), on_bad="unknown").cast(pa.int64())
    assert column.to_pylist() == [None, 106_751 * 86_400 * 10**9]


def test_a_long_bound_of_seven_bytes_names_both_widths() -> None:
    with pytest.raises(FormatViolation, match=r"expected 8 bytes for long \(or 4, written as int\), got 7\."):
        parse_bound(LONG, b"\x00" * 7)


def test_a_truncated_bound_of_fixed_is_filled_with_zeros() -> None:
    assert parse_bound(FixedType(4), b"ab") == b"ab\x00\x00"
    assert parse_bounds_array(FixedType(4), pa.array([b"ab", b"abcd"])).to_pylist() == [b"ab\x00\x00", b"abcd"]
    for wrong in (b"", b"abcde"):
        with pytest.raises(FormatViolation, match="expected 4 bytes"):
            parse_bound(FixedType(4), wrong)


def test_a_wide_fixed_cannot_turn_few_bytes_into_many() -> None:
    with pytest.raises(FormatViolation, match="expected 2147483647 bytes"):
        parse_bound(FixedType(2**31 - 1), b"a")
    with pytest.raises(Unsupported, match="Leave the column out"):
        parse_bounds_array(FixedType(2**31 - 1), pa.array([b"a", None]))


def test_a_fixed_of_no_bytes_has_bounds() -> None:
    column = parse_bounds_array(FixedType(0), pa.array([b"", None]))
    assert column.to_pylist() == [b"", None]
    assert serialize_bounds_array(FixedType(0), column).to_pylist() == [b"", None]


@pytest.mark.parametrize(
    ("point", "floats"),
    [
        (GeoPoint(x=1, y=2), [1, 2]),
        (GeoPoint(x=1, y=2, z=3), [1, 2, 3]),
        (GeoPoint(x=1, y=2, m=4), [1, 2, math.nan, 4]),
        (GeoPoint(x=1, y=2, z=3, m=4), [1, 2, 3, 4]),
    ],
    ids=["xy", "xyz", "xym", "xyzm"],
)
@pytest.mark.parametrize("type_", [GEOMETRY, GeographyType()], ids=str)
def test_a_geometry_bound_is_a_point(type_: PrimitiveType, point: GeoPoint, floats: list[float]) -> None:
    data = struct.pack(f"<{len(floats)}d", *floats)
    assert serialize_bound(type_, point) == data
    assert parse_bound(type_, data) == point


def test_a_geometry_bound_of_java_is_read() -> None:
    lower = parse_bound(GEOMETRY, bytes.fromhex("000000000000000000000000000002c0"))
    assert lower == GeoPoint(x=0.0, y=-2.25)


@pytest.mark.parametrize("width", [0, 8, 15, 17, 40])
def test_a_geometry_bound_of_another_width_is_refused(width: int) -> None:
    with pytest.raises(FormatViolation, match="expected 16, 24 or 32 bytes for geometry"):
        parse_bound(GEOMETRY, b"\x00" * width)


def test_bounds_that_are_not_numbers_are_not_written() -> None:
    for type_ in (FLOAT, DOUBLE):
        with pytest.raises(InvalidInput, match="Leave the bound out"):
            serialize_bound(type_, math.nan)
    with pytest.raises(InvalidInput, match="Leave the bound out"):
        serialize_bound(GEOMETRY, GeoPoint(x=math.nan, y=0.0))


JAVA_LOWER = bytes.fromhex(
    "110500060e141c23245b2761275d245b2762696e275d245b2764275d245b27646563275d245b277473275d020500010203040002090e141d"
    "0c003c0200000000ff2cffffffff2003000000003401202110d70d0600"
)


def test_a_variant_bound_of_java_is_read_and_written_alike() -> None:
    bounds = parse_bound(VARIANT, JAVA_LOWER)
    assert bounds == {
        "$['a']": VariantPrimitive(VariantKind.INT8, 0),
        "$['bin']": VariantPrimitive(VariantKind.BINARY, b"\x00\xff"),
        "$['d']": VariantPrimitive(VariantKind.DATE, -1),
        "$['dec']": VariantPrimitive(VariantKind.DECIMAL4, Decimal("0.000")),
        "$['ts']": VariantPrimitive(VariantKind.TIMESTAMP, 1_704_067_200_000_001),
    }
    assert serialize_bound(VARIANT, bounds) == JAVA_LOWER


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected variant metadata, got 0 bytes"),
        (bytes.fromhex("0100000c01"), "expected a variant object of bounds"),
        (bytes.fromhex("010100016102010000020c01"), "expected a normalized JSON path"),
        (bytes.fromhex("01010001240201000003030000"), "expected a primitive variant bound for \\$"),
        (JAVA_LOWER + b"\x00", "expected a variant value of"),
    ],
    ids=["empty", "no object", "bad path", "array", "more bytes"],
)
def test_a_wrong_variant_bound_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatViolation, match=message):
        parse_bound(VARIANT, data)


def test_variant_bounds_by_a_wrong_path_are_not_written() -> None:
    with pytest.raises(InvalidInput, match="normalized JSON path"):
        serialize_bound(VARIANT, {"a": VariantPrimitive(VariantKind.INT8, 1)})
    with pytest.raises(InvalidInput, match="primitives by path"):
        serialize_bound(VARIANT, {"$": 1})


# -- columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", [*PRIMITIVES, GEOMETRY, GeographyType(), VARIANT, UNKNOWN], ids=str)
def test_empty_and_all_null_columns_keep_their_type(type_: PrimitiveType) -> None:
    for count in (0, 3):
        given = pa.nulls(count, pa.binary())
        parsed = parse_bounds_array(type_, given)
        assert parsed.type == bound_type(type_)
        assert parsed.null_count == len(parsed) == count
        assert serialize_bounds_array(type_, parsed).equals(given)


def test_a_bad_bound_names_file_entry_and_column() -> None:
    array = pa.array([None, b"\x00" * 8, b"\x00" * 3])
    with pytest.raises(FormatViolation) as e:
        parse_bounds_array(TIMESTAMPTZ, array, source="manifest m0.avro", place="lower_bounds[4]")
    assert str(e.value) == (
        "Invalid manifest m0.avro: entry 2, lower_bounds[4]: expected 8 bytes for timestamptz, got 3."
    )
    with pytest.raises(FormatViolation, match="Invalid m0: row 7: expected"):
        parse_bounds_array(TIMESTAMPTZ, array, source="m0", place=lambda row: f"row {row + 5}")


def test_bad_bounds_become_unknown_when_asked_and_the_rest_stays() -> None:
    strings = parse_bounds_array(STRING, pa.array([b"a", b"\xff", None, b""]), on_bad="unknown")
    assert strings.to_pylist() == ["a", None, None, ""]
    longs = parse_bounds_array(LONG, pa.array([b"\x01", b"\x02" + b"\x00" * 7]), on_bad="unknown")
    assert longs.to_pylist() == [None, 2]
    unknowns = parse_bounds_array(UNKNOWN, pa.array([b"\x01", None]), on_bad="unknown")
    assert unknowns.to_pylist() == [None, None]


def test_a_nan_bound_is_unknown_to_whoever_prunes_and_kept_for_whoever_looks() -> None:
    array = pa.array([struct.pack("<d", math.nan), struct.pack("<d", 1.0)])
    assert parse_bounds_array(DOUBLE, array, on_bad="unknown").to_pylist() == [None, 1.0]
    assert math.isnan(parse_bounds_array(DOUBLE, array)[0].as_py())
    assert serialize_bounds_array(DOUBLE, pa.array([math.nan, 1.0])).to_pylist() == [None, struct.pack("<d", 1.0)]


def test_a_point_without_x_is_unknown() -> None:
    array = pa.array([struct.pack("<2d", math.nan, 1.0), struct.pack("<2d", 1.0, 2.0)])
    assert parse_bounds_array(GEOMETRY, array, on_bad="unknown").to_pylist() == [
        None,
        {"x": 1.0, "y": 2.0, "z": None, "m": None},
    ]


def test_a_bound_for_an_unknown_column_is_refused() -> None:
    with pytest.raises(FormatViolation, match="entry 1, upper_bounds"):
        parse_bounds_array(UNKNOWN, pa.array([None, b"\x00"]), place="upper_bounds[1]")


def test_an_array_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected an Arrow array of binary, got int64"):
        parse_bounds_array(LONG, pa.array([1]))
    with pytest.raises(InvalidInput, match="expected an Arrow array of int64, got int32"):
        serialize_bounds_array(LONG, pa.array([1], pa.int32()))


def test_a_slice_is_parsed_from_its_offset() -> None:
    array = pa.array([b"zz", *(struct.pack("<q", i) for i in range(5))]).slice(1)
    assert parse_bounds_array(LONG, array).to_pylist() == [0, 1, 2, 3, 4]
    assert parse_bounds_array(LONG, array.slice(2, 2)).to_pylist() == [2, 3]
