"""Shredded variants are put together as Parquet's specification of shredding says."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import FormatViolation
from skipstone.metadata.values.variant import (
    VariantKind,
    VariantObject,
    VariantPrimitive,
    parse_variant,
    serialize_variant,
)
from skipstone.metadata.values.variant_python import variant_from_json, variant_to_json, variant_to_python
from skipstone.metadata.values.variant_shredding import unshredded

NO_NAMES = b"\x01\x00\x00"


def encoded(text: str) -> tuple[bytes, bytes]:
    return serialize_variant(variant_from_json(text))


def shredded(typed: pa.DataType, rows: list[Any]) -> Any:
    form = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", typed)])
    return pa.array(rows, form)


def as_json(array: Any) -> list[str | None]:
    pairs = zip(*unshredded(array, where="column 'v'"), strict=True)
    return [None if m is None or v is None else variant_to_json(parse_variant(m, v)) for m, v in pairs]


def group(typed: pa.DataType) -> pa.DataType:
    return pa.struct([("value", pa.binary()), ("typed_value", typed)])


@pytest.mark.parametrize(
    ("type_", "value", "kind"),
    [
        (pa.bool_(), True, VariantKind.TRUE),
        (pa.bool_(), False, VariantKind.FALSE),
        (pa.int8(), -3, VariantKind.INT8),
        (pa.int16(), 300, VariantKind.INT16),
        (pa.int32(), 70_000, VariantKind.INT32),
        (pa.int64(), 2**40, VariantKind.INT64),
        (pa.float32(), 0.5, VariantKind.FLOAT),
        (pa.float64(), -0.25, VariantKind.DOUBLE),
        (pa.decimal128(9, 2), Decimal("1.50"), VariantKind.DECIMAL4),
        (pa.decimal128(18, 2), Decimal("1.50"), VariantKind.DECIMAL8),
        (pa.decimal128(38, 2), Decimal("-1.50"), VariantKind.DECIMAL16),
        (pa.date32(), datetime.date(1970, 1, 3), VariantKind.DATE),
        (pa.time64("us"), datetime.time(0, 0, 1), VariantKind.TIME),
        (pa.timestamp("us"), -5, VariantKind.TIMESTAMP),
        (pa.timestamp("us", "UTC"), -5, VariantKind.TIMESTAMPTZ),
        (pa.timestamp("ns"), -5, VariantKind.TIMESTAMP_NS),
        (pa.timestamp("ns", "UTC"), -5, VariantKind.TIMESTAMPTZ_NS),
        (pa.string(), "text", VariantKind.STRING),
        (pa.binary(), b"\x00\xff", VariantKind.BINARY),
        (pa.binary(16), uuid.UUID(int=7).bytes, VariantKind.UUID),
    ],
)
def test_primitive_keeps_the_type_of_its_column(type_: pa.DataType, value: Any, kind: VariantKind) -> None:
    array = shredded(type_, [{"metadata": NO_NAMES, "value": None, "typed_value": value}])
    metadata, values = unshredded(array, where="v")
    assert metadata[0] is not None and values[0] is not None
    found = parse_variant(metadata[0], values[0])
    assert isinstance(found, VariantPrimitive) and found.kind is kind


def test_value_of_another_type_keeps_its_bytes() -> None:
    metadata, value = encoded('{"z":1,"a":[1]}')
    array = shredded(pa.int64(), [{"metadata": metadata, "value": value, "typed_value": None}])
    assert unshredded(array, where="v") == ([metadata], [value])


def test_row_with_neither_is_a_variant_null_and_a_null_row_stays_null() -> None:
    array = shredded(pa.int64(), [{"metadata": NO_NAMES, "value": None, "typed_value": None}, None])
    assert unshredded(array, where="v") == ([NO_NAMES, None], [b"\x00", None])


def test_object_joins_its_columns_with_the_rest_and_leaves_out_missing_fields() -> None:
    metadata, rest = encoded('{"c":"rest"}')
    one, none = {"value": None, "typed_value": 1}, {"value": None, "typed_value": None}
    text = {"value": encoded('"other"')[1], "typed_value": None}
    null = {"value": b"\x00", "typed_value": None}
    typed = pa.struct([("a", group(pa.int64())), ("b", group(pa.int64()))])
    array = shredded(
        typed,
        [
            {"metadata": metadata, "value": rest, "typed_value": {"a": one, "b": none}},
            {"metadata": metadata, "value": None, "typed_value": {"a": text, "b": null}},
            {"metadata": metadata, "value": None, "typed_value": {"a": none, "b": none}},
            {"metadata": metadata, "value": None, "typed_value": {"a": None, "b": one}},
        ],
    )
    assert as_json(array) == ['{"a":1,"c":"rest"}', '{"a":"other","b":null}', "{}", '{"b":1}']


def test_field_in_both_is_taken_from_its_column() -> None:
    metadata, rest = encoded('{"a":"stale"}')
    typed = pa.struct([("a", group(pa.int64()))])
    fresh = {"a": {"value": None, "typed_value": 5}}
    array = shredded(typed, [{"metadata": metadata, "value": rest, "typed_value": fresh}])
    assert as_json(array) == ['{"a":5}']


def test_arrays_hold_shredded_and_other_elements_also_in_a_slice() -> None:
    text = {"value": encoded('"x"')[1], "typed_value": None}
    one, none = {"value": None, "typed_value": 1}, {"value": None, "typed_value": None}
    array = shredded(
        pa.list_(group(pa.int32())),
        [
            {"metadata": NO_NAMES, "value": None, "typed_value": [one] * 3},
            {"metadata": NO_NAMES, "value": None, "typed_value": [one, text, none]},
            {"metadata": NO_NAMES, "value": b"\x00", "typed_value": None},
            {"metadata": NO_NAMES, "value": None, "typed_value": []},
        ],
    )
    assert as_json(array) == ["[1,1,1]", '[1,"x",null]', "null", "[]"]
    assert as_json(array.slice(1, 2)) == ['[1,"x",null]', "null"]


def test_group_without_value_column_is_perfectly_shredded() -> None:
    form = pa.struct([("metadata", pa.binary()), ("typed_value", pa.string())])
    array = pa.array([{"metadata": NO_NAMES, "typed_value": "t"}], form)
    assert as_json(array) == ['"t"']


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (shredded(pa.int64(), [{"metadata": NO_NAMES, "value": b"\x00", "typed_value": 1}]), "only objects in both"),
        (shredded(pa.int64(), [{"metadata": None, "value": None, "typed_value": 1}]), "variant metadata, got null"),
        (shredded(pa.uint8(), [{"metadata": NO_NAMES, "value": None, "typed_value": 1}]), "got uint8"),
        (
            shredded(pa.struct([("a", pa.int32())]), [{"metadata": NO_NAMES, "typed_value": {"a": 1}}]),
            "group of value and typed_value for field 'a'",
        ),
        (shredded(pa.list_(pa.int32()), [{"metadata": NO_NAMES, "typed_value": [1]}]), "for elements, got int32"),
        (
            shredded(
                pa.struct([("a", group(pa.int64()))]),
                [{"metadata": NO_NAMES, "value": b"\xff", "typed_value": {"a": {"typed_value": 1}}}],
            ),
            "column 'v'",
        ),
    ],
)
def test_contradiction_is_one_violation(array: Any, message: str) -> None:
    with pytest.raises(FormatViolation, match=message):
        unshredded(array, where="column 'v'")


def test_objects_made_are_ordinary_variants() -> None:
    typed = pa.struct([("b", group(pa.string())), ("a", group(pa.string()))])
    row = {"b": {"typed_value": "x"}, "a": {"typed_value": "y"}}
    metadata, values = unshredded(shredded(typed, [{"metadata": NO_NAMES, "typed_value": row}]), where="v")
    assert metadata[0] is not None and values[0] is not None
    found = parse_variant(metadata[0], values[0])
    assert isinstance(found, VariantObject) and variant_to_python(found) == {"a": "y", "b": "x"}
