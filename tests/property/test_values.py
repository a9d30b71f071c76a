"""Laws of single values: what is written reads back, the column form equals the one-value form, bounds bound."""

from __future__ import annotations

import contextlib
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import strategies as some
from tests.support.strategies import same

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    VARIANT,
    DateType,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
)
from skipstone.metadata.values import (
    bound_type,
    display,
    from_python,
    parse_bound,
    parse_bounds_array,
    parse_value,
    serialize_bound,
    serialize_bounds_array,
    serialize_value,
    truncate_lower,
    truncate_upper,
    value_from_json,
    value_to_json,
)
from skipstone.metadata.values.civil import civil_from_days, days_from_civil
from skipstone.metadata.values.geo import GeoPoint, bounding_box, parse_wkb, serialize_wkb
from skipstone.metadata.values.geo_wkt import format_wkt, parse_wkt
from skipstone.metadata.values.variant import parse_concatenated, parse_variant, serialize_variant
from skipstone.metadata.values.variant_paths import format_path, parse_path
from skipstone.metadata.values.variant_python import (
    variant_from_json,
    variant_from_python,
    variant_to_json,
    variant_to_python,
)

fast = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
slow = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

anything = some.primitive_types(geo=True)
type_and_value = anything.flatmap(lambda t: st.tuples(st.just(t), some.values(t)))
boundable = some.primitive_types(geo=True, variant=True)
type_and_bound = boundable.flatmap(lambda t: st.tuples(st.just(t), some.bounds(t)))


def unarrow(type_: PrimitiveType, array: pa.Array[Any]) -> list[Any]:
    """Arrow to values, without Python's datetime, which cannot hold them all."""
    match type_:
        case DateType():
            return list(array.cast(pa.int32()).to_pylist())
        case TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return list(array.cast(pa.int64()).to_pylist())
        case UuidType():
            return [None if v is None else from_python(type_, v) for v in array.to_pylist()]
        case GeometryType() | GeographyType():
            return [None if v is None else GeoPoint(**v) for v in array.to_pylist()]
        case _:
            return list(array.to_pylist())


# -- round trips -----------------------------------------------------------------------------------------------------


@fast
@given(type_and_value)
def test_binary_reads_back(drawn: tuple[PrimitiveType, Any]) -> None:
    type_, value = drawn
    assert same(parse_value(type_, serialize_value(type_, value)), value)


@fast
@given(type_and_bound)
def test_a_bound_reads_back(drawn: tuple[PrimitiveType, Any]) -> None:
    type_, value = drawn
    assert same_bound(parse_bound(type_, serialize_bound(type_, value)), value)


def same_bound(a: Any, b: Any) -> bool:
    if isinstance(a, GeoPoint) and isinstance(b, GeoPoint):
        return same((a.x, a.y, a.z, a.m), (b.x, b.y, b.z, b.m))
    return same(a, b)


nested = some.types(primitives=some.primitive_types(geo=True))


@slow
@given(nested.flatmap(lambda t: st.tuples(st.just(t), some.nullable(t))))
def test_json_reads_back_through_text(drawn: tuple[Type, Any]) -> None:
    type_, value = drawn
    text = json.dumps(value_to_json(type_, value), allow_nan=False)
    assert same(value_from_json(type_, json.loads(text)), value)


@fast
@given(st.integers(-(2**62), 2**62))
def test_civil_dates_read_back_however_far(days: int) -> None:
    assert days_from_civil(*civil_from_days(days)) == days


@fast
@given(type_and_value)
def test_display_tells_values_apart_and_from_python_reads_dates_back(drawn: tuple[PrimitiveType, Any]) -> None:
    type_, value = drawn
    text = display(type_, value)
    if isinstance(type_, DateType | TimeType | TimestampType | TimestamptzType | TimestampNsType | TimestamptzNsType):
        assert from_python(type_, text) == value
    elif isinstance(type_, DecimalType):
        assert Decimal(text) == value
    elif isinstance(type_, UuidType):
        assert from_python(type_, text) == value


@fast
@given(type_and_value)
def test_from_python_keeps_values_as_they_are(drawn: tuple[PrimitiveType, Any]) -> None:
    type_, value = drawn
    assert same(from_python(type_, value), value)


