"""What a caller's rows may look like: by name, without loss, complete; everything else is refused before a file."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.types import (
    BINARY,
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
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
)
from skipstone.write.conform import check_columns, conform_batch


def conformed(batch: pa.RecordBatch, *fields: Field) -> pa.RecordBatch:
    result = conform_batch(batch, fields, to_arrow_schema(StructType(fields)))
    result.validate(full=True)
    return result


def column(array: Any, type_: Type, *, required: bool = False) -> pa.Array[Any]:
    """The array as a column of this type."""
    batch = pa.RecordBatch.from_arrays([array], names=["c"])
    return conformed(batch, Field(id=1, name="c", type=type_, required=required)).column(0)


NAIVE = pa.timestamp("us")
LOSSLESS: list[tuple[Any, Type, list[Any]]] = [
    (pa.array([1, None], pa.int8()), INT, [1, None]),
    (pa.array([1, 2], pa.int64()), INT, [1, 2]),
    (pa.array([1], pa.uint32()), LONG, [1]),
    (pa.array([1.5], pa.float32()), DOUBLE, [1.5]),
    (pa.array([0.5, None], pa.float64()), FLOAT, [0.5, None]),
    (pa.array([3], pa.int32()), DOUBLE, [3.0]),
    (pa.array(["a"], pa.large_string()), STRING, ["a"]),
    (pa.array(["a", None], pa.string_view()), STRING, ["a", None]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), STRING, ["a", "b", "a"]),
    (pa.array([b"a"], pa.large_binary()), BINARY, [b"a"]),
    (pa.array([b"abc"]), FixedType(3), [b"abc"]),
    (pa.array([uuid.UUID(int=5).bytes], pa.binary(16)), UUID, [uuid.UUID(int=5)]),
    (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), DecimalType(9, 2), [Decimal("1.50")]),
    (pa.array([1000], pa.timestamp("ns")), TIMESTAMP, [dt.datetime(1970, 1, 1, 0, 0, 0, 1)]),
    (pa.array([1], pa.timestamp("s")), TIMESTAMP, [dt.datetime(1970, 1, 1, 0, 0, 1)]),
    (pa.array([dt.date(2020, 1, 1)], pa.date64()), DATE, [dt.date(2020, 1, 1)]),
    (pa.array([dt.time(1, 2)], pa.time32("s")), TIME, [dt.time(1, 2)]),
    (pa.nulls(2), LONG, [None, None]),
    (pa.nulls(2), UNKNOWN, [None, None]),
    (pa.array([b"\x01"]), GeometryType(), [b"\x01"]),
]


@pytest.mark.parametrize(("array", "type_", "expected"), LOSSLESS, ids=lambda v: str(getattr(v, "type", v))[:40])
def test_a_cast_without_loss_is_done(array: Any, type_: Type, expected: list[Any]) -> None:
    assert column(array, type_).to_pylist() == expected


LOSSY: list[tuple[Any, Type, str]] = [
    (pa.array([2**31], pa.int64()), INT, "without loss"),
    (pa.array([0.1], pa.float64()), FLOAT, "without rounding"),
    (pa.array([2**60 + 1], pa.int64()), DOUBLE, "without loss"),
    (pa.array([1.0]), LONG, "expected integers"),
    (pa.array([1]), STRING, "expected text"),
    (pa.array(["a"]), BINARY, "expected bytes"),
    (pa.array([Decimal("1.55")], pa.decimal128(5, 2)), DecimalType(9, 1), "without loss"),
    (pa.array([1], pa.timestamp("ns")), TIMESTAMP, "without loss"),
    (pa.array([2**62], pa.timestamp("us")), TIMESTAMP_NS, "without loss"),
    (pa.array([1], pa.timestamp("us", "UTC")), TIMESTAMP, "without a time zone"),
    (pa.array([1], pa.timestamp("us")), TIMESTAMPTZ, "with a time zone"),
    (pa.array([b"abcd"]), FixedType(3), "expected 3 bytes"),
    (pa.array([b"abcd"], pa.binary(4)), FixedType(3), "expected 3 bytes"),
    (pa.array([1]), UNKNOWN, "only nulls"),
    (pa.array([{"a": 1}]), VARIANT, "metadata and value"),
    (pa.array([1]), ListType(element_id=2, element=INT), "a list"),
    (pa.array([[1]]), MapType(key_id=2, key=INT, value_id=3, value=INT), "a map"),
    (pa.array([1]), StructType((Field(id=2, name="x", type=INT),)), "a struct"),
]


@pytest.mark.parametrize(("array", "type_", "message"), LOSSY, ids=lambda v: str(getattr(v, "type", v))[:40])
def test_a_cast_that_would_lose_something_is_refused(array: Any, type_: Type, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        column(array, type_)
    assert "'c'" in str(caught.value)


def test_an_instant_keeps_its_value_whatever_its_zone() -> None:
    array = pa.array([5], pa.timestamp("us", "Asia/Tokyo"))
    assert column(array, TIMESTAMPTZ).cast(pa.int64()).to_pylist() == [5]


def test_columns_match_by_name_not_by_place() -> None:
    batch = pa.RecordBatch.from_pydict({"b": [1], "a": ["x"]})
    found = conformed(batch, Field(id=1, name="a", type=STRING), Field(id=2, name="b", type=LONG))
    assert found.to_pylist() == [{"a": "x", "b": 1}]


def test_a_missing_column_takes_its_write_default_or_null() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    fields = (
        Field(id=1, name="a", type=LONG),
        Field(id=2, name="b", type=INT, write_default=7),
        Field(id=3, name="c", type=INT, initial_default=9),
    )
    assert conformed(batch, *fields).to_pylist() == [{"a": 1, "b": 7, "c": None}, {"a": 2, "b": 7, "c": None}]


def test_a_missing_field_of_a_struct_takes_its_write_default() -> None:
    type_ = StructType((Field(id=2, name="x", type=INT), Field(id=3, name="y", type=STRING, write_default="d")))
    found = column(pa.array([{"x": 1}, None]), type_)
    assert found.to_pylist() == [{"x": 1, "y": "d"}, None]


def test_a_missing_required_column_is_refused_from_the_schema_alone() -> None:
    with pytest.raises(InvalidInput, match="required column 'b'"):
        check_columns(
            pa.schema([("a", pa.int64())]),
            [Field(id=2, name="b", type=INT, required=True), Field(id=1, name="a", type=LONG)],
        )


def test_a_column_that_the_table_does_not_have_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match=r"'regoin'.*Did you mean 'region'"):
        check_columns(pa.schema([("regoin", pa.string())]), [Field(id=1, name="region", type=STRING)])


def test_a_field_that_a_struct_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'c\.z'"):
        column(pa.array([{"z": 1}]), StructType((Field(id=2, name="x", type=INT),)))


def test_a_null_in_a_required_column_is_refused_with_its_row() -> None:
    with pytest.raises(InvalidInput, match="row 1"):
        column(pa.array([1, None]), LONG, required=True)


def test_a_required_field_may_be_null_only_where_its_struct_is() -> None:
    type_ = StructType((Field(id=2, name="x", type=LONG, required=True),))
    assert column(pa.array([{"x": 1}, None]), type_).to_pylist() == [{"x": 1}, None]
    with pytest.raises(InvalidInput, match=r"'c\.x'"):
        column(pa.array([{"x": 1}, {"x": None}, None]), type_)


def test_required_elements_and_values_are_checked_where_lists_and_maps_are_there() -> None:
    lists = ListType(element_id=2, element=LONG, element_required=True)
    assert column(pa.array([[1], None, []]), lists).to_pylist() == [[1], None, []]
    with pytest.raises(InvalidInput, match=r"'c\.element'"):
        column(pa.array([[1, None]]), lists)
    maps = MapType(key_id=2, key=STRING, value_id=3, value=LONG, value_required=True)
    with pytest.raises(InvalidInput, match=r"'c\.value'"):
        column(pa.array([[("a", None)]], pa.map_(pa.string(), pa.int64())), maps)


def test_values_under_a_null_list_or_struct_are_never_taken_for_values() -> None:
    hidden = pa.ListArray.from_arrays(pa.array([0, 2, 3]), pa.array([1, None, 3]), mask=pa.array([True, False]))
    lists = ListType(element_id=2, element=INT, element_required=True)
    assert column(hidden, lists).to_pylist() == [None, [3]]
    struct = pa.StructArray.from_arrays([pa.array([1, 2])], names=["x"], mask=pa.array([True, False]))
    found: Any = column(struct, StructType((Field(id=2, name="x", type=INT),)))
    assert found.to_pylist() == [None, {"x": 2}]


def test_sliced_input_is_read_from_its_own_rows() -> None:
    type_ = StructType((Field(id=2, name="l", type=ListType(element_id=3, element=INT)),))
    array = pa.array([{"l": [1]}, None, {"l": [2, 3]}, {"l": None}]).slice(1, 3)
    assert column(array, type_).to_pylist() == [None, {"l": [2, 3]}, {"l": None}]


@pytest.mark.parametrize("offsets", [None, pa.foreign_buffer(0, 0)], ids=["none", "none of any size"])
@pytest.mark.parametrize("given", [pa.list_(pa.int32()), pa.map_(pa.int32(), pa.int32())])
def test_lists_that_come_without_offsets_get_them(given: Any, offsets: Any) -> None:
    """Java writes none where there are no lists; Arrow's own code then reads the first at address zero."""
    pairs = pa.struct([pa.field("key", pa.int32(), False), pa.field("value", pa.int32())])
    inside = pa.array([], pairs if pa.types.is_map(given) else pa.int32())
    bare = pa.Array.from_buffers(given, 0, [None, offsets], children=[inside])
    array = pa.Array.from_buffers(pa.list_(given), 2, [None, pa.py_buffer(b"\0" * 12)], children=[bare])
    maps = MapType(key_id=3, key=INT, value_id=4, value=INT)
    element = maps if pa.types.is_map(given) else ListType(element_id=3, element=INT)
    found = column(array, ListType(element_id=2, element=element))
    below: Any = found.values
    assert found.to_pylist() == [[], []] and below.buffers()[1].size
    assert found.nbytes


def test_other_list_layouts_become_lists() -> None:
    lists = ListType(element_id=2, element=INT)
    for given in (pa.large_list(pa.int32()), pa.list_(pa.int64(), 2), pa.list_view(pa.int32())):
        assert column(pa.array([[1, 2], None], given), lists).to_pylist() == [[1, 2], None]


def test_a_variant_is_a_struct_of_metadata_and_value() -> None:
    given = pa.array([{"value": b"v", "metadata": b"m"}, None])
    assert column(given, VARIANT).to_pylist() == [{"metadata": b"m", "value": b"v"}, None]
    with pytest.raises(InvalidInput, match="value in every variant"):
        column(pa.array([{"value": None, "metadata": b"m"}]), VARIANT)
