"""Summaries of partition tuples: bounds, nulls, NaN and the two zeros."""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.field_summaries import summarize
from skipstone.metadata.manifests.manifest import FieldSummary
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP_NS,
    UNKNOWN,
    UUID,
    DecimalType,
    Field,
    FixedType,
    PrimitiveType,
    StructType,
)
from skipstone.metadata.values import bound_type

NAN = float("nan")


def struct_of(*types: PrimitiveType) -> StructType:
    return StructType(tuple(Field(id=1000 + i, name=f"p{i}", type=t) for i, t in enumerate(types)))


def summary_of(type_: PrimitiveType, values: list[Any]) -> FieldSummary:
    column = pa.array(values, bound_type(type_))
    (summary,) = summarize(pa.StructArray.from_arrays([column], names=["p0"]), struct_of(type_))
    return summary


@pytest.mark.parametrize(
    ("type_", "values", "lower", "upper"),
    [
        (INT, [3, -1, 2], struct.pack("<i", -1), struct.pack("<i", 3)),
        (LONG, [2**40], struct.pack("<q", 2**40), struct.pack("<q", 2**40)),
        (BOOLEAN, [True, False], b"\x00", b"\x01"),
        (DATE, [-800_000, 3_000_000], struct.pack("<i", -800_000), struct.pack("<i", 3_000_000)),
        (TIMESTAMP_NS, [-1, 2**62], struct.pack("<q", -1), struct.pack("<q", 2**62)),
        (STRING, ["b", "\uffff", "𐍈", "a"], b"a", "𐍈".encode()),
        (STRING, ["x" * 100], b"x" * 100, b"x" * 100),
        (BINARY, [b"\x7f", b"\x80", b""], b"", b"\x80"),
        (FixedType(2), [b"\x00\xff", b"\xff\x00"], b"\x00\xff", b"\xff\x00"),
        (DecimalType(9, 2), [Decimal("-0.01"), Decimal("1.28")], b"\xff", b"\x00\x80"),
        (
            UUID,
            [uuid.UUID(int=2**127).bytes, uuid.UUID(int=1).bytes],
            uuid.UUID(int=1).bytes,
            uuid.UUID(int=2**127).bytes,
        ),
    ],
    ids=str,
)
def test_bounds_are_the_least_and_greatest_value(
    type_: PrimitiveType, values: list[Any], lower: bytes, upper: bytes
) -> None:
    expected = FieldSummary(contains_null=False, contains_nan=False, lower_bound=lower, upper_bound=upper)
    if isinstance(type_, type(DATE) | type(TIMESTAMP_NS)):
        values = pa.array(values, pa.int32() if type_ == DATE else pa.int64()).view(bound_type(type_))
    assert summary_of(type_, values) == expected
    assert summary_of(type_, [*values, None]) == FieldSummary(
        contains_null=True, contains_nan=False, lower_bound=lower, upper_bound=upper
    )


@pytest.mark.parametrize(("type_", "code"), [(FLOAT, "<f"), (DOUBLE, "<d")], ids=str)
@pytest.mark.parametrize(
    ("values", "lower", "upper"),
    [
        ([0.0, -0.0], -0.0, 0.0),
        ([-0.0, 0.0], -0.0, 0.0),
        ([-0.0], -0.0, -0.0),
        ([0.0], 0.0, 0.0),
        ([1.0, 0.0, -0.0], -0.0, 1.0),
        ([-1.0, -0.0], -1.0, -0.0),
        ([-1.0, -0.0, 0.0], -1.0, 0.0),
        ([NAN, 2.0, 1.0], 1.0, 2.0),
        ([float("inf"), float("-inf"), NAN], float("-inf"), float("inf")),
    ],
)
def test_float_bounds_leave_nan_out_and_order_the_zeros(
    type_: PrimitiveType, code: str, values: list[float], lower: float, upper: float
) -> None:
    got = summary_of(type_, values)
    assert (got.lower_bound, got.upper_bound) == (struct.pack(code, lower), struct.pack(code, upper))
    assert got.contains_nan == any(v != v for v in values)
    assert not got.contains_null


def test_only_nan_and_null_leave_no_bounds() -> None:
    assert summary_of(DOUBLE, [NAN, None]) == FieldSummary(contains_null=True, contains_nan=True)
    assert summary_of(DOUBLE, [None]) == FieldSummary(contains_null=True, contains_nan=False)
    assert summary_of(STRING, [None, None]) == FieldSummary(contains_null=True, contains_nan=False)


def test_a_dropped_source_column_has_only_nulls() -> None:
    assert summary_of(UNKNOWN, [None]) == FieldSummary(contains_null=True, contains_nan=False)


def test_an_empty_manifest_proves_the_absence_of_nulls() -> None:
    assert summary_of(INT, []) == FieldSummary(contains_null=False, contains_nan=False)


def test_fields_are_summarized_in_the_order_of_the_spec() -> None:
    column = pa.StructArray.from_arrays([pa.array([1], pa.int32()), pa.array(["a"])], names=["p0", "p1"])
    first, second = summarize(column, struct_of(INT, STRING))
    assert (first.lower_bound, second.lower_bound) == (b"\x01\x00\x00\x00", b"a")


def test_an_unpartitioned_manifest_has_no_summaries() -> None:
    assert summarize(pa.array([{}, {}], pa.struct([])), StructType()) == ()


def test_a_slice_is_summarized_without_its_surroundings() -> None:
    column = pa.StructArray.from_arrays([pa.array([1, 5, 6, 9], pa.int32())], names=["p0"]).slice(1, 2)
    (summary,) = summarize(column, struct_of(INT))
    assert (summary.lower_bound, summary.upper_bound) == (struct.pack("<i", 5), struct.pack("<i", 6))


def test_tuples_of_another_width_are_refused() -> None:
    column = pa.StructArray.from_arrays([pa.array([1])], names=["p0"])
    with pytest.raises(InvalidInput, match="expected 2 fields, got 1"):
        summarize(column, struct_of(INT, INT))