# -- columns ---------------------------------------------------------------------------------------------------------

columnar = some.primitive_types(geo=True).filter(lambda t: t != BINARY)


@fast
@given(columnar.flatmap(lambda t: st.tuples(st.just(t), some.arrow_arrays(t))))
def test_serializing_a_column_equals_serializing_each_value(drawn: tuple[PrimitiveType, pa.Array[Any]]) -> None:
    type_, array = drawn
    expected = []
    for value in unarrow(type_, array):
        is_nan = isinstance(value, float) and math.isnan(value)
        expected.append(None if value is None or is_nan else serialize_bound(type_, value))
    assert serialize_bounds_array(type_, array).to_pylist() == expected


def widths(type_: PrimitiveType) -> st.SearchStrategy[bytes]:
    """Bytes for a bound: right ones, ones from before a promotion, wrong ones."""
    narrower: dict[PrimitiveType, PrimitiveType] = {LONG: INT, DOUBLE: FLOAT, TIMESTAMP: DATE, TIMESTAMP_NS: DATE}
    right = some.values(type_) if not isinstance(type_, GeometryType | GeographyType) else some.bounds(type_)
    choices = [
        right.map(lambda v: serialize_value(type_, v) if not isinstance(v, GeoPoint) else serialize_bound(type_, v)),
        st.binary(max_size=34),
        st.sampled_from([b"", b"\x00", b"\xff" * 4, b"\xff" * 8, b"\xff" * 16, b"\x7f" * 16, b"\x80" * 17]),
    ]
    if type_ in narrower:
        choices.append(some.values(narrower[type_]).map(lambda v: serialize_value(narrower[type_], v)))
    if isinstance(type_, FixedType):
        choices.append(st.binary(max_size=type_.length))
    if isinstance(type_, DecimalType):
        limit = 10**type_.precision
        near = st.sampled_from([limit, -limit, limit - 1, 1 - limit, limit + 1, -limit - 1])
        choices.append(near.map(lambda n: n.to_bytes(16, "big", signed=True)))
    return st.one_of(choices)


def bound_or_none(type_: PrimitiveType, data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        value = parse_bound(type_, data)
    except FormatViolation:
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, GeoPoint) and (math.isnan(value.x) or math.isnan(value.y)):
        return None
    return value


byte_columns = some.primitive_types(geo=True).flatmap(
    lambda t: st.tuples(
        st.just(t),
        st.lists(st.none() | widths(t), max_size=12),
        st.integers(0, 3),
        st.sampled_from([pa.binary(), pa.large_binary()]),
    )
)


@settings(fast, max_examples=200)
@given(byte_columns)
def test_parsing_a_column_equals_parsing_each_value(drawn: tuple[PrimitiveType, list[Any], int, pa.DataType]) -> None:
    type_, items, skip, arrow_type = drawn
    array = pa.array(items, arrow_type).slice(min(skip, len(items)))
    parsed = parse_bounds_array(type_, array, on_bad="unknown")
    parsed.validate(full=True)
    assert parsed.type == bound_type(type_)
    expected = [bound_or_none(type_, v) for v in array.to_pylist()]
    got = unarrow(type_, parsed)
    assert len(got) == len(expected)
    assert all(same_bound(g, e) for g, e in zip(got, expected, strict=True)), (got, expected)


@fast
@given(byte_columns)
def test_a_bad_bound_in_a_column_raises_with_its_row(
    drawn: tuple[PrimitiveType, list[Any], int, pa.DataType],
) -> None:
    type_, items, _, arrow_type = drawn
    bad = [i for i, v in enumerate(items) if v is not None and refused(type_, v)]
    if bad:
        with pytest.raises(FormatViolation, match=rf"Invalid manifest m0: entry {bad[0]}, lower_bounds\[4\]: expected"):
            parse_bounds_array(type_, pa.array(items, arrow_type), source="manifest m0", place="lower_bounds[4]")
    else:
        parsed = parse_bounds_array(type_, pa.array(items, arrow_type))
        expected = [None if v is None else parse_bound(type_, v) for v in items]
        assert all(same_bound(g, e) for g, e in zip(unarrow(type_, parsed), expected, strict=True))


