"""The spec's "Partition Transforms" by example: what applies to what, results, texts, refusals."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.partitions.hashing import hash_value
from skipstone.metadata.partitions.terms import Term, parse_sort_term, parse_term
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    parse_transform,
)
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
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
    ListType,
    StructType,
    Type,
)

TYPES: list[Type] = [
    UNKNOWN, BOOLEAN, INT, LONG, FLOAT, DOUBLE, DecimalType(9, 2), DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS,
    TIMESTAMPTZ_NS, STRING, UUID, FixedType(4), BINARY, VARIANT, GeometryType(), GeographyType(),
]  # fmt: skip
MOMENTS = "timestamp timestamptz timestamp_ns timestamptz_ns"
SOURCES: dict[Transform, str] = {
    IDENTITY: f"unknown boolean int long float double decimal(9,2) date time {MOMENTS} string uuid fixed[4] binary",
    BucketTransform(4): f"int long decimal(9,2) date time {MOMENTS} string uuid fixed[4] binary",
    TruncateTransform(4): "int long decimal(9,2) string binary",
    YEAR: f"date {MOMENTS}",
    MONTH: f"date {MOMENTS}",
    DAY: f"date {MOMENTS}",
    HOUR: MOMENTS,
    VOID: " ".join(str(t).replace(" ", "") for t in TYPES),
}


@pytest.mark.parametrize("transform", SOURCES, ids=str)
def test_a_transform_applies_to_exactly_the_types_of_the_spec(transform: Transform) -> None:
    assert [str(t).replace(" ", "") for t in TYPES if transform.can_transform(t)] == SOURCES[transform].split()


@pytest.mark.parametrize("transform", [t for t in SOURCES if t != VOID], ids=str)
def test_nested_types_cannot_be_transformed(transform: Transform) -> None:
    for type_ in (StructType(), ListType(element_id=1, element=INT)):
        assert not transform.can_transform(type_)
        with pytest.raises(InvalidInput, match="Cannot apply"):
            transform.apply(type_, None)


@pytest.mark.parametrize("transform", SOURCES, ids=str)
def test_null_stays_null(transform: Transform) -> None:
    for type_ in TYPES:
        if transform.can_transform(type_):
            assert transform.apply(type_, None) is None
    assert transform.to_human(TIMESTAMP, None) == "null"


def test_result_types() -> None:
    assert IDENTITY.result_type(STRING) == STRING
    assert BucketTransform(4).result_type(STRING) == INT
    assert TruncateTransform(4).result_type(DecimalType(9, 2)) == DecimalType(9, 2)
    assert [t.result_type(TIMESTAMP) for t in (YEAR, MONTH, DAY, HOUR)] == [INT, INT, DATE, INT]
    assert VOID.result_type(STRING) == STRING
    assert VOID.result_type(UNKNOWN) == INT
    assert UnknownTransform("zorder").result_type(LONG) == STRING


DAY_US = 86_400_000_000


@pytest.mark.parametrize(
    ("transform", "type_", "value", "expected"),
    [
        (YEAR, DATE, 17486, 47),
        (MONTH, DATE, 17486, 574),
        (DAY, DATE, 17486, 17486),
        (YEAR, DATE, 0, 0),
        (YEAR, DATE, -1, -1),
        (MONTH, DATE, -1, -1),
        (YEAR, DATE, -365, -1),
        (YEAR, DATE, -366, -2),
        (MONTH, DATE, -31, -1),
        (MONTH, DATE, -32, -2),
        (YEAR, TIMESTAMP, 1_510_871_468_000_001, 47),
        (MONTH, TIMESTAMP, 1_510_871_468_000_001, 574),
        (DAY, TIMESTAMP, 1_510_871_468_000_001, 17486),
        (HOUR, TIMESTAMP, 1_510_871_468_000_001, 419686),
        (HOUR, TIMESTAMPTZ_NS, 1_510_871_468_000_001_001, 419686),
        (YEAR, TIMESTAMP, -1, -1),
        (MONTH, TIMESTAMPTZ, -1, -1),
        (DAY, TIMESTAMP_NS, -1, -1),
        (HOUR, TIMESTAMPTZ_NS, -1, -1),
        (DAY, TIMESTAMP, -DAY_US, -1),
        (DAY, TIMESTAMP, -DAY_US - 1, -2),
        (YEAR, DATE, -719_528, -1970),  # 0000-01-01
        (YEAR, TIMESTAMP, -(2**63), -292_278),
        (YEAR, TIMESTAMP, 2**63 - 1, 292_277),
        (YEAR, DATE, 2**31 - 1, 5_879_610),
        (YEAR, DATE, -(2**31), -5_879_611),
    ],
)
def test_time_transforms_floor(transform: Transform, type_: Type, value: int, expected: int) -> None:
    assert transform.apply(type_, value) == expected


@pytest.mark.parametrize(
    ("width", "type_", "value", "expected"),
    [
        (10, INT, 1, 0),
        (10, INT, -1, -10),
        (10, LONG, 1, 0),
        (10, LONG, -1, -10),
        (50, DecimalType(9, 2), Decimal("10.65"), Decimal("10.50")),
        (10, DecimalType(9, 2), Decimal("-0.05"), Decimal("-0.10")),
        (7, DecimalType(38, 10), Decimal("-0.0000000001"), Decimal("-7E-10")),
        (100, DecimalType(9, 2), Decimal("-9999999.99"), Decimal("-10000000.00")),
        (3, STRING, "iceberg", "ice"),
        (2, STRING, "😀😀😀", "😀😀"),
        (9, STRING, "ice", "ice"),
        (3, BINARY, b"\x01\x02\x03\x04\x05", b"\x01\x02\x03"),
        (10, INT, -(2**31), -2147483650),
    ],
)
def test_truncate(width: int, type_: Type, value: Any, expected: Any) -> None:
    found = TruncateTransform(width).apply(type_, value)
    assert found == expected
    if isinstance(found, Decimal) and isinstance(type_, DecimalType):
        assert found.as_tuple().exponent == -type_.scale


def test_bucket_drops_the_sign_of_the_hash() -> None:
    hashed = hash_value(STRING, "34")
    assert hashed == -427558391
    assert BucketTransform(100).apply(STRING, "34") == (-427558391 & 0x7FFFFFFF) % 100
    assert BucketTransform(2**31 - 1).apply(LONG, 34) == 2017239379


@pytest.mark.parametrize("text", ["identity", "year", "month", "day", "hour", "void", "bucket[16]", "truncate[20]"])
def test_text_comes_back(text: str) -> None:
    assert str(parse_transform(text)) == text
    assert parse_transform(text.upper()) == parse_transform(text)


@pytest.mark.parametrize(
    "text", ["zorder", "bucket", "bucket[]", "bucket[x]", "Future[3](a)", "days", "", "bucket[ 4 ]"]
)
def test_unknown_text_is_kept_word_for_word(text: str) -> None:
    transform = parse_transform(text)
    assert transform == UnknownTransform(text)
    assert str(transform) == text
    assert transform.can_transform(LONG)
    assert not transform.preserves_order
    with pytest.raises(Unsupported, match="does not know"):
        transform.apply(LONG, 1)
    with pytest.raises(Unsupported, match="does not know"):
        apply_arrow(transform, LONG, pa.array([1]))
    assert transform.to_human(LONG, "x") == "x"


@pytest.mark.parametrize("text", ["bucket[0]", "truncate[0]", "bucket[-1]", "truncate[-5]", f"bucket[{2**31}]",
                                  f"truncate[{2**63}]", f"truncate[{'9' * 5000}]"])  # fmt: skip
def test_numbers_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"Invalid transform .*expected"):
        parse_transform(text)


@pytest.mark.parametrize(
    ("transform", "type_", "value", "expected"),
    [
        (YEAR, DATE, 47, "2017"),
        (YEAR, DATE, -2, "1968"),
        (MONTH, DATE, 574, "2017-11"),
        (MONTH, DATE, -1, "1969-12"),
        (DAY, TIMESTAMP, 17486, "2017-11-16"),
        (DAY, TIMESTAMP, -1, "1969-12-31"),
        (HOUR, TIMESTAMP, 419686, "2017-11-16-22"),
        (HOUR, TIMESTAMP, -1, "1969-12-31-23"),
        (BucketTransform(9), STRING, 3, "3"),
        (IDENTITY, DATE, 17486, "2017-11-16"),
        (IDENTITY, TIME, 36_775_038_194, "10:12:55.038194"),
        (IDENTITY, TIME, 36_775_038_000, "10:12:55.038"),
        (IDENTITY, TIME, 36_720_000_000, "10:12"),
        (IDENTITY, TIME, 36_721_000_000, "10:12:01"),
        (IDENTITY, TIMESTAMP, 1_510_871_468_000_001, "2017-11-16T22:31:08.000001"),
        (IDENTITY, TIMESTAMP, 1_510_871_468_000_000, "2017-11-16T22:31:08"),
        (IDENTITY, TIMESTAMPTZ, 1_510_871_468_000_001, "2017-11-16T22:31:08.000001+00:00"),
        (IDENTITY, TIMESTAMPTZ_NS, -1_510_871_468_000_001_001, "1922-02-15T01:28:51.999998999+00:00"),
        (IDENTITY, TIMESTAMP_NS, 0, "1970-01-01T00:00:00"),
        (IDENTITY, BOOLEAN, True, "true"),
        (IDENTITY, LONG, -7, "-7"),
        (IDENTITY, STRING, "a/b", "a/b"),
        (IDENTITY, BINARY, b"\xff\xff\xff", "////"),
        (IDENTITY, FixedType(1), b"\x00", "AA=="),
        (IDENTITY, DOUBLE, 1.0, "1.0"),
        (IDENTITY, DOUBLE, -0.0, "-0.0"),
        (IDENTITY, DOUBLE, 1e7, "1.0E7"),
        (IDENTITY, DOUBLE, 1.25e-4, "1.25E-4"),
        (IDENTITY, DOUBLE, 0.001, "0.001"),
        (IDENTITY, DOUBLE, math.nan, "NaN"),
        (IDENTITY, DOUBLE, -math.inf, "-Infinity"),
        (IDENTITY, FLOAT, float(np.float32(0.1)), "0.1"),
        (TruncateTransform(7), DecimalType(38, 10), Decimal("-7E-10"), "-7E-10"),
        (TruncateTransform(7), DecimalType(38, 10), Decimal("0E-10"), "0E-10"),
        (TruncateTransform(7), DecimalType(38, 10), Decimal("7.0000000000"), "7.0000000000"),
        (VOID, LONG, None, "null"),
    ],
)
def test_human_form(transform: Transform, type_: Type, value: Any, expected: str) -> None:
    assert transform.to_human(type_, value) == expected


def test_order_implied_by_finer_transforms() -> None:
    assert HOUR.satisfies_order_of(DAY) and DAY.satisfies_order_of(MONTH) and MONTH.satisfies_order_of(YEAR)
    assert not DAY.satisfies_order_of(HOUR)
    assert IDENTITY.satisfies_order_of(DAY)
    assert not IDENTITY.satisfies_order_of(BucketTransform(4))
    assert BucketTransform(4).satisfies_order_of(BucketTransform(4))
    assert not BucketTransform(4).satisfies_order_of(BucketTransform(2))


def test_order_implied_by_truncation_depends_on_the_type() -> None:
    assert TruncateTransform(4).satisfies_order_of(TruncateTransform(2), STRING)
    assert not TruncateTransform(2).satisfies_order_of(TruncateTransform(4), STRING)
    assert TruncateTransform(10).satisfies_order_of(TruncateTransform(100), INT)
    assert not TruncateTransform(10).satisfies_order_of(TruncateTransform(5), INT)
    assert not TruncateTransform(10).satisfies_order_of(TruncateTransform(15), INT)
    assert not TruncateTransform(4).satisfies_order_of(TruncateTransform(2))


# -- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transform", "type_", "array"),
    [
        (TruncateTransform(10), INT, pa.array([-(2**31)], pa.int32())),
        (TruncateTransform(10), LONG, pa.array([-(2**63)])),
        (TruncateTransform(100), DecimalType(9, 2), pa.array([Decimal("-9999999.99")], pa.decimal128(9, 2))),
        (TruncateTransform(2**40), DecimalType(9, 2), pa.array([Decimal("-9999999.99")], pa.decimal128(9, 2))),
        (HOUR, TIMESTAMP, pa.array([2**63 - 1]).cast(pa.timestamp("us"))),
    ],
)
def test_results_outside_the_type_are_refused(transform: Transform, type_: Type, array: pa.Array[Any]) -> None:
    with pytest.raises(InvalidInput, match="does not fit"):
        apply_arrow(transform, type_, array)


def test_a_transform_that_does_not_apply_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Cannot apply transform hour to type date"):
        apply_arrow(HOUR, DATE, pa.array([1], pa.date32()))


def test_arrays_in_another_unit_are_converted_exactly_or_refused() -> None:
    seconds = pa.array([-1, None], pa.timestamp("s"))
    assert apply_arrow(HOUR, TIMESTAMP, seconds).to_pylist() == [-1, None]
    assert apply_arrow(BucketTransform(2**31 - 1), TIMESTAMP, pa.array([1_510_871_468], pa.timestamp("s"))).equals(
        apply_arrow(BucketTransform(2**31 - 1), TIMESTAMP, pa.array([1_510_871_468_000_000], pa.timestamp("us")))
    )
    with pytest.raises(InvalidInput, match="Invalid array"):
        apply_arrow(DAY, TIMESTAMP, pa.array([1], pa.timestamp("ns")))


def test_zoned_arrays_are_taken_in_utc() -> None:
    berlin = pa.array([-1], pa.timestamp("us", "Europe/Berlin"))
    assert apply_arrow(DAY, TIMESTAMPTZ, berlin).cast(pa.int32()).to_pylist() == [-1]


@pytest.mark.parametrize("layout", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_of_every_layout_is_cut_by_code_points(layout: pa.DataType) -> None:
    assert apply_arrow(TruncateTransform(2), STRING, pa.array(["😀ab", None, "x"], layout)).to_pylist() == [
        "😀a",
        None,
        "x",
    ]


def test_narrow_integers_do_not_wrap() -> None:
    assert apply_arrow(TruncateTransform(1000), INT, pa.array([-128], pa.int8())).to_pylist() == [-1000]


# -- terms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "transform"),
    [
        ("state", "state", IDENTITY),
        (" a.b ", "a.b", IDENTITY),
        ("day(ts)", "ts", DAY),
        ("DAYS( ts )", "ts", DAY),
        ("bucket(16, id)", "id", BucketTransform(16)),
        ("bucket(id, 16)", "id", BucketTransform(16)),
        ("bucket[16](id)", "id", BucketTransform(16)),
        ("truncate(4,`odd name`)", "odd name", TruncateTransform(4)),
        ('"a(b)"', "a(b)", IDENTITY),
        ("`a``b`", "a`b", IDENTITY),
        ("void(x)", "x", VOID),
    ],
)
def test_terms(text: str, column: str, transform: Transform) -> None:
    assert parse_term(text) == Term(column=column, transform=transform)


@pytest.mark.parametrize("text", ["", "day(", "day()", "bucket(id)", "bucket(1, id, 2)", "day(3, ts)", "zorder(a)",
                                  "a b", "bucket(0, id)", "day(ts) x"])  # fmt: skip
def test_bad_terms_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid t"):
        parse_term(text)


def test_sort_terms() -> None:
    plain = parse_sort_term("zip_code")
    assert (plain.term.column, plain.descending, plain.nulls_first) == ("zip_code", False, None)
    full = parse_sort_term("bucket(4, id) DESC NULLS FIRST")
    assert (full.term.transform, full.descending, full.nulls_first) == (BucketTransform(4), True, True)
    assert parse_sort_term("desc").term.column == "desc"
    with pytest.raises(InvalidInput, match="Invalid"):
        parse_sort_term("")