def refused(type_: PrimitiveType, data: bytes) -> bool:
    try:
        parse_bound(type_, data)
    except FormatViolation:
        return True
    return False


# -- bounds bound ----------------------------------------------------------------------------------------------------


def precedes(a: Any, b: Any) -> bool:
    """a <= b in the order of bounds: -0.0 below 0.0."""
    if isinstance(a, float):
        return a < b or (a == b and math.copysign(1, a) <= math.copysign(1, b))
    if hasattr(a, "bytes"):
        return bool(a.bytes <= b.bytes)
    return bool(a <= b)


ordered = some.primitive_types()


@fast
@given(
    ordered.flatmap(lambda t: st.tuples(st.just(t), st.lists(some.bounds(t), min_size=1, max_size=5))),
    st.integers(1, 20),
)
def test_truncated_bounds_cover_every_value(drawn: tuple[PrimitiveType, list[Any]], width: int) -> None:
    type_, items = drawn
    low, high = items[0], items[0]
    for v in items:
        low, high = (v if precedes(v, low) else low), (v if precedes(high, v) else high)
    lower = parse_bound(type_, serialize_bound_of(type_, truncate_lower(type_, low, width)))
    cut = truncate_upper(type_, high, width)
    upper = None if cut is None else parse_bound(type_, serialize_bound_of(type_, cut))
    for v in items:
        assert precedes(lower, v)
        assert upper is None or precedes(v, upper)


def serialize_bound_of(type_: PrimitiveType, value: Any) -> bytes:
    """Truncated bounds of a fixed are shorter than the type, so they are binary when written."""
    return serialize_bound(BINARY if isinstance(type_, FixedType) else type_, value)


@fast
@given(some.strings(), some.strings(), st.integers(1, 8))
def test_truncated_text_is_short_and_orders_as_its_bytes(a: str, b: str, width: int) -> None:
    assert (a <= b) == (a.encode() <= b.encode())
    upper = truncate_upper(STRING, a, width)
    assert len(truncate_lower(STRING, a, width)) <= width
    if upper is None:
        assert set(a[:width]) == {"\U0010ffff"}
    else:
        assert len(upper) <= width
        assert truncate_lower(STRING, a, width).encode() <= a.encode() <= upper.encode()
        if len(a) <= width:
            assert upper == a


@fast
@given(st.lists(st.none() | some.wkbs(), max_size=4))
def test_a_bounding_box_holds_every_position(wkbs: list[bytes | None]) -> None:
    box = bounding_box(wkbs)
    positions = [
        (dict(zip("xy" + "z" * g.has_z + "m" * g.has_m, p, strict=True)))
        for wkb in wkbs
        if wkb is not None
        for g in parse_wkb(wkb).walk()
        for p in g.positions
    ]
    for axis in "xyzm":
        there = [p[axis] for p in positions if axis in p and not math.isnan(p[axis])]
        if box is None:
            continue
        low, high = getattr(box[0], axis), getattr(box[1], axis)
        assert (low is None) == (high is None) == (not there)
        assert all(low <= c <= high for c in there)
    has_xy = all(any(not math.isnan(p[axis]) for p in positions) for axis in "xy")
    assert (box is not None) == has_xy


# -- variants and geometries -----------------------------------------------------------------------------------------


@fast
@given(some.variants())
def test_a_variant_reads_back(value: Any) -> None:
    metadata, data = serialize_variant(value)
    assert same(parse_variant(metadata, data), value)
    assert same(parse_concatenated(metadata + data), value)


@fast
@given(some.variants())
def test_a_variant_has_json_that_parses(value: Any) -> None:
    json.loads(variant_to_json(value))


plain_json = st.recursive(
    st.none() | st.booleans() | some.ints(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | some.strings(size_max=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(some.strings(size_max=5), inner, max_size=4),
    max_leaves=12,
)


@fast
@given(plain_json)
def test_plain_data_survives_the_variant_encoding(data: Any) -> None:
    metadata, value = serialize_variant(variant_from_python(data))
    assert same(variant_to_python(parse_variant(metadata, value)), data)


@fast
@given(st.recursive(
    st.none() | st.booleans() | some.ints(-(2**63), 2**63 - 1) | some.strings(size_max=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(some.strings(size_max=5), inner, max_size=4),
    max_leaves=12,
))  # fmt: skip
def test_json_text_survives_the_variant_encoding(data: Any) -> None:
    metadata, value = serialize_variant(variant_from_json(json.dumps(data)))
    assert json.loads(variant_to_json(parse_variant(metadata, value))) == data


@fast
@given(st.lists(some.strings(size_max=8), max_size=4))
def test_a_path_reads_back(names: list[str]) -> None:
    assert parse_path(format_path(names)) == tuple(names)


@fast
@given(some.geometries())
def test_a_geometry_reads_back_from_bytes_and_text(geometry: Any) -> None:
    assert same(parse_wkb(serialize_wkb(geometry)), geometry)
    assert same(parse_wkt(format_wkt(geometry)), geometry)


# -- damage ----------------------------------------------------------------------------------------------------------


@settings(fast, max_examples=200)
@given(some.primitive_types(geo=True, variant=True, unknown=True), st.binary(max_size=40))
def test_any_bytes_give_a_value_or_a_format_violation(type_: PrimitiveType, data: bytes) -> None:
    for parse in (parse_value, parse_bound):
        try:
            parse(type_, data)
        except FormatViolation as e:
            assert str(e).startswith("Invalid ")


@settings(fast, max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_geometry_or_a_format_violation(data: bytes) -> None:
    try:
        parse_wkb(b"\x01" + data[:1] + b"\x00\x00\x00" + data[1:])
    except FormatViolation as e:
        assert str(e).startswith("Invalid ")


def flip(data: bytes, at: int, to: int) -> bytes:
    at %= len(data)
    return data[:at] + bytes([to]) + data[at + 1 :]


@settings(fast, max_examples=200)
@given(some.variants(), st.integers(0, 400), st.integers(0, 255), st.booleans())
def test_a_damaged_variant_is_a_value_or_a_format_violation(value: Any, at: int, to: int, in_names: bool) -> None:
    metadata, data = serialize_variant(value)
    if in_names:
        metadata = flip(metadata, at, to)
    else:
        data = flip(data, at, to)
    try:
        parse_variant(metadata, data)
    except FormatViolation as e:
        assert str(e).startswith("Invalid ")


@fast
@given(some.variants(), st.integers(0, 400))
def test_a_cut_variant_is_a_format_violation(value: Any, kept: int) -> None:
    metadata, data = serialize_variant(value)
    with pytest.raises(FormatViolation):
        parse_variant(metadata, data[: kept % len(data)])


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["NaN", "1.0", "2017-11-16", "22:31:08", "2017-11-16T22:31:08+00:00", "POINT (1 2)", "0aff"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["1", "2", "keys", "values", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(fast, max_examples=200)
@given(some.types(primitives=some.primitive_types(geo=True, variant=True, unknown=True)), json_like)
def test_any_json_gives_a_value_or_a_format_violation(type_: Type, data: Any) -> None:
    try:
        value = value_from_json(type_, data)
    except FormatViolation as e:
        assert str(e).startswith("Invalid ")
    else:
        assert same(value_from_json(type_, value_to_json(type_, value)), value)


@settings(fast, max_examples=200)
@given(st.one_of(st.text("POINTZMEMPTY(), 0123.-eE", max_size=30), st.text(max_size=20)))
def test_any_text_is_a_geometry_or_a_format_violation(text: str) -> None:
    try:
        parse_wkt(text)
    except FormatViolation as e:
        assert str(e).startswith("Invalid ")


@fast
@given(
    boundable,
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.integers())),
)
def test_any_object_is_written_or_refused_as_invalid_input(type_: PrimitiveType, value: Any) -> None:
    for write in (serialize_value, serialize_bound, from_python, value_to_json):
        with contextlib.suppress(InvalidInput):
            write(type_, value)


def test_variant_bounds_round_trip_through_columns_untouched() -> None:
    raw = pa.array([b"\x01\x00\x00\x02\x00\x00", None])
    assert parse_bounds_array(VARIANT, raw).equals(raw)
    assert serialize_bounds_array(VARIANT, raw).equals(raw)
